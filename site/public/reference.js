/** Shows the platform's own interface document. "Try it" calls the platform that serves this page. */
const base = new URL(".", location.href).pathname.replace(/\/docs\/$/, "");
const theme = localStorage.getItem("starlight-theme");
const isDark = theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);

async function show() {
  const demo = await fetch(`${base}/docs/local.json`).then((answer) => (answer.ok ? answer.json() : undefined));
  const clientCredentials = demo && { token: "", "x-scalar-client-id": demo.client, clientSecret: demo.clientSecret };
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
    hiddenClients: false,
    ...(demo === undefined
      ? {}
      : { authentication: { securitySchemes: { client: { username: demo.client, password: demo.clientSecret } } } }),
    clientCredentials,
  });
}
void show();
