import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import type { AccountView } from "../../src/oauth/pages/views/account.ts";
import type { ConfirmLinkView, SignInView } from "../../src/oauth/pages/views/sign-in.ts";
import type {
  PasskeyRequestView,
  NewPasskeyView,
  SecondFactorView,
  SetUpView,
} from "../../src/oauth/pages/views/factors.ts";
import type { ConsentView, TenantChooserView } from "../../src/oauth/pages/views/consent.ts";
import type { ErrorView } from "../../src/oauth/pages/views/page.ts";
import { formAction } from "../../src/ui/parts/layout.ts";
import { createPages } from "../../src/ui/pages.ts";
import { LANGUAGES, type Language } from "../../src/ui/texts/languages.ts";
import { attribute, parseHtml, type Tag } from "../support/html.ts";
import { isSearch, runs } from "../support/model-runs.ts";
import { anyText, webAddress } from "../support/any-text.ts";

const pages = createPages("/base", true);
const context = {
  uiLocales: "en",
  acceptLanguage: null,
  publicBase: "https://accounts.example:8443/base",
  requestId: "0123456789abcdef",
};
const signIn: SignInView = {
  ...context,
  status: 200,
  action: "https://accounts.example:8443/base/oauth2/v1/sign-in",
  hidden: { request: "a=b&c=d", csrf: "token" },
  email: "ada@shop.example",
  clientName: "Web shop",
  tenant: "acme",
  layout: "page",
  fault: undefined,
  formTargets: ["https://shop.example/callback?x=1"],
};
const confirmation: ConfirmLinkView = {
  ...context,
  status: 200,
  action: "/base/oauth2/v1/link-identity",
  hidden: { vouched: "sealed", more: "of it" },
  email: "ada@shop.example",
  provider: "corporate",
  clientName: "Web shop",
  fault: undefined,
  formTargets: ["https://shop.example/callback?x=1"],
};
const chooser: TenantChooserView = {
  ...context,
  action: "/base/oauth2/v1/authorize",
  hidden: { client_id: "acme.shop", state: "s" },
  clientName: "Web shop",
  user: "ada@shop.example",
  tenants: [
    { id: "acme", name: "Acme", value: "plat.tenant=acme" },
    { id: "globex", name: "Globex", value: "plat.tenant=globex" },
  ],
  formTargets: ["com.example.app:/callback"],
};
const consent: ConsentView = {
  ...context,
  status: 200,
  action: "https://accounts.example:8443/base/oauth2/v1/consent",
  hidden: { request: "a=b&c=d", csrf: "token" },
  client: { id: "globex.spa", name: "Web shop" },
  tenant: { id: "globex", name: "Globex" },
  user: "ada@shop.example",
  place: "Acme Group",
  isMember: false,
  source: undefined,
  scopes: [
    { scope: "acme.read", own: undefined, words: "read <all>" },
    { scope: "acme.write", own: undefined, words: undefined },
    { scope: "plat.pubsub.topic=acme.orders", own: "pubsub.topic=acme.orders", words: undefined },
  ],
  showsName: true,
  lasts: true,
  fault: undefined,
  formTargets: ["https://shop.example/callback?x=1"],
};
const factorActions = { setUpFactor: "/s", removeFactor: "/f", renewCodes: "/n", link: "/l", unlink: "/u" };
const passkeyActions = { newPasskey: "/pn", renamePasskey: "/pr", removePasskey: "/pd" };
const account: AccountView = {
  ...context,
  status: 200,
  actions: {
    signOut: "/base/account/sign-out",
    revokeAll: "/e",
    removeAccess: "/r",
    password: "/p",
    verifyAddress: "/v",
    endSession: "/s",
    ...factorActions,
    ...passkeyActions,
  },
  hidden: { csrf: "token", more: "of it" },
  user: { email: "ada@shop.example", name: "Ada" },
  verification: "open",
  linked: [{ id: "corporate", name: "Corporate" }],
  linkable: [{ id: "other", name: "Other" }],
  formTargets: ["https://corporate.example"],
  sessions: [
    {
      sid: "s1",
      browser: "Firefox",
      system: "Windows",
      country: "DE",
      city: "Berlin",
      provider: undefined,
      sinceMs: 1_763_000_000_000,
      lastUsedMs: 1_763_000_000_001,
      isCurrent: true,
    },
  ],
  hasMoreSessions: false,
  signedInAtMs: 1_763_000_000_000,
  provider: "corporate",
  applications: [
    {
      clientId: "acme.shop",
      name: "Web shop",
      access: [
        {
          place: "Acme",
          scopes: [
            { scope: "acme.write", own: undefined, words: undefined },
            { scope: "acme.read", own: undefined, words: "read <all>" },
          ],
        },
        { place: "Globex", scopes: [] },
      ],
      sinceMs: 1_763_000_000_000,
      lastUsedMs: 1_763_000_000_001,
    },
    { clientId: "acme.app", name: "App", access: [], sinceMs: 0, lastUsedMs: undefined },
  ],
  hasMore: true,
  hasPassword: true,
  secondFactor: { recoveryCodes: 7 },
  passkeys: {
    list: [
      { id: "p1", name: "Phone <1>", createdAtMs: 1_763_000_000_000, lastUsedMs: 1_763_000_000_001, isBackedUp: true },
      { id: "p2", name: "Key", createdAtMs: 1_763_000_000_000, lastUsedMs: undefined, isBackedUp: false },
    ],
    mayAdd: true,
  },
  notice: "removed",
  fault: undefined,
};
const code: SecondFactorView = {
  ...context,
  status: 200,
  action: "/base/oauth2/v1/second-factor",
  hidden: { request: "a=b&c=d", csrf: "token" },
  user: "ada@shop.example",
  clientName: "Web shop",
  asksCode: true,
  fault: undefined,
  formTargets: ["https://shop.example/callback?x=1"],
};
const setUp: SetUpView = {
  ...code,
  fault: undefined,
  account: undefined,
  asksPassword: false,
  secret: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
  uri: "otpauth://totp/accounts.example:ada?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ",
};
const asked: PasskeyRequestView = { challenge: "AQID", rpId: "accounts.example", allow: [] };
const newPasskey: NewPasskeyView = {
  ...context,
  status: 200,
  action: "/base/account/passkeys/add",
  hidden: { csrf: "token", user_handle: "sealed" },
  challenge: "AQID",
  rpId: "accounts.example",
  user: { email: "ada@shop.example", name: 'Ada "the" first' },
  userHandle: "BAUG",
  algs: [-7],
  known: ["p1"],
  name: "Firefox, Windows",
  account: "/base/account",
  fault: undefined,
  formTargets: [],
};
const error: ErrorView = { ...context, status: 400, kind: "request", detail: "client_id is missing." };

