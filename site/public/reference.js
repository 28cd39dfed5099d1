/** Shows the platform's own interface document. "Try it" calls the platform that serves this page. */
const base = new URL(".", location.href).pathname.replace(/\/docs\/$/, "");
const theme = localStorage.getItem("starlight-theme");
const isDark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);

/** On the reader's own machine, requests go out with a token of the demo's client. */
async function demoToken() {
  const told = await fetch(`${base}/docs/local.json`);
  if (!told.ok) return undefined;
  const { client, clientSecret } = await told.json();
  const answer = await fetch(`${base}/oauth2/v1/token`, {
    method: "POST",
    headers: { authorization: `Basic ${btoa(`${client}:${clientSecret}`)}` },
    body: new URLSearchParams({ grant_type: "client_credentials" }),
  });
  const { access_token: token } = await answer.json();
  return { token, "x-scalar-client-id": client, clientSecret };
}

async function show() {
  const clientCredentials = await demoToken();
  const flows = clientCredentials === undefined ? {} : { flows: { clientCredentials } };
  Scalar.createApiReference("#reference", {
    url: `${base}/openapi.json`,
    darkMode: isDark,
    hideDarkModeToggle: true,
    withDefaultFonts: false,
    telemetry: false,
    showDeveloperTools: "never",
    hideClientButton: true,
    agent: { disabled: true },
    mcp: { disabled: true },
    persistAuth: false,
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    authentication: { preferredSecurityScheme: "token", securitySchemes: { token: flows } },
  });
}
void show();
