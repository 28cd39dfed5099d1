import type { Texts } from "./texts.ts";

export const de: Texts = {
  signIn: {
    title: "Anmelden",
    lead: "um mit {client} fortzufahren",
    leadInTenant: "um mit {client} in {tenant} fortzufahren",
    email: "E-Mail-Adresse",
    password: "Passwort",
    submit: "Anmelden",
    next: "Weiter",
    byPassword: "Stattdessen hier das Passwort eingeben",
    or: "oder",
    continueWith: "Weiter mit {provider}",
    forgot: "Passwort vergessen?",
    failed: "Fehler",
    faults: {
      passkey:
        "Dieser Passkey ist hier nicht bekannt oder wurde nicht angenommen. Nehmen Sie einen anderen, oder melden Sie sich anders an.",
      wrong: "Die E-Mail-Adresse oder das Passwort ist falsch.",
      blocked: "Es gab zu viele erfolglose Anmeldeversuche. Versuchen Sie es später noch einmal.",
      stale:
        "Diese Seite war zu lange geöffnet, oder Ihr Browser nimmt keine Cookies an. Bitte melden Sie sich noch einmal an.",
      another:
        "Die Anwendung fragt nach der Person, deren Adresse eingetragen ist. Für eine andere melden Sie sich bitte zuerst dort ab.",
      again: "Bitte melden Sie sich zuerst noch einmal an: Ihre Anmeldung ist für diese Änderung zu alt.",
      busy: "In Ihrem Netz beginnen gerade zu viele Anmeldungen. Versuchen Sie es in einer Minute noch einmal.",
      provider: "Der andere Dienst hat nicht bestätigt, wer Sie sind, oder Ihre Adresse ist hier nicht bekannt.",
    },
  },
  outsideProvider: {
    domain: {
      title: "Diese Anmeldung gilt nicht für Ihre Adresse",
      text: "{provider} darf nur für Adressen bestimmter Domänen bürgen. {user} gehört nicht dazu.",
    },
    tenant: {
      title: "Diese Anmeldung führt nicht hierher",
      text: "{provider} hat Sie als {user} angemeldet, aber nur für andere Arbeitsbereiche.",
    },
    whatToDo:
      "Melden Sie sich anders an, oder gehen Sie zurück. Wenn es gehen sollte, fragen Sie die Person, die Ihr Konto verwaltet.",
    otherWay: "Anders anmelden",
    back: "Zurück zu {client}",
  },
  confirmLink: {
    title: "Konto bestätigen",
    lead: "{provider} sagt, dass Sie {user} sind.",
    once: "Sie melden sich zum ersten Mal über {provider} an. Bestätigen Sie das mit dem Passwort Ihres Kontos hier. Danach werden Sie nicht mehr gefragt.",
    submit: "Bestätigen und anmelden",
    wrong: "Das Passwort ist falsch.",
    otherwise:
      "Wenn Sie das Passwort nicht kennen, schließen Sie dieses Fenster und fragen Sie, wer Ihr Konto verwaltet.",
  },
  recovery: {
    title: "Neues Passwort wählen",
    lead: "Geben Sie die E-Mail-Adresse Ihres Kontos ein. Wir senden einen Link dorthin.",
    send: "Link senden",
    sentTitle: "Sehen Sie in Ihre E-Mail",
    sent: "Wenn es für {user} ein Konto mit Passwort gibt, ist ein Link unterwegs.",
    sentHere:
      "Öffnen Sie den Link in diesem Browser. Er gilt einmal und 30 Minuten lang. Keine E-Mail? Sehen Sie im Spam-Ordner nach.",
    newTitle: "Neues Passwort wählen",
    newLead:
      "Für {user}. Alle, die mit dem alten Passwort angemeldet sind, werden abgemeldet, und Anwendungen verlieren den Zugriff.",
    void: {
      void: {
        title: "Dieser Link gilt nicht mehr",
        text: "Er wurde benutzt, ein späterer wurde benutzt, oder er ist älter als 30 Minuten. Fordern Sie dort einen neuen an, wo Sie diesen angefordert haben.",
      },
      elsewhere: {
        title: "Öffnen Sie den Link im anderen Browser",
        text: "Er gilt nur in dem Browser, in dem er angefordert wurde. Waren Sie das nicht, schließen Sie dieses Fenster. Oder fordern Sie in diesem Browser einen neuen an.",
      },
      invitation: {
        title: "Diese Einladung gilt nicht mehr",
        text: "Sie wurde angenommen, eine spätere wurde gesendet, sie wurde zurückgezogen, oder sie ist älter als eine Woche. Bitten Sie um eine neue, wo Sie eingeladen wurden.",
      },
    },
  },
  invitation: {
    title: "Sie sind eingeladen",
    lead: "{place} lädt {user} ein.",
    choose: "Wählen Sie ein Passwort für Ihr Konto.",
    accept: "Einladung annehmen",
    otherwise: "Wenn Sie nicht wissen, wer Sie einlädt, schließen Sie dieses Fenster. Dann geschieht nichts.",
    passwordIsUnused:
      "Ihr neues Passwort gilt nicht: Ihr Konto hat inzwischen ein anderes Passwort oder einen anderen Weg zur Anmeldung. Melden Sie sich damit an. Kennen Sie jenes Passwort nicht, wählen Sie von der Anmeldeseite aus ein neues, oder fragen Sie dort nach, wo Sie eingeladen wurden.",
  },
  verification: {
    title: "Ist das Ihre Adresse?",
    lead: "Bestätigen Sie, dass {user} Ihre Adresse ist, damit sich Anwendungen darauf verlassen können.",
    confirm: "Ja, das ist meine Adresse",
  },
  done: {
    reset: {
      title: "Ihr Passwort ist geändert",
      text: "Alle anderen sind abgemeldet. Melden Sie sich jetzt mit dem neuen Passwort an.",
      button: "Anmelden",
    },
    invitation: {
      title: "Willkommen",
      text: "Sie sind jetzt Mitglied von {place}. Melden Sie sich an, oder öffnen Sie Ihre Anwendung.",
      button: "Ihr Konto",
    },
    verify: {
      title: "Ihre Adresse ist bestätigt",
      text: "Anwendungen, bei denen Sie sich anmelden, können sich von jetzt an darauf verlassen.",
      button: "Ihr Konto",
    },
  },
  mails: {
    reset: {
      subject: "Neues Passwort für {host} wählen",
      lead: "Jemand, vermutlich Sie, hat für {user} bei {host} ein neues Passwort angefordert.",
      button: "Neues Passwort wählen",
      rules: "Der Link gilt einmal und 30 Minuten lang, in dem Browser, in dem Sie ihn angefordert haben.",
      otherwise:
        "Waren Sie das nicht, tun Sie nichts. Ihr Passwort bleibt, wie es ist. Geben Sie diese E-Mail nicht weiter.",
    },
    verify: {
      subject: "Ihre Adresse für {host} bestätigen",
      lead: "Sie wollten bei {host} bestätigen, dass {user} Ihre Adresse ist.",
      button: "Adresse bestätigen",
      rules: "Der Link gilt einmal und 30 Minuten lang, in dem Browser, in dem Sie ihn angefordert haben.",
      otherwise: "Waren Sie das nicht, tun Sie nichts. Geben Sie diese E-Mail nicht weiter.",
    },
    invitation: {
      subject: "{place} lädt Sie ein",
      lead: "{place} lädt {user} zu seinen Anwendungen bei {host} ein.",
      button: "Einladung annehmen",
      rules: "Der Link gilt einmal und eine Woche lang.",
      otherwise:
        "Wenn Sie nicht wissen, wer Sie einlädt, tun Sie nichts. Geben Sie diese E-Mail nicht weiter: Der Link ist nur für Sie.",
    },
    sign_in: {
      subject: "Neue Anmeldung bei {host}",
      lead: "Jemand, vermutlich Sie, hat sich als {user} bei {host} angemeldet, in einem Browser, den wir nicht kennen.",
      button: "Ihr Konto",
      rules: "Wo und wann: {details}",
      otherwise:
        "Waren Sie das nicht, ändern Sie jetzt auf Ihrer Kontoseite das Passwort. Damit werden alle anderen abgemeldet.",
    },
    password: {
      subject: "Ihr Passwort für {host} wurde geändert",
      lead: "Das Passwort von {user} bei {host} wurde geändert.",
      button: "Ihr Konto",
      rules: "Wo und wann: {details}",
      otherwise: "Waren Sie das nicht, wählen Sie jetzt ein neues: „Passwort vergessen?“ auf der Anmeldeseite.",
    },
    changed: {
      subject: "Ihre Anmeldung bei {host} wurde geändert",
      lead: "Wie sich {user} bei {host} anmeldet, wurde geändert: {news}.",
      button: "Ihr Konto",
      rules: "Wo und wann: {details}",
      otherwise:
        "Waren Sie das nicht, ändern Sie jetzt auf Ihrer Kontoseite das Passwort und prüfen Sie dort, wie Sie sich sonst anmelden.",
    },
  },
  news: {
    factorOn: "Die Anmeldung in zwei Schritten wurde eingeschaltet",
    factorOff: "Die Anmeldung in zwei Schritten wurde ausgeschaltet",
    newCodes: "Es gibt neue Wiederherstellungscodes",
    passkeyAdded: "Ein Passkey wurde hinzugefügt",
    passkeyRemoved: "Ein Passkey wurde entfernt",
    linked: "Ein Konto bei einem anderen Dienst wurde verknüpft",
    unlinked: "Ein Konto bei einem anderen Dienst wurde getrennt",
  },
  secondFactor: {
    title: "Code eingeben",
    lead: "Ihre Authenticator-App zeigt einen Code mit sechs Ziffern.",
    code: "Code mit sechs Ziffern",
    lostApp: "Sie haben Ihre App nicht?",
    recoveryCode: "Einer Ihrer Wiederherstellungscodes",
    submit: "Weiter",
    setUpTitle: "Anmeldung in zwei Schritten einrichten",
    needed:
      "Hier reicht Ihr Passwort allein nicht aus. Richten Sie einmal eine Authenticator-App ein, um fortzufahren.",
    wanted:
      "Sobald sie eingeschaltet ist, braucht jeder, der sich als Sie anmeldet, auch einen Code Ihrer Authenticator-App, und Anwendungen verlieren ihren Zugriff, bis Sie sich dort wieder anmelden.",
    scan: "Scannen Sie das Bild mit einer Authenticator-App auf Ihrem Telefon.",
    picture: "Ein QR-Code mit dem Schlüssel, der darunter steht",
    typeKey: "Oder tippen Sie diesen Schlüssel in die App:",
    openApp: "Eine App auf diesem Gerät öffnen",
    firstCode: "Der Code, den die App zeigt",
    turnOn: "Einschalten",
    codesTitle: "Bewahren Sie diese Codes auf",
    codesLead:
      "Die Anmeldung in zwei Schritten ist eingeschaltet. Wenn Sie Ihr Telefon verlieren, meldet jeder dieser Codes Sie stattdessen einmal an. Drucken Sie sie aus, oder legen Sie sie in Ihren Passwortmanager. Sie werden nicht noch einmal gezeigt.",
    kept: "Ich habe sie aufbewahrt",
    section: "Anmeldung in zwei Schritten",
    off: "Ausgeschaltet. Mit einer Authenticator-App meldet sich niemand mit Ihrem Passwort allein an.",
    on: "Eingeschaltet. Sie haben noch {left} Wiederherstellungscodes. Wenn Sie sie nicht finden oder nie gesehen haben, erzeugen Sie neue.",
    change: "Code Ihrer App, für eine Änderung",
    renew: "Neue Wiederherstellungscodes erzeugen",
    remove: "Ausschalten",
    faults: {
      passkey: "Dieser Passkey gehört hier nicht zu Ihnen oder wurde nicht angenommen. Versuchen Sie es noch einmal.",
      wrong: "Der Code ist falsch oder wurde schon verwendet. Warten Sie auf den nächsten.",
      password: "Das Passwort ist falsch.",
      blocked: "Es gab zu viele erfolglose Anmeldeversuche. Versuchen Sie es später noch einmal.",
      stale: "Diese Seite war veraltet. Bitte versuchen Sie es noch einmal.",
    },
  },
  passkeys: {
    section: "Passkeys",
    lead: "Ein Passkey meldet Sie mit Fingerabdruck, Gesicht oder Displaysperre an, ohne Passwort und ohne Code.",
    add: "Passkey hinzufügen",
    backedUp: "Auf Ihre anderen Geräte kopiert",
    name: "Name des Passkeys",
    rename: "Umbenennen",
    remove: "Entfernen",
    newTitle: "Passkey hinzufügen",
    newLead:
      "Ihr Gerät oder Ihr Passwortmanager bewahrt ihn auf und fragt nach Fingerabdruck, Gesicht oder Displaysperre.",
    create: "Passkey erstellen",
    back: "Zurück zu Ihrem Konto",
    use: "Passkey verwenden",
    onlyTitle: "Zeigen Sie, dass Sie es sind",
    onlyLead: "Verwenden Sie einen Ihrer Passkeys, um fortzufahren.",
    needsScript: "Passkeys brauchen JavaScript und einen Browser, der sie kennt.",
    failed: "Das hat nicht geklappt oder wurde abgebrochen. Versuchen Sie es noch einmal.",
    known: "Dieses Gerät oder dieser Passwortmanager hat schon einen Passkey für Ihr Konto.",
    faults: {
      stale: "Diese Seite war veraltet. Bitte versuchen Sie es noch einmal.",
      passkey:
        "Der Passkey wurde nicht hinzugefügt: Das Gerät hat nicht geprüft, ob Sie es sind, oder Sie haben schon zwanzig. Versuchen Sie es mit einem anderen.",
    },
  },
  chooseTenant: {
    title: "Arbeitsbereich auswählen",
    lead: "{client} öffnet den Bereich, den Sie auswählen.",
    user: "Angemeldet als {user}",
  },
  device: {
    title: "Gerät verbinden",
    lead: "Geben Sie den Code ein, den das Gerät zeigt.",
    code: "Code",
    submit: "Weiter",
    faults: {
      wrong: "Kein Gerät zeigt diesen Code. Codes enden nach zehn Minuten: Sehen Sie noch einmal auf das Gerät.",
      blocked: "Es gab zu viele falsche Codes. Versuchen Sie es später noch einmal.",
      stale: "Diese Seite war nicht mehr aktuell. Bitte versuchen Sie es noch einmal.",
    },
    allowed: { title: "Das Gerät ist verbunden", text: "Sie können diese Seite schließen und am Gerät weitermachen." },
    denied: {
      title: "Das Gerät wurde nicht verbunden",
      text: "Sie können diese Seite schließen. Das Gerät bekommt keinen Zugriff. Wenn Sie es verbinden wollten, beginnen Sie dort von vorn.",
    },
  },
  legal: { terms: "Nutzungsbedingungen", privacy: "Datenschutz" },
  consent: {
    title: "Zugriff erlauben?",
    lead: "{client}, eine Anwendung von {tenant}, bittet um Zugriff auf Ihr Konto.",
    notMember: "Sie sind dort kein Mitglied.",
    leadForDevice:
      "{client}, eine Anwendung von {tenant}, bittet um Zugriff auf Ihr Konto, für das Gerät, das den Code {code} zeigt. Erlauben Sie es nur, wenn Sie das selbst an diesem Gerät begonnen haben.",
    leadUnregistered:
      "{client} bittet um Zugriff auf Ihr Konto. Niemand hat hier geprüft, was die Anwendung über sich sagt.",
    describedAt: "{host} beschreibt sie.",
    selfRegistered: "Sie hat sich selbst registriert.",
    goesTo: "Ihr Browser kehrt zu {target} zurück.",
    onDevice:
      "Das ist ein Programm auf Ihrem eigenen Gerät: Fahren Sie nur fort, wenn Sie es gerade selbst gestartet haben.",
    asked: "Wenn Sie es erlauben, kann sie",
    identity: "erfahren, wer Sie sind: {user}",
    oidc: {
      openid: "erfahren, wer Sie sind",
      profile: "Ihren Namen, Ihr Bild und Ihre Sprache sehen",
      email: "Ihre E-Mail-Adresse sehen",
    },
    belongs: "sehen, dass Sie zu {place} gehören",
    inPlace: "für Sie handeln in {place}:",
    nowhere: "für Sie handeln:",
    scopes: {
      "pubsub.topic=": "alle Ereignisse von {name} lesen",
      "pubsub.own_tenant_topic=": "die Ereignisse dieses Mandanten von {name} lesen",
      pubsub_publish: "Ereignisse veröffentlichen",
      media_view: "Dateien sehen",
      media_manage: "Dateien anlegen, ändern und löschen",
      media_admin: "alle Dateien auf einmal löschen",
      admin_read: "alles sehen, was Betreiber sehen",
      admin_write: "die ganze Plattform betreiben",
      admin_tenant: "die Mandanten der Organisation betreiben",
    },
    lasts: "damit fortfahren, während Sie nicht da sind",
    takeBack: "Sie können den Zugriff jederzeit auf Ihrer Kontoseite entziehen.",
    allow: "Erlauben",
    deny: "Ablehnen",
    stale: "Diese Seite war nicht mehr aktuell, deshalb wurde nichts getan. Bitte entscheiden Sie noch einmal.",
  },
  account: {
    title: "Ihr Konto",
    user: "Angemeldet",
    since: "Seit {time}",
    sinceByProvider: "Seit {time}, über {provider}",
    verified: "Ihre Adresse ist bestätigt.",
    notVerified: "Ihre Adresse ist noch nicht bestätigt.",
    verify: "Link zum Bestätigen senden",
    signOut: "In diesem Browser abmelden",
    sessions: "Wo Sie angemeldet sind",
    sessionsLead:
      "Orte sind ungefähr, die letzte Benutzung auf die Stunde genau. Kennen Sie eine Anmeldung nicht, melden Sie sie ab und ändern Sie Ihr Passwort.",
    thisBrowser: "Dieser Browser",
    byOperator: "durch einen Betreiber dieses Dienstes",
    unknownBrowser: "Unbekannter Browser",
    endSession: "Dort abmelden",
    applications: "Anwendungen mit Zugriff",
    applicationsLead:
      "Hier haben Sie sich angemeldet oder erlaubt, dass man erfährt, wer Sie sind. Diese Anwendungen können für Sie handeln, auch wenn Sie nicht da sind, bis Sie ihnen den Zugriff entziehen. Wer sich dort wieder anmeldet, gibt ihn zurück.",
    noApplications: "Keine Anwendung hat dauerhaft Zugriff auf Ihr Konto.",
    more: "Es gibt noch mehr. Sie erscheinen hier, wenn Sie anderen den Zugriff entziehen.",
    inPlace: "Im Bereich {place}: {scopes}",
    nowhere: "In keinem Arbeitsbereich: {scopes}",
    given: "Zugriff seit {time}",
    lastUsed: "zuletzt benutzt {time}",
    removeAccess: "Zugriff entziehen",
    changePassword: "Passwort ändern",
    changePasswordLead:
      "Wer mit dem alten Passwort angemeldet ist, wird abgemeldet, und Anwendungen verlieren ihren Zugriff. Hier bleiben Sie angemeldet.",
    oldPassword: "Altes Passwort",
    newPassword: "Neues Passwort, 8 bis 256 Zeichen",
    repeated: "Neues Passwort noch einmal",
    providers: "Anmeldung mit anderen Diensten",
    providersLead: "Diese melden Sie ohne Passwort an.",
    noProviders: "Keiner ist verknüpft. Mit einem verknüpften können Sie sich anmelden.",
    link: "{provider} verknüpfen",
    unlink: "{provider} trennen",
    endAll: "Überall abmelden",
    endAllLead: "Beendet jede Anmeldung in jedem Browser, auch in diesem, und den Zugriff aller Anwendungen.",
    notices: {
      passkeyAdded: "Der Passkey ist hinzugefügt. Von nun an meldet er Sie an.",
      passkeyRenamed: "Der Passkey hat seinen neuen Namen.",
      passkeyRemoved:
        "Der Passkey meldet Sie nicht mehr an. Entfernen Sie ihn auch von Ihrem Gerät oder aus Ihrem Passwortmanager.",
      removed: "Die Anwendung hat keinen Zugriff mehr.",
      changed: "Ihr Passwort ist geändert. Alle anderen sind abgemeldet.",
      notSignedIn:
        "Sie waren inzwischen abgemeldet. Melden Sie sich an und prüfen Sie, ob Ihre letzte Änderung gespeichert ist.",
      notChanged:
        "Es wurde nichts geändert: Ihr Konto wurde im selben Moment anderswo geändert. Bitte versuchen Sie es noch einmal.",
      signedOut: "Sie sind in diesem Browser abgemeldet.",
      ended: "Sie sind überall abgemeldet, und keine Anwendung hat mehr Zugriff.",
      sessionEnded: "Der Browser ist abgemeldet, und der Zugriff, den Anwendungen durch ihn bekamen, ist beendet.",
      sessionEndedPartly:
        "Der Browser ist abgemeldet, aber der Zugriff, den Anwendungen durch ihn bekamen, ist noch nicht ganz beendet. „Überall abmelden“ beendet den Rest.",
      linkSent: "Ein Link ist an Ihre Adresse unterwegs. Er gilt einmal und 30 Minuten lang, in diesem Browser.",
      factorRemoved: "Die Anmeldung in zwei Schritten ist ausgeschaltet. Ihr Passwort allein meldet Sie an.",
      linked: "Verknüpft. Von nun an können Sie sich damit anmelden.",
      unlinked: "Getrennt. Es meldet Sie nicht mehr an.",
    },
    faults: {
      lastPasskey:
        "Nichts wurde entfernt: Er ist schon fort, oder er ist Ihr einziger Weg, sich anzumelden. Richten Sie zuerst einen anderen ein.",
      notLinked: "Der andere Dienst hat nicht bestätigt, wer Sie sind. Es wurde nichts verknüpft.",
      linkedElsewhere:
        "Das dortige Konto ist mit dem Konto einer anderen Person hier verknüpft. Melden Sie sich dort mit einem anderen an.",
      lastWay:
        "Es wurde nichts getrennt: Es ist nicht verknüpft, oder Sie können sich nur damit anmelden. Richten Sie zuerst einen anderen Weg ein.",
      wrongCode: "Der Code ist falsch oder wurde schon verwendet. Warten Sie auf den nächsten.",
      codeBlocked: "Es gab zu viele erfolglose Anmeldeversuche. Versuchen Sie es später noch einmal.",
      stale: "Diese Seite war veraltet, darum wurde nichts getan. Bitte versuchen Sie es noch einmal.",
      wrong: "Das alte Passwort ist falsch.",
      blocked: "Es gab zu viele erfolglose Anmeldeversuche. Versuchen Sie es später noch einmal.",
      length: "Das neue Passwort muss 8 bis 256 Zeichen haben.",
      common:
        "Das neue Passwort gehört zu denen, die zuerst geraten werden. Bitte wählen Sie ein anderes, etwa mehrere Wörter.",
      own: "Das neue Passwort ist Ihre Adresse, ein Teil davon oder der Name dieses Dienstes. Bitte wählen Sie ein anderes, etwa mehrere Wörter.",
      repeated: "Das neue Passwort wurde beim zweiten Mal anders eingegeben.",
      same: "Das neue Passwort ist das alte.",
    },
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
    account: {
      title: "Das hat nicht geklappt",
      text: "Es wurde nichts getan. Bitte öffnen Sie Ihr Konto und versuchen Sie es noch einmal.",
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
  formPost: {
    title: "Zurück zur Anwendung",
    text: "Wenn diese Seite stehen bleibt, geht es mit der Schaltfläche weiter zu {client}.",
    submit: "Weiter",
  },
  signedOut: {
    title: "Sie sind abgemeldet",
    text: "Sie können dieses Fenster jetzt schließen. Wenn auch andere diesen Computer benutzen, schließen Sie bitte alle Browserfenster.",
  },
  landing: {
    title: "Die Plattform läuft",
    lead: "Plinth gibt Ihren Anwendungen Anmeldung, Ereignisse und Medien.",
    doors: [
      { title: "Anmeldung", text: "Token für Menschen und Dienste, mit OAuth 2.0 und OpenID Connect." },
      {
        title: "Ereignisse",
        text: "Veröffentlichen Sie in Topics. Lesen Sie mit einer Sperre, oder lassen Sie sich alles zustellen.",
      },
      { title: "Medien", text: "Laden Sie Dateien hoch, suchen Sie darin, und holen Sie Bilder in jeder Größe." },
    ],
    more: "Mehr",
    reference: "Dokumentation (englisch)",
    errors: "Fehler und was zu tun ist (englisch)",
    console: "Konsole",
    account: "Ihr Konto",
  },
  nothingHere: {
    title: "Hier ist nichts",
    text: "Vielleicht ist die Adresse falsch geschrieben, oder die Seite ist umgezogen.",
    back: "Zur Startseite",
  },
};