/** Every kind of page, made from a view whose texts a test may replace. */
const kinds = {
  "sign-in": { view: { ...signIn, fault: undefined }, show: pages.signIn },
  "sign-in after a wrong password": { view: { ...signIn, status: 400, fault: "wrong" }, show: pages.signIn },
  "sign-in while blocked, popup": {
    view: { ...signIn, status: 400, fault: "blocked", layout: "popup" },
    show: pages.signIn,
  },
  "link to be confirmed": { view: confirmation, show: pages.confirmLink },
  "link to be confirmed, after a wrong password": {
    view: { ...confirmation, status: 400, fault: "wrong" },
    show: pages.confirmLink,
  },
  "link to be confirmed while blocked": {
    view: { ...confirmation, status: 400, fault: "blocked" },
    show: pages.confirmLink,
  },
  "tenant chooser": { view: chooser, show: pages.chooseTenant },
  "sign-in after a sign-out": { view: { ...signIn, fault: undefined, notice: "signedOut" }, show: pages.signIn },
  consent: { view: consent, show: pages.consent },
  "consent of a form that was stale, for nothing but who one is": {
    view: { ...consent, status: 400, fault: "stale", scopes: [], showsName: false, lasts: false },
    show: pages.consent,
  },
  "consent for a client that nobody registered": {
    view: { ...consent, isMember: true, source: { host: "app.example", goesTo: "app.example" } },
    show: pages.consent,
  },
  account: { view: account, show: pages.account },
  "account with nothing": {
    view: { ...account, applications: [], hasMore: false, hasPassword: false, provider: undefined, notice: undefined },
    show: pages.account,
  },
  "account after a wrong password": {
    view: { ...account, status: 400, notice: undefined, fault: "wrong" },
    show: pages.account,
  },
  "account of a form that was stale": {
    view: { ...account, status: 400, notice: undefined, fault: "stale" },
    show: pages.account,
  },
  "account after a wrong code": {
    view: { ...account, status: 400, notice: undefined, fault: "wrongCode" },
    show: pages.account,
  },
  "account without a second factor": { view: { ...account, secondFactor: undefined }, show: pages.account },
  "second factor": { view: code, show: pages.secondFactor },
  "second factor after a wrong code": { view: { ...code, status: 400, fault: "wrong" }, show: pages.secondFactor },
  "sign-in with passkeys": { view: { ...signIn, fault: undefined, passkey: asked }, show: pages.signIn },
  "second factor, or a passkey": {
    view: { ...code, passkey: { ...asked, allow: [{ id: "p1", transports: ["usb"] }] } },
    show: pages.secondFactor,
  },
  "passkey alone, after a wrong one": {
    view: { ...code, status: 400, asksCode: false, passkey: asked, fault: "passkey" },
    show: pages.secondFactor,
  },
  "passkey that cannot be used here": { view: { ...code, asksCode: false }, show: pages.secondFactor },
  "new passkey": { view: newPasskey, show: pages.newPasskey },
  "new passkey after a refusal": {
    view: { ...newPasskey, status: 400, fault: "passkey" },
    show: pages.newPasskey,
  },
  "account after the last passkey stayed": {
    view: { ...account, status: 400, notice: undefined, fault: "lastPasskey" },
    show: pages.account,
  },
  "account without passkeys": { view: { ...account, passkeys: undefined }, show: pages.account },
  "second factor to be set up": { view: setUp, show: pages.setUpSecondFactor },
  "second factor to be set up, after a wrong password": {
    view: { ...setUp, status: 400, account: "/base/account", asksPassword: true, fault: "password" },
    show: pages.setUpSecondFactor,
  },
  "recovery codes": {
    view: { ...code, codes: ["aaaa-bbbb-cccc-dddd", "eeee-ffff-gggg-hhhh"] },
    show: pages.recoveryCodes,
  },
  error: { view: error, show: pages.error },
  "error at the account": {
    view: { ...error, kind: "account", account: "https://accounts.example:8443/base/account" },
    show: pages.error,
  },
  "signed out": { view: context, show: pages.signedOut },
} as unknown as Record<string, { view: Record<string, unknown>; show: (view: unknown) => Response }>;
const everyKind = Object.entries(kinds).map(([name, { view, show }]) => ({ name, view, show }));

