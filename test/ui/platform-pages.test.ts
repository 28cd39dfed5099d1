import { createExecutionContext } from "cloudflare:test";
import { env } from "cloudflare:workers";
import { describe, expect, it } from "vitest";
import document from "../../api/openapi.json";
import { createApp } from "../../src/app.ts";
import { createDeps } from "../../src/deps.ts";
import { PROBLEM_TYPES } from "../../src/http/errors/errors.ts";
import { sha256Hex } from "../../src/platform/secrets/hash.ts";
import { iconHref } from "../../src/ui/parts/icon.ts";
import { PROTOCOL_ERRORS } from "../../src/ui/pages/protocol-errors.ts";
import { STYLESHEET, stylesheetHref } from "../../src/ui/parts/stylesheet.ts";
import { call } from "../support/platform/call.ts";

describe("/health", () => {
  // shows: platform/addresses/health
  it("says that the Worker answers", async () => {
    const response = await call("/health");
    expect(response.status).toBe(200);
    expect(await response.json()).toEqual({ status: "ok" });
    expect(response.headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
  });
});

const BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

describe("/", () => {
  it("shows a browser a page whose links all lead somewhere", async () => {
    const response = await call("/", { headers: { accept: BROWSER } });
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("vary")).toBe("Accept, Accept-Language");
    const links = Array.from((await response.text()).matchAll(/\bhref="([^"]*)"/g), ([, address]) => address!);
    expect(links.length).toBeGreaterThan(6);
    for (const link of links) {
      const { pathname } = new URL(link, "https://platform.example");
      // test/nightly/site.test.ts follows the links to pages of the documentation.
      if (/^\/docs\/(start|guides)\//.test(pathname)) continue;
      expect((await call(pathname)).status, link).toBeLessThan(400);
    }
  });

  it("speaks the browser's language", async () => {
    const response = await call("/", { headers: { accept: "text/html", "accept-language": "de-CH" } });
    expect(response.headers.get("content-language")).toBe("de");
    expect(await response.text()).toContain("Die Plattform läuft");
  });

  it.each(["*/*", "application/json", "application/json, text/html;q=0.5", "text/html;q=0", undefined])(
    "gives links as JSON to a caller that accepts %s",
    async (accept) => {
      const response = await call("/", accept === undefined ? {} : { headers: { accept } });
      expect(response.status).toBe(200);
      const { name, links } = await response.json<{ name: string; links: Record<string, string> }>();
      expect(name).toBe("Plinth");
      for (const link of Object.values(links))
        expect((await call(new URL(link).pathname)).status, link).toBeLessThan(400);
    },
  );
});

describe("the root of a host whose platform has a path prefix", () => {
  it.each([
    ["/", "/base/"],
    ["/base", "/base/"],
    ["/favicon.ico", "/base/docs/assets/icon.svg"],
  ])("leads from %s to %s", async (path, to) => {
    const app = createApp(createDeps({ ...env, PATH_PREFIX: "/base" }));
    const fetch = (address: string) => app.fetch(new Request(address), env, createExecutionContext());
    const { status, headers } = await fetch(`https://plinth.test${path}`);
    expect([status, headers.get("location")]).toEqual([302, `https://plinth.test${to}`]);
    expect((await fetch(headers.get("location")!)).status).toBe(200);
  });
});

describe("an address that nothing answers", () => {
  it("shows a browser a page with the way back", async () => {
    const response = await call("/nowhere/at/all", { headers: { accept: BROWSER } });
    expect(response.status).toBe(404);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    expect(response.headers.get("plat-request-id")).toMatch(/^[0-9a-f]{32}$/);
    expect(await response.text()).toMatch(/There is nothing here[^]*href="[^"]*\/"/);
  });

  it.each([
    ["a client", "/nowhere", { headers: { accept: "*/*" } }],
    ["a form", "/nowhere", { method: "POST", body: "a=b", headers: { accept: BROWSER } }],
    ["a caller of a service", "/media/v2/acme/nothing/here/at/all", { headers: { accept: "application/json" } }],
  ])("answers %s with the error object", async (_, path, init) => {
    const response = await call(path, init);
    expect(response.status).toBe(404);
    expect(await response.json()).toMatchObject({ status: 404, type: "element_resource_non_existing" });
  });
});

describe("the icon", () => {
  it("is where a browser looks for it", async () => {
    const redirect = await call("/favicon.ico");
    expect(redirect.status).toBe(302);
    const icon = await call(new URL(redirect.headers.get("location")!).pathname);
    expect(icon.headers.get("content-type")).toBe("image/svg+xml");
    expect(await icon.text()).toMatch(/^<svg /);
  });
});

describe("/docs/errors", () => {
  // shows: events/error-object/moreinfo
  // shows: platform/addresses/docs-errors
  it("explains every type at the anchor of moreInfo, and loads only the icon and the stylesheet", async () => {
    const response = await call("/docs/errors");
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/html; charset=utf-8");
    const page = await response.text();
    for (const type of Object.keys(PROBLEM_TYPES)) expect(page).toContain(`id="${type}"`);
    for (const error of Object.keys(PROTOCOL_ERRORS)) expect(page).toContain(`id="${error}"`);
    const ids = Array.from(page.matchAll(/\bid="([^"]*)"/g), ([, id]) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(page).not.toMatch(/\bsrc=|`/);
    const loaded = Array.from(page.matchAll(/\bhref="([^"]*)"/g), ([, address]) => address!);
    expect(loaded).toEqual([iconHref(""), stylesheetHref("")]);
    for (const address of loaded) expect((await call(address)).status, address).toBe(200);
  });

  // shows: platform/addresses/docs-errors
  it("explains every detail type of the interface document", async () => {
    const page = await (await call("/docs/errors")).text();
    const types = document.components.schemas.Error.properties.details.items.properties.type.enum;
    expect(types).toContain("file_not_uploaded");
    for (const type of types)
      expect(page).toMatch(new RegExp(`id="details-${type}">\\s*<dt><code>${type}</code></dt>\\s*<dd>.{8,}</dd>`));
  });

  it("names the request of error_uri, and shows no other text from the address", async () => {
    const id = "0123456789abcdef0123456789abcdef";
    expect(await (await call(`/docs/errors?request=${id}`)).text()).toContain(`<code>${id}</code>`);
    const page = await (await call(`/docs/errors?request=${encodeURIComponent(`${id}<b>`)}`)).text();
    expect(page).not.toContain("0123456789");
  });

  it("begins with the advice for the error of error_uri, if it is one", async () => {
    const { error, error_uri: address } = (await (await call("/oauth2/v1/tokeninfo")).json()) as Record<string, string>;
    const { pathname, search } = new URL(address!);
    const page = await (await call(pathname + search)).text();
    const advice = "needs one valid <code>access_token</code>.";
    expect(page.split("<dl>")[0]).toMatch(new RegExp(`<code>${error}</code>.*${advice}`, "s"));
    for (const other of ["toString", "<b>", "a_word_of_the_address"]) {
      const without = await (await call(`/docs/errors?error=${encodeURIComponent(other)}`)).text();
      expect(without).toBe(await (await call("/docs/errors")).text());
    }
  });

  it("is closed to other origins and frames, and not cached", async () => {
    const { headers } = await call("/docs/errors");
    expect(headers.get("access-control-allow-origin")).toBeNull();
    expect(headers.get("content-security-policy")).toContain("frame-ancestors 'none'");
    expect(headers.get("x-content-type-options")).toBe("nosniff");
    expect(headers.get("referrer-policy")).toBe("no-referrer");
    expect(headers.get("cache-control")).toBe("no-store, no-transform");
  });
});

describe("the stylesheet", () => {
  it("may be cached for ever, under a name made from its content", async () => {
    const response = await call(stylesheetHref(""));
    expect(response.status).toBe(200);
    expect(response.headers.get("content-type")).toBe("text/css; charset=utf-8");
    expect(response.headers.get("cache-control")).toBe("public, max-age=31536000, immutable");
    expect(response.headers.get("x-content-type-options")).toBe("nosniff");
    const text = await response.text();
    expect(stylesheetHref("")).toBe(`/docs/assets/pages-${(await sha256Hex(text)).slice(0, 16)}.css`);
    expect((await call(stylesheetHref(""), { method: "HEAD" })).headers.get("content-type")).toMatch(/^text\/css/);
  });

  it.each(["pages-0000000000000000.css", "pages.css", "x", "__proto__", "%00", "%2e%2e%2ferrors"])(
    "is not found as %s, and the 404 is not cached",
    async (name) => {
      const response = await call(`/docs/assets/${name}`);
      expect(response.status).toBe(404);
      expect(response.headers.get("cache-control")).toBe("no-store");
    },
  );

  it("lies below the path prefix", async () => {
    const app = createApp(createDeps({ ...env, PATH_PREFIX: "/base" }));
    const fetch = (path: string) => app.fetch(new Request(`https://plinth.test${path}`), env, createExecutionContext());
    expect(await (await fetch("/base/docs/errors")).text()).toContain(`href="${stylesheetHref("/base")}"`);
    expect((await fetch(stylesheetHref("/base"))).status).toBe(200);
    expect((await fetch(stylesheetHref(""))).status).toBe(404);
  });

  it("loads nothing", () => {
    expect(STYLESHEET).not.toMatch(/url\(|@import|@font-face|\/\//);
  });

  describe.each(["light", "dark"] as const)("%s", (theme) => {
    const [light = "", dark = ""] = Array.from(
      STYLESHEET.matchAll(/:root \{([^}]*--page[^}]*)\}/g),
      ([, block]) => block,
    );
    const colours = new Map(
      Array.from((theme === "light" ? light : dark).matchAll(/(--[a-z-]+): (#[0-9a-f]{6});/g), ([, name, value]) => [
        name,
        value,
      ]),
    );

    it.each([
      ["--text", "--surface", 7],
      ["--text", "--page", 7],
      ["--text", "--alert-surface", 4.5],
      ["--muted", "--surface", 4.5],
      ["--muted", "--page", 4.5],
      ["--on-accent", "--accent", 4.5],
      ["--on-accent", "--accent-strong", 4.5],
      ["--alert", "--alert-surface", 4.5],
      ["--alert", "--surface", 3],
      ["--field-line", "--surface", 3],
      ["--accent", "--surface", 3],
      ["--accent", "--page", 3],
    ])("has enough contrast between %s and %s", (front, back, least) => {
      const [lower = 0, higher = 0] = [front, back]
        .map((name) => luminance(colours.get(name)))
        .toSorted((a, b) => a - b);
      expect((higher + 0.05) / (lower + 0.05)).toBeGreaterThanOrEqual(least);
    });
  });
});

/** WCAG 2.2, "relative luminance". Fails for a missing colour. */
function luminance(colour = "#"): number {
  const [r = NaN, g = NaN, b = NaN] = [1, 3, 5].map((at) => {
    const value = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
