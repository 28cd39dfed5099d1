import type { Texts } from "./texts.ts";

export const de: Texts = {
  signIn: {
    title: "Anmelden",
    lead: "um mit {client} fortzufahren",
    leadInTenant: "um mit {client} in {tenant} fortzufahren",
    email: "E-Mail-Adresse",
    password: "Passwort",
    submit: "Anmelden",
    failed: "Fehler",
    faults: {
      wrong: "Die E-Mail-Adresse oder das Passwort ist falsch.",
      blocked: "Es gab zu viele erfolglose Anmeldeversuche. Versuchen Sie es später noch einmal.",
      stale:
        "Diese Seite war zu lange geöffnet, oder Ihr Browser nimmt keine Cookies an. Bitte melden Sie sich noch einmal an.",
    },
  },
  chooseTenant: {
    title: "Arbeitsbereich auswählen",
    lead: "{client} öffnet den Bereich, den Sie auswählen.",
    user: "Angemeldet als {user}",
  },
  errors: {
    request: {
      title: "Diese Anfrage kann nicht bearbeitet werden",
      text: "Die Anwendung, von der Sie kommen, hat etwas angefordert, das dieser Dienst nicht zulässt. Gehen Sie zur Anwendung zurück und versuchen Sie es noch einmal. Hilft das nicht, wenden Sie sich bitte an den Support der Anwendung.",
    },
    over: {
      title: "Diese Anmeldung ist beendet",
      text: "Sie hat zu lange gedauert, ist schon abgeschlossen oder wurde in einem anderen Browser begonnen. Gehen Sie zur Anwendung zurück und melden Sie sich dort noch einmal an.",
    },
    busy: {
      title: "Zu viele Anfragen",
      text: "In kurzer Zeit kamen zu viele Anfragen. Warten Sie eine Minute und versuchen Sie es dann noch einmal.",
    },
    unavailable: {
      title: "Zurzeit nicht verfügbar",
      text: "Der Dienst kann im Moment nicht antworten. Bitte versuchen Sie es in einigen Minuten noch einmal.",
    },
    internal: {
      title: "Etwas ist schiefgegangen",
      text: "Der Fehler liegt bei uns. Bitte versuchen Sie es noch einmal. Tritt er wieder auf, wenden Sie sich an den Support und nennen Sie die unten stehende Anfrage-ID.",
    },
  },
  forDevelopers: "Für die Entwickler der Anwendung",
  requestId: "Anfrage-ID: {id}",
  signedOut: {
    title: "Sie sind abgemeldet",
    text: "Sie können dieses Fenster jetzt schließen. Wenn auch andere diesen Computer benutzen, schließen Sie bitte alle Browserfenster.",
  },
};