const named = (tags: readonly Tag[], name: string) => tags.filter((tag) => tag.name === name);
const byId = (tags: readonly Tag[], id: string | undefined) => tags.filter((tag) => attribute(tag, "id") === id);
const policyOf = (response: Response): Map<string, string> =>
  new Map(
    (response.headers.get("content-security-policy") ?? "").split("; ").map((directive) => {
      const [name = "", ...sources] = directive.split(" ");
      return [name, sources.join(" ")];
    }),
  );

const mayHaveForm = (response: Response): boolean => policyOf(response).get("form-action") !== "'none'";

describe("every page", () => {
  it.each(everyKind)("$name: has a structure for screen readers", async ({ view, show }) => {
    const { tags, text } = await parseHtml(show(view));
    for (const name of ["h1", "main", "header", "title"]) expect(named(tags, name), name).toHaveLength(1);
    expect(named(tags, "html").map((tag) => attribute(tag, "lang"))).toEqual(["en"]);
    expect(named(tags, "meta").some((tag) => attribute(tag, "name") === "viewport")).toBe(true);
    const ids = tags.map((tag) => attribute(tag, "id")).filter((id) => id !== undefined);
    expect(new Set(ids).size).toBe(ids.length);
    for (const tag of tags)
      for (const reference of ["for", "aria-describedby", "aria-labelledby"]) {
        const id = attribute(tag, reference);
        if (id !== undefined) expect(byId(tags, id), `${reference}=${id}`).toHaveLength(1);
      }
    const unseen = (tag: Tag) => attribute(tag, "type") === "hidden" || tag.attributes.has("hidden");
    for (const input of named(tags, "input").filter((tag) => !unseen(tag)))
      expect(named(tags, "label").some((label) => attribute(label, "for") === attribute(input, "id"))).toBe(true);
    expect(tags.filter((tag) => tag.attributes.has("autofocus")).length).toBeLessThanOrEqual(1);
    expect(text).toContain("accounts.example:8443");
  });

  // shows: platform/other-origins-caches-headers/headers-of-pages
  it.each(everyKind)(
    "$name: loads only the stylesheet and the icon, and the script if it has a form",
    async ({ view, show }) => {
      const response = show(view);
      const { tags } = await parseHtml(response);
      const hasScript = mayHaveForm(response);
      expect(named(tags, "script").map(({ attributes }) => [...attributes.keys()])).toEqual(
        hasScript ? [["src", "defer"]] : [],
      );
      const loading = tags
        .filter(({ name }) => name !== "a")
        .flatMap(({ attributes }) => [...attributes].filter(([name]) => /^(src|href|srcset)$/.test(name)));
      expect(loading).toEqual([
        ["href", "/base/docs/assets/icon.svg"],
        ["href", expect.stringMatching(/^\/base\/docs\/assets\/pages-[0-9a-f]{16}\.css$/)],
        ...(hasScript ? [["src", expect.stringMatching(/^\/base\/docs\/assets\/pages-[0-9a-f]{16}\.js$/)]] : []),
      ]);
      // The policy names the file and not its origin, which has scripts of others too.
      const script = loading.find(([name]) => name === "src")?.[1];
      expect(policyOf(response).get("script-src")).toBe(script && `https://accounts.example:8443${script}`);
      const names = new Set(tags.map(({ name }) => name));
      for (const name of ["style", "iframe", "img", "object", "base"]) expect(names).not.toContain(name);
      for (const { attributes } of tags) for (const name of attributes.keys()) expect(name).not.toMatch(/^on|^style$/);
    },
  );

  // shows: platform/other-origins-caches-headers/headers-of-pages
  it.each(everyKind)("$name: forbids framing, caching, sniffing and referrers", ({ view, show }) => {
    const response = show(view);
    const { headers } = response;
    expect(headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(headers.get("cache-control")).toBe("no-store, no-transform");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("permissions-policy")).toContain("camera=()");
    expect(headers.get("x-frame-options")).toBe("DENY");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    // A popup of a client must still know its opener when it returns.
    expect(headers.get("cross-origin-opener-policy")).toBe("unsafe-none");
    const policy = policyOf(response);
    expect([...policy.keys()]).toEqual([
      "default-src",
      "style-src",
      "img-src",
      "form-action",
      ...(mayHaveForm(response) ? ["script-src"] : []),
      "frame-ancestors",
      "base-uri",
    ]);
    expect(policy.get("default-src")).toBe("'none'");
    expect(policy.get("style-src")).toBe("'self'");
    expect(policy.get("img-src")).toBe("'self'");
    expect(policy.get("frame-ancestors")).toBe("'none'");
    expect(policy.get("base-uri")).toBe("'none'");
    const targets = view["formTargets"] as readonly string[] | undefined;
    const own = show === pages.account ? "'self'" : "'none'";
    expect(policy.get("form-action")).toBe(targets === undefined ? own : formAction(targets));
  });

  it.each(Object.keys(LANGUAGES) as Language[])("speaks %s, and says so", async (language) => {
    const texts = LANGUAGES[language];
    const show = async (response: Response) => {
      expect(response.headers.get("content-language")).toBe(language);
      const { tags, text } = await parseHtml(response);
      expect(named(tags, "html").map((tag) => attribute(tag, "lang"))).toEqual([language]);
      return text.replaceAll(/\s+/g, " ");
    };
    const inLanguage = { uiLocales: language, acceptLanguage: null };
    const form = await show(pages.signIn({ ...signIn, ...inLanguage, fault: "wrong" }));
    expect(form).toContain(`<title>${texts.signIn.failed}: ${texts.signIn.title}</title>`);
    for (const said of [texts.signIn.email, texts.signIn.password, texts.signIn.submit, texts.signIn.faults.wrong])
      expect(form).toContain(said);
    const link = await show(pages.confirmLink({ ...confirmation, ...inLanguage, fault: "wrong" }));
    for (const said of [texts.confirmLink.submit, texts.confirmLink.wrong, texts.confirmLink.otherwise])
      expect(link).toContain(said);
    expect(await show(pages.chooseTenant({ ...chooser, ...inLanguage }))).toContain(texts.chooseTenant.title);
    for (const kind of ["request", "over", "account", "busy", "unavailable", "internal"] as const)
      expect(await show(pages.error({ ...error, ...inLanguage, kind }))).toContain(texts.errors[kind].text);
    const bye = await show(pages.signedOut({ ...context, ...inLanguage }));
    expect(bye).toContain(texts.signedOut.title);
    expect(bye).toContain(`<a href="${context.publicBase}/account">${texts.account.title}</a>`);
    const stranger = await show(pages.consent({ ...consent, ...inLanguage, status: 400, fault: "stale" }));
    const inLine = (said: string) => said.replaceAll(/\s+/g, " ");
    expect(stranger).toContain(inLine(`<title>${texts.signIn.failed}: ${texts.consent.title}</title>`));
    for (const said of [texts.consent.asked, texts.consent.lasts, texts.consent.allow, texts.consent.stale])
      expect(stranger).toContain(inLine(said));
    const own = await show(pages.account({ ...account, ...inLanguage, status: 400, notice: undefined, fault: "same" }));
    expect(own).toContain(`<title>${texts.signIn.failed}: ${texts.account.title}</title>`);
    for (const said of [texts.account.removeAccess, texts.account.endAllLead, texts.account.faults.same])
      expect(own).toContain(said);
    // No placeholder is left.
    for (const page of [form, bye, stranger, own]) expect(page).not.toMatch(/[{}]/);
  });
});

