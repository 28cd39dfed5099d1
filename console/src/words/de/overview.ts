import type { Same } from "../same.ts";
import type * as en from "../en/overview.ts";

export const overview: Same<typeof en.overview> = {
  title: "Übersicht",
  lead: "Was die Plattform tut, und was Sie braucht.",
  span: "Zeitraum",
  spans: { hour: "Eine Stunde", day: "Ein Tag", month: "Ein Monat" },
  attention: "Braucht Sie",
  allWell: "Nichts braucht Sie. Alle Prüfungen der Plattform sind in Ordnung.",
  requests: "Anfragen",
  errors: "Fehler",
  latency: "95 % sind schneller als",
  tokens: "Ausgestellte Token",
  refused: "Verweigerte Token",
  published: "Veröffentlichte Ereignisse",
  read: "Gelesene Ereignisse",
  pushed: "Zugestellte Ereignisse",
  files: "Gespeicherte Dateien",
  bytes: "Gespeicherte Bytes",
  byService: "Anfragen nach Dienst",
  byLatency: "Dauer nach Dienst, 95 %",
  byEvents: "Ereignisse",
  byTokens: "Token",
  busiest: "Fleißigste Mandanten",
  noTenants: "Kein Mandant hat in dieser Zeit etwas gefragt.",
  asTable: "Als Tabelle",
  time: "Zeit",
};
