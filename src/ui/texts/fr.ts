import type { Texts } from "./texts.ts";

export const fr: Texts = {
  signIn: {
    title: "Se connecter",
    lead: "pour accéder à {client}",
    leadInTenant: "pour accéder à {client} dans {tenant}",
    email: "Adresse e-mail",
    password: "Mot de passe",
    submit: "Se connecter",
    next: "Suivant",
    byPassword: "Utiliser plutôt votre mot de passe ici",
    or: "ou",
    continueWith: "Continuer avec {provider}",
    forgot: "Mot de passe oublié\u00a0?",
    failed: "Erreur",
    faults: {
      passkey:
        "Cette clé d’accès n’est pas connue ici, ou elle n’a pas été acceptée. Essayez-en une autre, ou connectez-vous autrement.",
      wrong: "L’adresse e-mail ou le mot de passe est incorrect.",
      blocked: "Trop de tentatives de connexion ont échoué. Veuillez réessayer plus tard.",
      stale:
        "Cette page est restée ouverte trop longtemps ou votre navigateur refuse les cookies. Veuillez vous connecter à nouveau.",
      another:
        "L’application demande la personne dont l’adresse est déjà saisie. Pour en utiliser une autre, déconnectez-vous d’abord de l’application.",
      again: "Veuillez d’abord vous reconnecter\u00a0: votre connexion est trop ancienne pour cette modification.",
      busy: "Trop de connexions commencent en ce moment dans votre réseau. Veuillez réessayer dans une minute.",
      provider: "L’autre service n’a pas confirmé votre identité, ou votre adresse n’est pas connue ici.",
    },
  },
  outsideProvider: {
    domain: {
      title: "Cette connexion ne vaut pas pour votre adresse",
      text: "{provider} ne peut se porter garant que d’adresses de certains domaines. {user} n’en fait pas partie.",
    },
    tenant: {
      title: "Cette connexion ne mène pas ici",
      text: "{provider} vous a connecté en tant que {user}, mais pour d’autres espaces de travail seulement.",
    },
    whatToDo:
      "Connectez-vous autrement, ou revenez en arrière. Si cela devrait fonctionner, adressez-vous à la personne qui gère votre compte.",
    otherWay: "Se connecter autrement",
    back: "Retour à {client}",
  },
  confirmLink: {
    title: "Confirmer votre compte",
    lead: "{provider} indique que vous êtes {user}.",
    once: "Vous vous connectez par {provider} pour la première fois. Confirmez-le avec le mot de passe de votre compte ici. Cela ne vous sera demandé qu’une fois.",
    submit: "Confirmer et se connecter",
    wrong: "Le mot de passe est incorrect.",
    otherwise:
      "Si vous ne connaissez pas le mot de passe, fermez cette fenêtre et adressez-vous à la personne qui gère votre compte.",
  },
  recovery: {
    title: "Choisir un nouveau mot de passe",
    lead: "Saisissez l’adresse e-mail de votre compte. Nous y envoyons un lien.",
    send: "Envoyer le lien",
    sentTitle: "Consultez vos e-mails",
    sent: "S’il existe un compte avec mot de passe pour {user}, un lien est en route.",
    sentHere:
      "Ouvrez le lien dans ce navigateur. Il fonctionne une fois, pendant 30 minutes. Pas d’e-mail\u00a0? Regardez dans les indésirables.",
    newTitle: "Choisir un nouveau mot de passe",
    newLead:
      "Pour {user}. Toutes les personnes connectées avec l’ancien mot de passe sont déconnectées, et les applications perdent leur accès.",
    void: {
      void: {
        title: "Ce lien ne fonctionne plus",
        text: "Il a été utilisé, un lien plus récent l’a été, ou il a plus de 30 minutes. Demandez-en un nouveau là où vous aviez demandé celui-ci.",
      },
      elsewhere: {
        title: "Ouvrez le lien dans l’autre navigateur",
        text: "Il ne fonctionne que dans le navigateur où il a été demandé. Si ce n’était pas vous, fermez cette fenêtre. Ou demandez un nouveau lien dans ce navigateur.",
      },
      invitation: {
        title: "Cette invitation ne fonctionne plus",
        text: "Elle a été acceptée, une autre a été envoyée, elle a été retirée, ou elle a plus d’une semaine. Demandez-en une nouvelle à la personne qui vous invite.",
      },
    },
  },
  invitation: {
    title: "Une invitation pour vous",
    lead: "{place} invite {user}.",
    choose: "Choisissez un mot de passe pour votre compte.",
    accept: "Accepter l’invitation",
    otherwise: "Si vous ne savez pas qui vous invite, fermez cette fenêtre. Il ne se passera rien.",
    passwordIsUnused:
      "Votre nouveau mot de passe n’est pas enregistré\u00a0: entre-temps, votre compte a reçu un autre mot de passe ou un autre moyen de connexion. Utilisez celui-ci. Si vous ne connaissez pas ce mot de passe, choisissez-en un nouveau depuis la page de connexion, ou adressez-vous à la personne qui vous invite.",
  },
  verification: {
    title: "Est-ce votre adresse\u00a0?",
    lead: "Confirmez que {user} est votre adresse, afin que les applications puissent s’y fier.",
    confirm: "Oui, c’est mon adresse",
  },
  done: {
    reset: {
      title: "Votre mot de passe est changé",
      text: "Toutes les autres personnes sont déconnectées. Connectez-vous maintenant avec le nouveau mot de passe.",
      button: "Se connecter",
    },
    invitation: {
      title: "Bienvenue",
      text: "Vous êtes maintenant membre de {place}. Connectez-vous, ou ouvrez votre application.",
      button: "Votre compte",
    },
    verify: {
      title: "Votre adresse est confirmée",
      text: "Les applications auxquelles vous vous connectez peuvent désormais s’y fier.",
      button: "Votre compte",
    },
  },
  mails: {
    reset: {
      subject: "Choisir un nouveau mot de passe pour {host}",
      lead: "Quelqu’un, sans doute vous, a demandé un nouveau mot de passe pour {user} sur {host}.",
      button: "Choisir un nouveau mot de passe",
      rules: "Le lien fonctionne une fois, pendant 30 minutes, dans le navigateur où vous l’avez demandé.",
      otherwise:
        "Si ce n’était pas vous, ne faites rien. Votre mot de passe reste inchangé. Ne transmettez pas cet e-mail.",
    },
    verify: {
      subject: "Confirmer votre adresse pour {host}",
      lead: "Vous avez demandé sur {host} à confirmer que {user} est votre adresse.",
      button: "Confirmer l’adresse",
      rules: "Le lien fonctionne une fois, pendant 30 minutes, dans le navigateur où vous l’avez demandé.",
      otherwise: "Si ce n’était pas vous, ne faites rien. Ne transmettez pas cet e-mail.",
    },
    invitation: {
      subject: "{place} vous invite",
      lead: "{place} invite {user} à ses applications sur {host}.",
      button: "Accepter l’invitation",
      rules: "Le lien fonctionne une fois, pendant une semaine.",
      otherwise:
        "Si vous ne savez pas qui vous invite, ne faites rien. Ne transmettez pas cet e-mail\u00a0: le lien n’est destiné qu’à vous.",
    },
    sign_in: {
      subject: "Nouvelle connexion à {host}",
      lead: "Quelqu’un, sans doute vous, s’est connecté en tant que {user} à {host}, dans un navigateur que nous ne connaissons pas.",
      button: "Votre compte",
      rules: "Où et quand\u00a0: {details}",
      otherwise:
        "Si ce n’était pas vous, changez maintenant votre mot de passe sur la page de votre compte. Toutes les autres personnes seront déconnectées.",
    },
    password: {
      subject: "Votre mot de passe pour {host} a été changé",
      lead: "Le mot de passe de {user} à {host} a été changé.",
      button: "Votre compte",
      rules: "Où et quand\u00a0: {details}",
      otherwise:
        "Si ce n’était pas vous, choisissez-en un nouveau maintenant\u00a0: «\u00a0Mot de passe oublié\u00a0?\u00a0» sur la page de connexion.",
    },
    changed: {
      subject: "Votre connexion à {host} a été changée",
      lead: "La façon dont {user} se connecte à {host} a été changée\u00a0: {news}.",
      button: "Votre compte",
      rules: "Où et quand\u00a0: {details}",
      otherwise:
        "Si ce n’était pas vous, changez maintenant votre mot de passe sur la page de votre compte, et vérifiez-y les autres moyens de connexion.",
    },
  },
  news: {
    factorOn: "la connexion en deux étapes a été activée",
    factorOff: "la connexion en deux étapes a été désactivée",
    newCodes: "il y a de nouveaux codes de secours",
    passkeyAdded: "une clé d’accès a été ajoutée",
    passkeyRemoved: "une clé d’accès a été supprimée",
    linked: "un compte d’un autre service a été lié",
    unlinked: "un compte d’un autre service a été délié",
  },
  secondFactor: {
    title: "Saisissez votre code",
    lead: "Votre application d’authentification affiche un code à six chiffres.",
    code: "Code à six chiffres",
    lostApp: "Vous n’avez pas votre application\u00a0?",
    recoveryCode: "Un de vos codes de secours",
    submit: "Continuer",
    setUpTitle: "Configurer la connexion en deux étapes",
    needed:
      "Ici, votre mot de passe ne suffit pas. Configurez une fois une application d’authentification pour continuer.",
    wanted:
      "Dès l’activation, toute personne qui se connecte à votre compte aura aussi besoin d’un code de votre application d’authentification, et les applications perdront leur accès jusqu’à ce que vous vous y reconnectiez.",
    scan: "Scannez l’image avec une application d’authentification sur votre téléphone.",
    picture: "Un code QR contenant la clé ci-dessous",
    typeKey: "Ou saisissez-y cette clé\u00a0:",
    openApp: "Ouvrir une application sur cet appareil",
    firstCode: "Le code affiché par l’application",
    turnOn: "Activer",
    codesTitle: "Conservez vos codes de secours",
    codesLead:
      "La connexion en deux étapes est activée. Si vous perdez votre téléphone, chacun de ces codes vous connecte une fois à sa place. Imprimez-les ou conservez-les dans votre gestionnaire de mots de passe. Ils ne seront plus affichés.",
    kept: "Je les ai conservés",
    section: "Connexion en deux étapes",
    off: "Désactivée. Avec une application d’authentification, personne ne se connecte avec votre seul mot de passe.",
    on: "Activée. Il vous reste {left} codes de secours. Si vous ne les trouvez pas, ou ne les avez jamais vus, créez-en de nouveaux.",
    change: "Code de votre application, pour une modification",
    renew: "Créer de nouveaux codes de secours",
    remove: "Désactiver",
    faults: {
      passkey: "Cette clé d’accès n’est pas l’une des vôtres ici, ou elle n’a pas été acceptée. Réessayez.",
      wrong: "Le code est incorrect ou a déjà été utilisé. Attendez le suivant.",
      password: "Le mot de passe est incorrect.",
      blocked: "Il y a eu trop de tentatives de connexion infructueuses. Réessayez plus tard.",
      stale: "Cette page n’était plus à jour. Veuillez réessayer.",
    },
  },
  passkeys: {
    section: "Clés d’accès",
    lead: "Une clé d’accès vous connecte par votre empreinte, votre visage ou le verrouillage de l’écran, sans mot de passe ni code.",
    add: "Ajouter une clé d’accès",
    backedUp: "Copiée sur vos autres appareils",
    name: "Nom de la clé d’accès",
    rename: "Renommer",
    remove: "Retirer",
    newTitle: "Ajouter une clé d’accès",
    newLead:
      "Votre appareil ou votre gestionnaire de mots de passe la conserve, et demande votre empreinte, votre visage ou le verrouillage de l’écran.",
    create: "Créer la clé d’accès",
    back: "Retour à votre compte",
    use: "Utiliser une clé d’accès",
    onlyTitle: "Montrez que c’est vous",
    onlyLead: "Utilisez une de vos clés d’accès pour continuer.",
    needsScript: "Les clés d’accès ont besoin de JavaScript et d’un navigateur qui les connaît.",
    failed: "Cela n’a pas fonctionné, ou a été annulé. Réessayez.",
    known: "Cet appareil ou ce gestionnaire de mots de passe a déjà une clé d’accès pour votre compte.",
    faults: {
      stale: "Cette page n’était plus à jour. Veuillez réessayer.",
      passkey:
        "La clé d’accès n’a pas été ajoutée\u00a0: l’appareil n’a pas vérifié que c’est vous, ou vous en avez vingt. Essayez-en une autre.",
    },
  },
  chooseTenant: {
    title: "Choisir un espace de travail",
    lead: "{client} ouvrira l’espace choisi.",
    user: "Compte\u00a0: {user}",
  },
  device: {
    title: "Connecter un appareil",
    lead: "Saisissez le code que l’appareil affiche.",
    code: "Code",
    submit: "Continuer",
    faults: {
      wrong:
        "Aucun appareil n’affiche ce code. Un code expire au bout de dix minutes\u00a0: regardez de nouveau l’appareil.",
      blocked: "Il y a eu trop de codes erronés. Réessayez plus tard.",
      stale: "Cette page n’était plus à jour. Veuillez réessayer.",
    },
    allowed: { title: "L’appareil est connecté", text: "Vous pouvez fermer cette page et continuer sur l’appareil." },
    denied: {
      title: "L’appareil n’a pas été connecté",
      text: "Vous pouvez fermer cette page. L’appareil n’obtient aucun accès. Si vous vouliez le connecter, recommencez sur l’appareil.",
    },
  },
  legal: { terms: "Conditions", privacy: "Confidentialité" },
  consent: {
    title: "Autoriser l’accès\u00a0?",
    lead: "{client}, une application de {tenant}, demande l’accès à votre compte.",
    notMember: "Vous n’en êtes pas membre.",
    leadForDevice:
      "{client}, une application de {tenant}, demande l’accès à votre compte pour l’appareil qui affiche le code {code}. Autorisez-le seulement si vous avez commencé cela vous-même sur cet appareil.",
    leadUnregistered:
      "{client} demande l’accès à votre compte. Personne n’a vérifié ici ce que cette application dit d’elle-même.",
    describedAt: "{host} la décrit.",
    selfRegistered: "Elle s’est enregistrée elle-même.",
    goesTo: "Votre navigateur revient à {target}.",
    onDevice:
      "C’est un programme sur votre propre appareil\u00a0: continuez seulement si vous venez de le lancer vous-même.",
    asked: "Si vous l’autorisez, elle peut",
    identity: "savoir qui vous êtes\u00a0: {user}",
    oidc: {
      openid: "savoir qui vous êtes",
      profile: "voir votre nom, votre image et votre langue",
      email: "voir votre adresse e-mail",
    },
    belongs: "voir que vous appartenez à {place}",
    inPlace: "agir en votre nom dans {place}\u00a0:",
    nowhere: "agir en votre nom\u00a0:",
    scopes: {
      "pubsub.topic=": "lire tous les événements de {name}",
      "pubsub.own_tenant_topic=": "lire les événements de ce locataire de {name}",
      pubsub_publish: "publier des événements",
      media_view: "voir les fichiers",
      media_manage: "créer, modifier et supprimer des fichiers",
      media_admin: "supprimer tous les fichiers à la fois",
      admin_read: "voir tout ce que voient les exploitants",
      admin_write: "exploiter toute la plateforme",
      admin_tenant: "exploiter les locataires de l’organisation",
    },
    lasts: "continuer en votre absence",
    takeBack: "Vous pouvez lui retirer l’accès à tout moment sur la page de votre compte.",
    allow: "Autoriser",
    deny: "Refuser",
    stale: "Cette page n’était plus à jour\u00a0; rien n’a été fait. Veuillez décider à nouveau.",
  },
  account: {
    title: "Votre compte",
    user: "Session ouverte",
    since: "Depuis le {time}",
    sinceByProvider: "Depuis le {time}, par {provider}",
    verified: "Votre adresse est confirmée.",
    notVerified: "Votre adresse n’est pas encore confirmée.",
    verify: "Envoyer un lien pour la confirmer",
    signOut: "Se déconnecter de ce navigateur",
    sessions: "Vos connexions",
    sessionsLead:
      "Les lieux sont approximatifs, la dernière utilisation est à l’heure près. Si vous ne reconnaissez pas une connexion, mettez-y fin et changez votre mot de passe.",
    thisBrowser: "Ce navigateur",
    byOperator: "par un opérateur de ce service",
    unknownBrowser: "Navigateur inconnu",
    endSession: "Déconnecter",
    applications: "Applications autorisées",
    applicationsLead:
      "Vous vous y êtes connecté ou leur avez permis de savoir qui vous êtes. Elles peuvent agir en votre nom, même en votre absence, jusqu’à ce que vous leur retiriez l’accès. Vous y reconnecter le leur rend.",
    noApplications: "Aucune application n’a d’accès durable à votre compte.",
    more: "Il y en a d’autres. Elles apparaissent ici à mesure que vous en retirez.",
    inPlace: "Dans {place}\u00a0: {scopes}",
    nowhere: "Dans aucun espace de travail\u00a0: {scopes}",
    given: "Accès depuis le {time}",
    lastUsed: "dernière utilisation le {time}",
    removeAccess: "Retirer l’accès",
    changePassword: "Changer de mot de passe",
    changePasswordLead:
      "Toutes les sessions ouvertes avec l’ancien mot de passe se terminent et les applications perdent leur accès. Vous restez connecté ici.",
    oldPassword: "Ancien mot de passe",
    newPassword: "Nouveau mot de passe, de 8 à 256 caractères",
    repeated: "Nouveau mot de passe, à nouveau",
    providers: "Connexion avec d’autres services",
    providersLead: "Ceux-ci vous connectent sans mot de passe.",
    noProviders: "Aucun n’est lié. Un service lié vous permet de vous connecter.",
    link: "Lier {provider}",
    unlink: "Délier {provider}",
    endAll: "Se déconnecter partout",
    endAllLead:
      "Termine toutes les sessions dans tous les navigateurs, celui-ci compris, et l’accès de toutes les applications.",
    notices: {
      passkeyAdded: "La clé d’accès est ajoutée. Désormais, elle vous connecte.",
      passkeyRenamed: "La clé d’accès a son nouveau nom.",
      passkeyRemoved:
        "La clé d’accès ne vous connecte plus. Retirez-la aussi de votre appareil ou de votre gestionnaire de mots de passe.",
      removed: "L’application n’a plus accès.",
      changed: "Votre mot de passe est changé. Toutes les autres sessions sont terminées.",
      notSignedIn:
        "Vous étiez déconnecté entre-temps. Connectez-vous et vérifiez si votre dernière modification a été faite.",
      notChanged: "Rien n’a été modifié\u00a0: votre compte a été modifié ailleurs au même moment. Veuillez réessayer.",
      signedOut: "Vous êtes déconnecté de ce navigateur.",
      ended: "Vous êtes déconnecté partout et plus aucune application n’a accès.",
      sessionEnded: "Le navigateur est déconnecté, et les accès que les applications en avaient obtenus ont pris fin.",
      sessionEndedPartly:
        "Le navigateur est déconnecté, mais les accès que les applications en avaient obtenus n’ont pas tous pris fin. «\u00a0Se déconnecter partout\u00a0» met fin au reste.",
      linkSent:
        "Un lien est en route vers votre adresse. Il fonctionne une fois, pendant 30 minutes, dans ce navigateur.",
      factorRemoved: "La connexion en deux étapes est désactivée. Votre mot de passe suffit pour vous connecter.",
      linked: "Le service est lié. Vous pouvez désormais vous connecter avec lui.",
      unlinked: "Le service est délié. Il ne vous connecte plus.",
    },
    faults: {
      lastPasskey:
        "Rien n’a été retiré\u00a0: elle n’existe déjà plus, ou c’est votre seul moyen de vous connecter. Ajoutez-en d’abord un autre.",
      notLinked: "L’autre service n’a pas confirmé qui vous êtes\u00a0; rien n’a été lié.",
      linkedElsewhere:
        "Ce compte est déjà lié au compte de quelqu’un d’autre ici. Connectez-vous là-bas avec un autre compte.",
      lastWay:
        "Rien n’a été délié\u00a0: ce service n’est pas lié, ou c’est votre seul moyen de vous connecter. Ajoutez-en d’abord un autre.",
      wrongCode: "Le code est incorrect ou a déjà été utilisé. Attendez le suivant.",
      codeBlocked: "Il y a eu trop de tentatives de connexion infructueuses. Réessayez plus tard.",
      stale: "Cette page n’était plus à jour\u00a0; rien n’a été fait. Veuillez réessayer.",
      wrong: "L’ancien mot de passe est incorrect.",
      blocked: "Trop de tentatives de connexion ont échoué. Veuillez réessayer plus tard.",
      length: "Le nouveau mot de passe doit compter de 8 à 256 caractères.",
      common:
        "Le nouveau mot de passe est de ceux que l’on devine en premier. Veuillez en choisir un autre, par exemple plusieurs mots.",
      own: "Le nouveau mot de passe est votre adresse, une partie de celle-ci ou le nom de ce service. Veuillez en choisir un autre, par exemple plusieurs mots.",
      repeated: "Le nouveau mot de passe a été saisi différemment la seconde fois.",
      same: "Le nouveau mot de passe est l’ancien.",
    },
  },
  errors: {
    request: {
      title: "Cette demande ne peut pas aboutir",
      text: "L’application d’où vous venez a demandé quelque chose que ce service n’accepte pas. Retournez dans l’application et réessayez. Si le problème persiste, contactez son assistance.",
    },
    over: {
      title: "Cette connexion a pris fin",
      text: "Elle a pris trop de temps, a déjà abouti ou a été commencée dans un autre navigateur. Retournez dans l’application et connectez-vous à nouveau.",
    },
    account: {
      title: "Cela n’a pas abouti",
      text: "Rien n’a été fait. Veuillez ouvrir votre compte et réessayer.",
    },
    busy: {
      title: "Trop de demandes",
      text: "Trop de demandes ont été envoyées en peu de temps. Patientez une minute, puis réessayez.",
    },
    unavailable: {
      title: "Service momentanément indisponible",
      text: "Le service ne peut pas répondre pour le moment. Veuillez réessayer dans quelques minutes.",
    },
    internal: {
      title: "Une erreur est survenue",
      text: "Le problème vient de notre côté. Veuillez réessayer. S’il se reproduit, contactez l’assistance en indiquant l’identifiant de la demande ci-dessous.",
    },
  },
  forDevelopers: "Pour les développeurs de l’application",
  requestId: "Identifiant de la demande\u00a0: {id}",
  formPost: {
    title: "Retour à l’application",
    text: "Si cette page reste affichée, utilisez le bouton pour continuer vers {client}.",
    submit: "Continuer",
  },
  signedOut: {
    title: "Votre session est terminée",
    text: "Vous pouvez maintenant fermer cette fenêtre. Si d’autres personnes utilisent cet ordinateur, fermez toutes les fenêtres du navigateur.",
  },
  landing: {
    title: "La plateforme fonctionne",
    lead: "Plinth apporte à vos applications la connexion, les événements et les médias.",
    doors: [
      { title: "Connexion", text: "Des jetons pour les personnes et les services, par OAuth 2.0 et OpenID Connect." },
      { title: "Événements", text: "Publiez dans des topics. Lisez-les avec un verrou, ou recevez-les par envoi." },
      { title: "Médias", text: "Déposez des fichiers, cherchez-les, obtenez les images aux tailles voulues." },
    ],
    more: "Autres liens",
    reference: "Documentation (en anglais)",
    errors: "Les erreurs et que faire (en anglais)",
    console: "La console",
    account: "Votre compte",
  },
  nothingHere: {
    title: "Il n’y a rien ici",
    text: "L’adresse est peut-être mal écrite, ou la page a changé de place.",
    back: "Aller à la page d’accueil",
  },
};