describe("every language", () => {
  /** `account.since: {time}` */
  const marks = (texts: object, path = ""): string[] =>
    Object.entries(texts).flatMap(([name, text]: [string, unknown]) =>
      typeof text === "string"
        ? [`${path}${name}: ${(text.match(/\{\w+\}/g) ?? []).toSorted().join(" ")}`]
        : marks(text as object, `${path}${name}.`),
    );

  it.each(Object.keys(LANGUAGES) as Language[])("%s has the same placeholders, and all texts", (language) => {
    expect(marks(LANGUAGES[language])).toEqual(marks(LANGUAGES.en));
    expect(JSON.stringify(LANGUAGES[language])).not.toContain('""');
  });
});

describe("text from outside in a page", () => {
  const payloads = [
    `"><script>alert(1)</script>`,
    `' autofocus onfocus='alert(1)`,
    `" onfocus="alert(1)" x="`,
    `</title></textarea></style><img src=x onerror=alert(1)>`,
    `<!--`,
    `]]>&lt;b&gt;`,
    `{client}{tenant}{user}{id}`,
    "\u0000\u202e\ud800\r\n\u2028",
    "__proto__",
    "javascript:alert(1)",
  ];
  const FIXED = new Set(["publicBase", "layout", "fault", "notice", "kind", "uiLocales", "acceptLanguage"]);

  /** Copies of the value with one text replaced: every leaf in turn, names of hidden fields too. */
  function variants(value: unknown, payload: string): readonly unknown[] {
    if (typeof value === "string") return [payload];
    if (typeof value !== "object" || value === null) return [];
    return Object.entries(value).flatMap(([key, inner]) => {
      if (FIXED.has(key)) return [];
      const changed = variants(inner, payload).map((other) => withEntry(value, key, other));
      return key === "hidden"
        ? [
            ...changed,
            withEntry(
              value,
              key,
              Object.fromEntries([
                [payload, "v"],
                ["n", "v"],
              ]),
            ),
          ]
        : changed;
    });
  }
  const withEntry = (value: object, key: string, inner: unknown): unknown =>
    Array.isArray(value)
      ? value.map((old: unknown, index) => (String(index) === key ? inner : old))
      : { ...value, [key]: inner };

  const skeleton = (tags: readonly Tag[]) =>
    tags.map(({ name, attributes }) => `${name} ${[...attributes.keys()].join(" ")}`);

  it.each(everyKind)("$name: changes no tag and no attribute", async ({ view, show }) => {
    const plain = skeleton((await parseHtml(show(view))).tags);
    let seen = 0;
    for (const [turn, payload] of payloads.entries())
      for (const [index, variant] of variants(view, payload).entries()) {
        // `npm test` puts one payload at each place, a search all.
        if (!isSearch && index % payloads.length !== turn) continue;
        const { tags, text } = await parseHtml(show(variant));
        expect(skeleton(tags), JSON.stringify(variant)).toEqual(plain);
        expect(text.replace(/<script src="\/base\/docs\/assets\/pages-[0-9a-f]{16}\.js" defer>/, "")).not.toContain(
          "<script",
        );
        seen++;
      }
    expect(seen).toBeGreaterThan(0);
  });

  it("changes nothing for any text", async () => {
    const view = { ...signIn, fault: "wrong" as const };
    const plain = skeleton((await parseHtml(pages.signIn(view))).tags);
    await fc.assert(
      fc.asyncProperty(anyText({ minLength: 1 }), async (text) => {
        const page = pages.signIn({
          ...view,
          clientName: text,
          tenant: text,
          email: text,
          hidden: { request: text, csrf: text },
        });
        expect(skeleton((await parseHtml(page)).tags)).toEqual(plain);
      }),
      { numRuns: runs(70) },
    );
  });

  it("is shown as it was written, isolated from the words around it", async () => {
    const { text } = await parseHtml(pages.signIn({ ...signIn, clientName: `<b>"R&D"</b>`, tenant: "{client}" }));
    expect(text).toContain(
      "to continue to <strong><bdi>&lt;b&gt;&quot;R&amp;D&quot;&lt;/b&gt;</bdi></strong> in <strong><bdi>{client}</bdi></strong>",
    );
  });
});

