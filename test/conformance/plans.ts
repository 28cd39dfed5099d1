/** The plans of the suite that the platform is measured by, and what they are told about it. */
export interface Plan {
  /** What the command calls it. */
  readonly key: string;
  readonly name: string;
  readonly title: string;
  readonly variant: Readonly<Record<string, string>>;
}

const STATIC = { server_metadata: "discovery", client_registration: "static_client" };

export const PLANS: readonly Plan[] = [
  { key: "config", name: "oidcc-config-certification-test-plan", title: "Config OP", variant: {} },
  { key: "basic", name: "oidcc-basic-certification-test-plan", title: "Basic OP", variant: STATIC },
  {
    key: "formpost",
    name: "oidcc-formpost-basic-certification-test-plan",
    title: "Form Post Basic OP",
    variant: STATIC,
  },
  { key: "implicit", name: "oidcc-implicit-certification-test-plan", title: "Implicit OP", variant: STATIC },
  {
    key: "logout",
    name: "oidcc-rp-initiated-logout-certification-test-plan",
    title: "RP-Initiated Logout OP",
    variant: { response_type: "code", client_registration: "static_client" },
  },
  {
    key: "backchannel",
    name: "oidcc-backchannel-rp-initiated-logout-certification-test-plan",
    title: "Back-Channel Logout OP",
    variant: { response_type: "code", client_registration: "static_client" },
  },
  {
    key: "fapi2",
    name: "fapi2-security-profile-final-test-plan",
    title: "FAPI 2.0 Security Profile (final), private_key_jwt and DPoP",
    variant: {
      client_auth_type: "private_key_jwt",
      sender_constrain: "dpop",
      authorization_request_type: "simple",
      openid: "openid_connect",
      fapi_profile: "plain_fapi",
    },
  },
];

export interface Credentials {
  readonly client_id: string;
  readonly client_secret: string;
}

/** A client with a key in place of a secret. The suite gets the private key. */
export interface KeyHolder {
  readonly client_id: string;
  readonly scope: string;
  readonly jwks: { readonly keys: readonly object[] };
  readonly dpop_signing_alg: string;
}

export interface Registered {
  readonly user: Subject;
  /** Has never allowed a client anything. */
  readonly refuser: Subject;
  /** The third sends its secret in the form. */
  readonly clients: readonly [Credentials, Credentials, Credentials];
  /** Gets logout tokens, which modules of other plans would not expect. */
  readonly toldOfLogout: Credentials;
  /** Of another tenant than the users, who are asked for consent. */
  readonly keyHolders: readonly [KeyHolder, KeyHolder];
}

export interface Subject {
  readonly email: string;
  readonly password: string;
}

/** Every address of the suite that belongs to these runs has this word in it. */
export const ALIAS = "plinth";

type Command = readonly (string | number)[];
interface Task {
  readonly task: string;
  readonly match: string;
  readonly optional?: boolean;
  readonly commands: readonly Command[];
}

const optional = (task: Task): Task => ({ ...task, optional: true });
const prefixed = (prefix: string, modules: Readonly<Record<string, unknown>>): Record<string, unknown> =>
  Object.fromEntries(Object.entries(modules).map(([name, module]) => [prefix + name, module]));

const onPage = (text: string): Command => ["wait", "xpath", "//*", 10, text, "update-image-placeholder"];
/** Titles of our pages. */
const ERROR_PAGE = "This request cannot be completed";
const SIGN_IN_PAGE = "Sign in";
const SIGNED_OUT_PAGE = "You are signed out";

/** Modules of FAPI 2.0 whose requests get no further than a page. */
const FAPI_ERROR_PAGES = [
  "par-attempt-to-use-expired-request_uri",
  "par-attempt-to-use-request_uri-for-different-client",
];

/** The page after a sign-out that names no registered address to return to. */
const SIGN_OUTS: Readonly<Record<string, string>> = {
  "bad-post-logout-redirect-uri": ERROR_PAGE,
  "query-added-to-post-logout-redirect-uri": ERROR_PAGE,
  "modified-id-token-hint": ERROR_PAGE,
  "bad-id-token-hint": ERROR_PAGE,
  "no-id-token-hint": ERROR_PAGE,
  "no-params": SIGNED_OUT_PAGE,
  "only-state": SIGNED_OUT_PAGE,
  "no-post-logout-redirect-uri": SIGNED_OUT_PAGE,
};

