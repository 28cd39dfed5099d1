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
];

export interface Credentials {
  readonly client_id: string;
  readonly client_secret: string;
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

const onPage = (text: string): Command => ["wait", "xpath", "//*", 10, text, "update-image-placeholder"];
/** Titles of our pages. */
const ERROR_PAGE = "This request cannot be completed";
const SIGN_IN_PAGE = "Sign in";
const SIGNED_OUT_PAGE = "You are signed out";

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
  issuer: string,
  { email, password }: Subject,
  clients: readonly [Credentials, Credentials, Credentials],
): unknown {
  const [client, client2, client_secret_post] = clients;
  const pages = `${issuer}/*`;
  const signIn = (...first: readonly Command[]): Task => ({
    task: "Sign in",
    match: `${issuer}/authorize*`,
    optional: true,
    commands: [
      ...first,
      ["text", "name", "email", email, "optional"],
      ["text", "name", "password", password, "optional"],
      ["click", "css", "form button.submit"],
    ],
  });
  const done: Task = {
    task: "Return to the client",
    match: `*/test/a/${ALIAS}/*`,
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
  return {
    alias: ALIAS,
    description: "Plinth",
    server: { discoveryUrl: `${issuer}/.well-known/openid-configuration`, login_hint: email },
    client,
    client2,
    client_secret_post,
    browser: [...visit(signIn(), done), ...leave()],
    override: {
      "oidcc-ensure-registered-redirect-uri": { browser: visit(errorPage) },
      "oidcc-ensure-request-object-with-redirect-uri": { browser: visit(errorPage) },
      "oidcc-prompt-login": { browser: signInAgain },
      "oidcc-max-age-1": { browser: signInAgain },
      ...Object.fromEntries(
        Object.entries(SIGN_OUTS).map(([name, page]) => [
          `oidcc-rp-initiated-logout-${name}`,
          { browser: [...visit(signIn(), done), ...leave(page)] },
        ]),
      ),
    },
    options: { browsercontrol_css_enable: false },
  };
}