describe("form-action", () => {
  it.each([
    [[], "'self'"],
    [["https://shop.example/callback?x=1#f"], "'self' https:"],
    [["https://shop.example:8443/a", "https://user:secret@other.example/b"], "'self' https:"],
    [["http://127.0.0.1:51004/callback", "http://[::1]/callback"], "'self' http:"],
    [["https://a.example/", "com.example.app:/callback"], "'self' https: com.example.app:"],
    [["COM.Example.App://callback"], "'self' com.example.app:"],
    // Injections.
    [["https://a.example; script-src *"], "'self'"],
    [["https://a;script-src.example/"], "'self' https:"],
    [["https://a.example/\r\nset-cookie: a=b"], "'self' https:"],
    [["com.example.app:; script-src *"], "'self' com.example.app:"],
    [["'unsafe-inline'", "*", "", ";", "'none'", "\ud800"], "'self'"],
    [["javascript:alert(1)", "data:text/html,x", "blob:https://a.example/x", "filesystem:x", "app:/x"], "'self'"],
  ])("%j → %s", (targets, expected) => {
    expect(formAction(targets)).toBe(expected);
    expect(policyOf(pages.signIn({ ...signIn, formTargets: targets })).get("form-action")).toBe(expected);
  });

  it("is one directive of schemes for any targets", () => {
    const address = fc.oneof(
      anyText(),
      webAddress(),
      anyText().map((text) => `https://${text}`),
      fc.string({ unit: "grapheme-ascii" }).map((text) => `https://a${text}b.example/`),
      fc.string({ unit: "grapheme-ascii" }).map((text) => `com.example${text}:/x`),
    );
    fc.assert(
      fc.property(fc.array(address, { maxLength: 4 }), (targets) => {
        expect(formAction(targets)).toMatch(/^'self'( [a-z][a-z0-9+.-]*:)*$/);
      }),
      { numRuns: runs(700) },
    );
  });
});

