import type { Same } from "../same.ts";
import type * as en from "../en/overview.ts";

export const overview: Same<typeof en.overview> = {
  title: "Übersicht",
  lead: "Was die Plattform tut, und was Ihre Aufmerksamkeit braucht.",
  leadOfTenant: "Was dieser Mandant tut.",
  span: "Zeitraum",
  spans: { hour: "Eine Stunde", day: "Ein Tag", month: "Ein Monat" },
  attention: "Braucht Sie",
  allWell: "Nichts braucht Ihre Aufmerksamkeit. Alle Prüfungen der Plattform sind in Ordnung.",
  accountBlocked: (until) =>
    `Zu viele falsche Passwörter: das Konto ist bis ${until} gesperrt. Entsperren Sie es, wenn die Person fragt.`,
  quotaFull: (percent) =>
    `${percent} % des Kontingents sind belegt. Erhöhen Sie es, oder bitten Sie den Mandanten zu löschen.`,
  deadLetters: (count) =>
    count === "1"
      ? "1 unzustellbares Ereignis. Reparieren Sie den Endpunkt, dann senden Sie es erneut."
      : `${count} unzustellbare Ereignisse. Reparieren Sie den Endpunkt, dann senden Sie sie erneut.`,
  logoutsUntold: (count) =>
    `Er hat von ${count === "1" ? "1 Abmeldung" : `${count} Abmeldungen`} nicht erfahren. Berichtigen Sie seine Adresse, dann führen Sie plat client redeliver-logouts aus.`,
  pushFailing: (count) => `Der Endpunkt nimmt keine Ereignisse an. Es warten: ${count}.`,
  pushStopped: "Nichts wird zugestellt: abgeschaltet, nicht bestätigt oder ohne Recht.",
  serviceSilent: (service) => `Der Dienst ${service} antwortet nicht`,
  serviceSilentText: (count) =>
    `Anfragen ohne Antwort binnen einer Stunde: ${count}. Prüfen Sie seine Adresse und den Dienst selbst.`,
  lagGrows: (tenant) => `Ein Leser von ${tenant} gerät in Rückstand`,
  lagGrowsText: (count) => `Sein Rückstand betrug ${count} Ereignisse und wächst.`,
  handbook: "Was zu tun ist",
  requests: "Anfragen",
  errors: "Fehler",
  latency: "95 % sind schneller als",
  tokens: "Ausgestellte Token",
  refused: "Verweigerte Token",
  ofThemRefused: (count) => `${count} verweigert`,
  published: "Veröffentlichte Ereignisse",
  read: "Gelesene Ereignisse",
  pushed: "Zugestellte Ereignisse",
  ofFiles: (count) => (count === "1" ? "in 1 Datei" : `in ${count} Dateien`),
  bytes: "Gespeicherte Bytes",
  byService: "Anfragen nach Dienst",
  errorsByService: "Fehler nach Dienst",
  byLatency: "Dauer nach Dienst, 95 %",
  byEvents: "Ereignisse je Sekunde",
  aSecond: (rate) => `${rate} je Sekunde`,
  byTokens: "Token",
  busiest: "Fleißigste Mandanten",
  noTenants: "Kein Mandant hat in dieser Zeit etwas gefragt.",
  nothingYet: "Nichts in dieser Zeit.",
  asTable: "Als Tabelle",
  time: "Zeit",
};
