import type { Same } from "../same.ts";
import type * as en from "../en/brand.ts";

export const brand: Same<typeof en.brand> = {
  title: "Marke",
  none: "Anmeldeseiten und Mails sehen aus wie die Plattform.",
  fields: {
    name: "Name im Kopf der Seiten",
    accentColor: "Farbe von Knöpfen und Verweisen",
    accentColorDark: "Dieselbe im dunklen Thema",
    logoUri: "Adresse des Logos",
    termsUri: "Adresse der Nutzungsbedingungen",
    privacyUri: "Adresse der Datenschutzerklärung",
  },
  help: {
    name: "Höchstens 60 Zeichen. Der Host bleibt daneben.",
    accentColor: "#rrggbb. Sie braucht einen Kontrast von 4,5:1 (WCAG AA).",
    accentColorDark: "Leer: ein hellerer Ton wird gebildet.",
    logoUri: "https. Browser und Mailprogramme holen es von dort.",
    termsUri: "https",
    privacyUri: "https",
  },
  themes: { light: "Hell", dark: "Dunkel" },
  button: "Anmelden",
  link: "Kennwort vergessen?",
  contrast: (ratio) => `Kontrast ${ratio}:1`,
};