describe("the account page", () => {
  // shows: asvs/v6-authentication/6.2.6
  // shows: asvs/v6-authentication/6.2.7
  it("names the account to password managers, and sends only the needed fields", async () => {
    const { tags } = await parseHtml(pages.account({ ...account, applications: [], passkeys: undefined }));
    const fields = named(tags, "input").map((tag) =>
      ["type", "name", "value", "autocomplete"].map((name) => attribute(tag, name)),
    );
    const hidden = [
      ["hidden", "csrf", "token", undefined],
      ["hidden", "more", "of it", undefined],
    ];
    expect(fields).toEqual([
      ...hidden,
      ...hidden,
      ...hidden,
      ["text", undefined, "ada@shop.example", "username"],
      ["password", "password", undefined, "current-password"],
      ["password", "new_password", undefined, "new-password"],
      ["password", "repeated_password", undefined, "new-password"],
      ...hidden,
      ["hidden", "provider", "corporate", undefined],
      ...hidden,
      ["hidden", "provider", "other", undefined],
      ...hidden,
      ["text", "code", undefined, "one-time-code"],
      ["text", "recovery_code", undefined, "off"],
      ...hidden,
    ]);
  });
});

describe("the sign-in page", () => {
  const tagsOf = async (view: Partial<SignInView>) => (await parseHtml(pages.signIn({ ...signIn, ...view }))).tags;
  const focused = (tags: readonly Tag[]) =>
    tags.filter((tag) => tag.attributes.has("autofocus")).map((tag) => attribute(tag, "id"));

  // shows: asvs/v6-authentication/6.2.6
  // shows: asvs/v6-authentication/6.2.7
  it("is a form for password managers, with hidden fields", async () => {
    const tags = await tagsOf({});
    const [form] = named(tags, "form");
    expect(attribute(form, "method")).toBe("post");
    expect(attribute(form, "action")).toBe(signIn.action);
    const fields = named(tags, "input").map((tag) =>
      ["type", "name", "value", "autocomplete"].map((name) => attribute(tag, name)),
    );
    expect(fields).toEqual([
      ["hidden", "request", "a=b&amp;c=d", undefined],
      ["hidden", "csrf", "token", undefined],
      ["text", "email", "ada@shop.example", "username"],
      ["password", "password", undefined, "current-password"],
    ]);
  });

  it.each([
    [undefined, "", "email"],
    [undefined, "ada@shop.example", "password"],
    ["wrong", "", "email"],
    ["wrong", "ada@shop.example", "password"],
    ["blocked", "ada@shop.example", "fault"],
    ["stale", "", "fault"],
  ] as const)("after %s with the address %j the focus is on %s", async (fault, email, expected) => {
    expect(focused(await tagsOf({ fault, email }))).toEqual([expected]);
  });

  it("ties a wrong password to both fields, and no other fault to a field", async () => {
    for (const fault of ["wrong", "blocked", "stale", undefined] as const) {
      const tags = await tagsOf({ fault });
      const marked = tags.filter((tag) => tag.attributes.has("aria-invalid")).map((tag) => attribute(tag, "id"));
      expect(marked).toEqual(fault === "wrong" ? ["email", "password"] : []);
      const alerts = tags.filter((tag) => attribute(tag, "role") === "alert");
      expect(alerts.map((tag) => attribute(tag, "id"))).toEqual(fault === undefined ? [] : ["fault"]);
    }
  });

  it("has the status and the layout of its view", async () => {
    expect(pages.signIn(signIn).status).toBe(200);
    expect(pages.signIn({ ...signIn, status: 400, fault: "stale" }).status).toBe(400);
    expect(named(await tagsOf({ layout: "popup" }), "body").map((tag) => attribute(tag, "class"))).toEqual(["popup"]);
  });

  it("names client and tenant if they are known", async () => {
    const says = async (view: Partial<SignInView>) =>
      (await pages.signIn({ ...signIn, ...view }).text()).replaceAll(/<[^>]*>/g, "").replaceAll(/\s+/g, " ");
    expect(await says({})).toContain("to continue to Web shop in acme");
    expect(await says({ tenant: "" })).toContain("to continue to Web shop E-mail address");
    expect(await says({ clientName: "" })).not.toContain("to continue");
  });
});

