import type { Same } from "../same.ts";
import type * as en from "../en/common.ts";

export const common: Same<typeof en.common> = {
  skip: "Zum Inhalt springen",
  open: "Öffnen",
  cancel: "Abbrechen",
  close: "Schließen",
  clear: "Leeren",
  nothingFound: "Nichts gefunden",
  rows: (count, hasMore) => (hasMore ? `Mehr als ${count} Zeilen` : count === "1" ? "1 Zeile" : `${count} Zeilen`),
  nothingBegins: (text: string) => `Nichts beginnt mit „${text}“.`,
  save: "Speichern",
  create: "Anlegen",
  remove: "Löschen",
  edit: "Bearbeiten",
  retry: "Noch einmal versuchen",
  next: "Weiter",
  copy: "Kopieren",
  copied: "Kopiert",
  notCopied: "Der Browser hat das Kopieren nicht erlaubt. Markieren Sie den Text und kopieren Sie ihn.",
  search: "Suchen",
  none: "Keine",
  yes: "Ja",
  no: "Nein",
  optional: "freiwillig",
  loading: "Wird geladen …",
  loadingMore: "Mehr wird geladen …",
  showMore: "Mehr zeigen",
  actions: "Aktionen",
  created: "Angelegt",
  name: "Name",
  id: "Kennung",
  state: "Zustand",
  active: "Aktiv",
  disabled: "Gesperrt",
  enableText: "Es geht wieder.",
  saved: (what) => `${what} ist gespeichert.`,
  taken: "Das gibt es schon. Öffnen Sie es dort, um es zu ändern.",
  changedMeanwhile: (to) =>
    `Das hat inzwischen jemand anders geändert, und zwar in: ${to}. Speichern Sie noch einmal, um es zu ersetzen.`,
  deleted: (what) => `${what} ist gelöscht.`,
  deleteTitle: (what) => `${what} löschen?`,
  menu: "Menü",
  navigation: "Hauptnavigation",
  theme: "Darstellung",
  themes: { system: "Wie das System", light: "Hell", dark: "Dunkel" },
  language: "Sprache",
  account: "Ihr Konto",
  signOut: "Abmelden",
  documentation: "Dokumentation",
  organizationOf: (name) => `für ${name}`,
  offline: "Es gibt keine Verbindung zur Plattform. Was Sie sehen, kann alt sein; es geht von selbst weiter.",
  waiting: (time) => `Zu viele Anfragen, oder die Plattform ist ausgelastet. Weiter geht es um ${time}.`,
  page: (title) => `${title} · Plinth`,
};

export const unsent: Same<typeof en.unsent> = {
  title: "Eingaben verwerfen?",
  text: "Sie wurden nicht gespeichert.",
  act: "Verwerfen",
};

export const faults: Same<typeof en.faults> = {
  refused: "Das dürfen Sie nicht sehen",
  refusedText:
    "Ihren Rollen fehlt der Scope dafür. Ein Betreiber der Plattform kann Ihnen eine Rolle geben, die ihn hat.",
  missing: "Hier ist nichts",
  missingText: "Es wurde gelöscht, oder Sie dürfen es nicht sehen.",
  offline: "Die Plattform ist nicht erreichbar",
  offlineText: "Prüfen Sie Ihre Verbindung. Nichts von dem, was Sie geschrieben haben, geht verloren.",
  busy: "Die Plattform ist ausgelastet",
  busyText: "Warten Sie einen Augenblick und versuchen Sie es noch einmal.",
  failed: "Etwas ist schiefgegangen",
  failedText: "Versuchen Sie es noch einmal. Bleibt es so, nennen Sie den Betreibern die Nummer der Anfrage.",
  broken: "Diese Seite ist ausgefallen",
  brokenText: "Der Rest der Konsole arbeitet. Laden Sie die Seite neu, oder gehen Sie zur Übersicht.",
  partMissing:
    "Ein Teil der Konsole konnte nicht geladen werden. Prüfen Sie Ihre Verbindung, oder laden Sie die Seite neu.",
  toOverview: "Zur Übersicht",
  reload: "Seite neu laden",
  requestId: "Nummer der Anfrage",
  formRefused: "Die Plattform hat das abgelehnt",
  formForbidden: "Sie dürfen das nicht ändern",
  formForbiddenText:
    "Ihre Rollen erlauben nur, es anzusehen. Fragen Sie die Betreiber der Plattform, oder melden Sie sich für eine andere Organisation an. Nichts von dem, was Sie geschrieben haben, geht verloren.",
  needed: "Das fehlt noch.",
};

export const session: Same<typeof en.session> = {
  title: "An der Konsole anmelden",
  lead: "Mit Ihrem Konto auf dieser Plattform. Sie brauchen eine Rolle in einer Organisation, die Ihnen den Betrieb erlaubt.",
  button: "Anmelden",
  organization: "Organisation",
  organizationHelp: "Sie handeln für diese Organisation. Betreiber der Plattform nehmen „operators“.",
  signingIn: "Sie werden angemeldet …",
  failedTitle: "Die Anmeldung ist nicht gelungen",
  failed: {
    access_denied: "Der Zugang wurde verweigert.",
    invalid_scope: "Sie gehören nicht zu dieser Organisation, oder es gibt sie nicht.",
    unauthorized_client: "Der Client der Konsole ist gesperrt oder hat andere Rücksprungadressen.",
    lost: "Die Anmeldung wurde in einem anderen Tab begonnen oder vor zu langer Zeit. Beginnen Sie von vorn.",
    unreachable: "Die Plattform hat nicht geantwortet. Versuchen Sie es noch einmal.",
    other: "Die Plattform sagt:",
  },
  noRights: "Sie sind angemeldet, aber keine Ihrer Rollen erlaubt die Konsole.",
  noRightsText:
    "Bitten Sie einen Betreiber um eine Rolle mit plat.admin_read, plat.admin_write oder plat.admin_tenant in Ihrer Organisation.",
  expiredTitle: "Ihre Sitzung ist zu Ende",
  expiredText:
    "Melden Sie sich in einem kleinen Fenster neu an. Diese Seite bleibt, wie sie ist, und nichts Geschriebenes geht verloren.",
  again: "Neu anmelden",
  closeWindow: "Sie sind angemeldet. Sie können dieses Fenster schließen.",
};

export const navigation: Same<typeof en.navigation> = {
  watch: "Beobachten",
  who: "Wer hier ist",
  access: "Zugang",
  data: "Daten",
  overview: "Übersicht",
  tenants: "Mandanten",
  organizations: "Organisationen",
  people: "Personen",
  applications: "Anwendungen",
  roles: "Rollen",
  services: "Dienste und Pakete",
  providers: "Anmeldung anderswo",
  keys: "Signaturschlüssel",
  audit: "Protokoll",
  explain: "Warum ein Scope?",
  topics: "Topics",
  files: "Dateien",
};

export const palette: Same<typeof en.palette> = {
  title: "Alles finden",
  placeholder: "Seite, Mandant, Anwendung, Person, Topic oder Datei …",
  hint: "Strg K",
  empty: "Nichts heißt so.",
  lacks: "Die Plattform hat nicht geantwortet. Es kann mehr geben.",
  searching: "Wird gesucht …",
  pages: "Seiten",
};

export const secret: Same<typeof en.secret> = {
  title: "Kopieren Sie das Geheimnis jetzt",
  text: "Es wird nur dieses eine Mal gezeigt. Wer es verliert, macht ein neues.",
  label: "Geheimnis",
  done: "Ich habe es kopiert",
};
