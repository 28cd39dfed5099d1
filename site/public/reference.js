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

/** Names and roles that Scalar's controls lack, for readers without eyes or mouse. Its settings do not reach them. */
const MENDS = [
  // A field of one line that calls itself a combobox, without a list and without a name.
  [
    ".code-input-lite__editor:not([role=textbox])",
    (field) => {
      const name = field.closest("td, label, [class*=row]")?.textContent.trim() || field.dataset.placeholder || "Value";
      field.setAttribute("role", "textbox");
      field.removeAttribute("aria-autocomplete");
      if (!field.hasAttribute("aria-label")) field.setAttribute("aria-label", name);
    },
  ],
  [".cm-content:not([aria-label])", (editor) => editor.setAttribute("aria-label", "Body")],
  ['[class*="group/copy-button"]:not([aria-label])', (button) => button.setAttribute("aria-label", "Copy")],
  ["button[role=none]", (button) => button.removeAttribute("role")],
  // Who speaks to the page says what it shows.
  [
    ".show-more[aria-label]:not([data-mended])",
    (button) => {
      button.setAttribute("aria-label", `${button.textContent.trim()}: ${button.getAttribute("aria-label")}`);
      button.dataset.mended = "";
    },
  ],
  // The page has one such place, and the dialog another.
  [
    'section[aria-label^="Notifications"]',
    (place) => {
      const first = document.querySelector('section[aria-label^="Notifications"]');
      if (place !== first) place.setAttribute("aria-label", "Request notifications");
    },
  ],
  // They scroll, and must do so by keys.
  [
    'ul.endpoints:not([tabindex]), code.custom-scroll:not([tabindex]), .cm-scroller[tabindex="-1"]',
    (part) => part.setAttribute("tabindex", "0"),
  ],
];
function mend() {
  for (const [selector, change] of MENDS) for (const element of document.querySelectorAll(selector)) change(element);
  // What lies behind the dialog that tries an operation.
  const isTrying = document.querySelector(".scalar-client--open") !== null;
  document.querySelector("main.references-rendered")?.toggleAttribute("inert", isTrying);
}
new MutationObserver(mend).observe(document.body, {
  childList: true,
  subtree: true,
  attributes: true,
  attributeFilter: ["class"],
});

void show();