describe("the tenant chooser", () => {
  it("has a button for each tenant that sends its scope", async () => {
    const unnamed = { id: "globex", name: "globex", value: "plat.tenant=globex" };
    const tenants = [...chooser.tenants.slice(0, 1), unnamed];
    const { tags, text } = await parseHtml(pages.chooseTenant({ ...chooser, tenants }));
    expect(named(tags, "button").map((tag) => [attribute(tag, "name"), attribute(tag, "value")])).toEqual([
      ["scope", "plat.tenant=acme"],
      ["scope", "plat.tenant=globex"],
    ]);
    expect(text).toContain("<bdi>ada@shop.example</bdi>");
    expect(text).toContain("<small>acme</small>");
    expect(text).not.toContain("<small>globex</small>");
    expect(named(tags, "input").map((tag) => attribute(tag, "name"))).toEqual(["client_id", "state"]);
  });
});

describe("the error page", () => {
  it("has the detail for developers in English, and the request id for support", async () => {
    const { tags, text } = await parseHtml(pages.error({ ...error, uiLocales: "de" }));
    expect(text).toContain('<p lang="en">client_id is missing.</p>');
    expect(text).toContain("<code>0123456789abcdef</code>");
    expect(named(tags, "footer")).toHaveLength(1);
    expect(pages.error({ ...error, status: 503, kind: "unavailable" }).status).toBe(503);
  });

  it("leads the developers to what errors mean, by the request's id", async () => {
    const links = async (view: ErrorView) =>
      (await parseHtml(pages.error(view))).tags.flatMap(({ name, attributes }) =>
        name === "a" ? [attributes.get("href")] : [],
      );
    expect(await links(error)).toEqual([`${context.publicBase}/docs/errors?request=${context.requestId}`]);
    expect(await links({ ...error, detail: "" })).toEqual([]);
  });

  it("has no empty part without a detail", async () => {
    const { tags } = await parseHtml(pages.error({ ...error, kind: "internal", status: 500, detail: "" }));
    expect(named(tags, "section")).toEqual([]);
  });
});