/**
 * What the suite is told: the platform's metadata, two clients, and what its own browser does on our pages.
 * `override` replaces the browser's tasks for modules that expect another page than the sign-in.
 */
export function configuration(
  plan: Plan,
  { issuer, suite }: { readonly issuer: string; readonly suite: string },
  { user, refuser, clients, toldOfLogout, keyHolders }: Registered,
): unknown {
  const [client, client2, client_secret_post] = clients;
  const pages = `${issuer}/*`;
  const signInAs = ({ email, password }: Subject, ...first: readonly Command[]): Task => ({
    task: "Sign in",
    match: `${issuer}/authorize*`,
    optional: true,
    commands: [
      ...first,
      ["text", "name", "email", email, "optional"],
      ["text", "name", "password", password, "optional"],
      ["click", "css", "form button.submit:not([name])", "optional"],
    ],
  });
  const signIn = (...first: readonly Command[]): Task => signInAs(user, ...first);
  const consent = (decision: "allow" | "deny"): Task => ({
    task: "Consent",
    match: pages,
    optional: true,
    commands: [["click", "css", `button[value=${decision}]`, "optional"]],
  });
  const done: Task = {
    task: "Return to the client",
    match: `${suite}/test/a/${ALIAS}/*`,
    commands: [["wait", "id", "submission_complete", 10]],
  };
  const visit = (...tasks: readonly Task[]) => [{ match: `${issuer}/authorize*`, tasks }];
  const errorPage = { task: "Error page", match: pages, commands: [onPage(ERROR_PAGE)] };
  const signInAgain = visit(
    signIn(["wait", "xpath", "//*", 10, SIGN_IN_PAGE, "update-image-placeholder-optional"]),
    done,
  );
  const leave = (page?: string) => [
    {
      match: `${issuer}/end_session*`,
      tasks: page === undefined ? [] : [{ task: "Signed out", match: pages, commands: [onPage(page)] }],
    },
  ];
  const leftAlone = [
    {
      match: `${issuer}/authorize*`,
      "match-limit": 1,
      tasks: [
        {
          task: "Leave the sign-in page",
          match: `${issuer}/authorize*`,
          commands: [["wait", "xpath", "//*", 10, SIGN_IN_PAGE, "update-image-placeholder-optional"]],
        },
      ],
    },
  ];
  const common = {
    alias: ALIAS,
    description: "Plinth",
    server: { discoveryUrl: `${issuer}/.well-known/openid-configuration`, login_hint: user.email },
    options: { browsercontrol_css_enable: false },
  };
  if (plan.key === "fapi2")
    return {
      ...common,
      client: keyHolders[0],
      client2: keyHolders[1],
      resource: { resourceUrl: `${issuer}/userinfo` },
      browser: visit(signIn(), consent("allow"), done),
      override: prefixed("fapi2-security-profile-final-", {
        "user-rejects-authentication": { browser: visit(signInAs(refuser), consent("deny"), done) },
        "par-attempt-reuse-request_uri": {
          browser: visit(signIn(), consent("allow"), optional(errorPage), optional(done)),
        },
        "par-ensure-reused-request-uri-prior-to-auth-completion-succeeds": {
          browser: [...leftAlone, ...visit(signIn(), consent("allow"), done)],
        },
        ...Object.fromEntries(FAPI_ERROR_PAGES.map((name) => [name, { browser: visit(errorPage) }])),
      }),
    };
  return {
    ...common,
    client: plan.key === "backchannel" ? toldOfLogout : client,
    client2,
    client_secret_post,
    browser: [...visit(signIn(), done), ...leave()],
    override: {
      "oidcc-ensure-registered-redirect-uri": { browser: visit(errorPage) },
      "oidcc-ensure-request-object-with-redirect-uri": { browser: visit(errorPage) },
      "oidcc-prompt-login": { browser: signInAgain },
      "oidcc-max-age-1": { browser: signInAgain },
      ...prefixed(
        "oidcc-rp-initiated-logout-",
        Object.fromEntries(
          Object.entries(SIGN_OUTS).map(([name, page]) => [
            name,
            { browser: [...visit(signIn(), done), ...leave(page)] },
          ]),
        ),
      ),
    },
  };
}
