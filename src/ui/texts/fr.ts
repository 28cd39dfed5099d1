import type { Texts } from "./texts.ts";

export const fr: Texts = {
  signIn: {
    title: "Se connecter",
    lead: "pour accéder à {client}",
    leadInTenant: "pour accéder à {client} dans {tenant}",
    email: "Adresse e-mail",
    password: "Mot de passe",
    submit: "Se connecter",
    failed: "Erreur",
    faults: {
      wrong: "L’adresse e-mail ou le mot de passe est incorrect.",
      blocked: "Trop de tentatives de connexion ont échoué. Veuillez réessayer plus tard.",
      stale:
        "Cette page est restée ouverte trop longtemps ou votre navigateur refuse les cookies. Veuillez vous connecter à nouveau.",
    },
  },
  chooseTenant: {
    title: "Choisir un espace de travail",
    lead: "{client} ouvrira l’espace choisi.",
    user: "Compte\u00a0: {user}",
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
  signedOut: {
    title: "Votre session est terminée",
    text: "Vous pouvez maintenant fermer cette fenêtre. Si d’autres personnes utilisent cet ordinateur, fermez toutes les fenêtres du navigateur.",
  },
};
