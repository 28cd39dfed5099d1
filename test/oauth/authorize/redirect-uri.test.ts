import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isRegisteredRedirectUri, withParameters } from "../../../src/oauth/model/redirect.ts";
import { runs } from "../../support/model-runs.ts";
import { writtenText } from "../../support/any-text.ts";

/** Allowed redirect URIs: RFC 9700 4.1.3, RFC 8252 7.3. */
const KNOWN = "https://app.example/callback?a=1&b=2";

describe("An unregistered redirect URI", () => {
  // shows: oauth/authorize/redirect-uri
  it.each([
    ["another scheme", "http://app.example/callback?a=1&b=2"],
    ["another host", "https://app.example.evil.example/callback?a=1&b=2"],
    ["a host in front", "https://evil.app.example/callback?a=1&b=2"],
    ["user-info", "https://app.example@evil.example/callback?a=1&b=2"],
    ["user-info of ours", "https://user:secret@app.example/callback?a=1&b=2"],
    ["a backslash for a slash", "https://evil.example\\@app.example/callback?a=1&b=2"],
    ["a port", "https://app.example:8443/callback?a=1&b=2"],
    ["the default port", "https://app.example:443/callback?a=1&b=2"],
    ["capitals in the host", "https://APP.example/callback?a=1&b=2"],
    ["capitals in the scheme", "HTTPS://app.example/callback?a=1&b=2"],
    ["capitals in the path", "https://app.example/Callback?a=1&b=2"],
    ["a slash at the end", "https://app.example/callback/?a=1&b=2"],
    ["a dot at the end of the host", "https://app.example./callback?a=1&b=2"],
    ["a path below", "https://app.example/callback/evil?a=1&b=2"],
    ["a path beside", "https://app.example/callback2?a=1&b=2"],
    ["a path traversal", "https://app.example/x/../callback?a=1&b=2"],
    ["an encoded path traversal", "https://app.example/callback/%2e%2e/callback?a=1&b=2"],
    ["an encoded letter", "https://app.example/%63allback?a=1&b=2"],
    ["a doubled slash", "https://app.example//callback?a=1&b=2"],
    ["no query", "https://app.example/callback"],
    ["another query", "https://app.example/callback?a=1&b=3"],
    ["more query", "https://app.example/callback?a=1&b=2&next=https://evil.example"],
    ["another order of the query", "https://app.example/callback?b=2&a=1"],
    ["another joint in the query", "https://app.example/callback?a=1;b=2"],
    ["a fragment", "https://app.example/callback?a=1&b=2#"],
    ["a fragment with content", "https://app.example/callback?a=1&b=2#@evil.example"],
    ["a Cyrillic letter", "https://\u0430pp.example/callback?a=1&b=2"],
    ["full-width letters", "https://\uff41pp.example/callback?a=1&b=2"],
    ["an ideographic full stop", "https://app\u3002example/callback?a=1&b=2"],
    ["an invisible character", "https://app.example/call\u200bback?a=1&b=2"],
    ["a combining form", "https://app.example/callbacḱ?a=1&b=2"],
    ["a space in front", " https://app.example/callback?a=1&b=2"],
    ["a line break behind", "https://app.example/callback?a=1&b=2\r\nLocation: https://evil.example"],
    ["a tab within", "https://app.example/call\tback?a=1&b=2"],
    ["NUL behind", "https://app.example/callback?a=1&b=2\0"],
    ["nothing", ""],
    ["a script", "javascript:alert(1)//https://app.example/callback?a=1&b=2"],
    ["no scheme", "//app.example/callback?a=1&b=2"],
  ])("with %s is refused", (_, asked) => {
    expect(isRegisteredRedirectUri(asked, [KNOWN, "https://other.example/"])).toBe(false);
  });

  it("is refused after any change, and accepted unchanged", () => {
    const change = fc.record({
      at: fc.nat({ max: KNOWN.length }),
      cut: fc.nat({ max: 3 }),
      put: fc.oneof(writtenText({ maxLength: 4 }), fc.constantFrom("/", "..", "%2f", "?", "#", "@", ":80")),
    });
    fc.assert(
      fc.property(change, ({ at, cut, put }) => {
        const asked = KNOWN.slice(0, at) + put + KNOWN.slice(at + cut);
        expect(isRegisteredRedirectUri(asked, [KNOWN])).toBe(asked === KNOWN);
      }),
      { numRuns: runs(700) },
    );
  });
});

const loopback = fc.constantFrom("127.0.0.1", "[::1]", "localhost");
const path = fc.constantFrom("", "/", "/callback", "/callback?a=1", "?a=1");
const port = fc.option(fc.integer({ min: 1, max: 65_535 }), { nil: undefined });
const at = (host: string, on: number | undefined, rest: string, scheme = "http"): string =>
  `${scheme}://${host}${on === undefined ? "" : `:${on}`}${rest}`;

describe("A redirect URI with plain http on a loopback host", () => {
  // shows: oauth/authorize/redirect-uri
  it("is accepted on any port, and only the port may differ", () => {
    fc.assert(
      fc.property(loopback, loopback, port, port, path, path, (host, askedHost, known, asked, rest, askedRest) => {
        const registered = [at(host, known, rest)];
        expect(isRegisteredRedirectUri(at(askedHost, asked, askedRest), registered)).toBe(
          host === askedHost && rest === askedRest,
        );
        expect(isRegisteredRedirectUri(at(host, asked, rest, "https"), registered)).toBe(false);
      }),
    );
  });

  it.each([
    "http://127.0.0.1:0/callback",
    "http://127.0.0.1:65536/callback",
    "http://127.0.0.1:080/callback",
    "http://127.0.0.1:/callback",
    "http://127.0.0.1:+80/callback",
    "http://127.0.0.1:80:80/callback",
    "http://127.0.0.1:80@evil.example/callback",
    "http://127.0.0.1@evil.example/callback",
    "http://127.0.0.1.evil.example/callback",
    "http://127.0.0.1:80.evil.example/callback",
    "http://127.0.0.1:80\\@evil.example/callback",
    "http://127.0.0.2/callback",
    "http://127.1/callback",
    "http://2130706433/callback",
    "http://0x7f.0.0.1/callback",
    "http://localhost/callback",
    "http://LOCALHOST/callback",
    "http://[::1]/callback",
    "http://[::ffff:127.0.0.1]/callback",
    "http://127.0.0.1/callback#x",
    "http://127.0.0.1/callback/../x",
    "http://127.0.0.1:80/callback\n",
  ])("%j does not match http://127.0.0.1/callback", (asked) => {
    expect(isRegisteredRedirectUri(asked, ["http://127.0.0.1/callback"])).toBe(false);
  });

  it("does not free the port of another host, nor of https", () => {
    expect(isRegisteredRedirectUri("http://app.example:81/x", ["http://app.example:80/x"])).toBe(false);
    expect(isRegisteredRedirectUri("https://localhost:81/x", ["https://localhost:80/x"])).toBe(false);
    expect(isRegisteredRedirectUri("com.example.app:81/x", ["com.example.app:80/x"])).toBe(false);
  });
});

describe("An address with parameters", () => {
  const uris = fc.constantFrom(
    "https://app.example",
    "https://app.example/cb",
    "https://app.example/cb?x=1",
    "https://app.example/cb?",
    "com.example.app:/cb",
    "com.example.app:cb",
    "http://[::1]:8000/cb",
    "https://b\u00fccher.example/\u00e4?\u00f6=\u00fc",
  );
  const values = fc.dictionary(fc.constantFrom("code", "state", "iss"), writtenText(), {
    minKeys: 1,
  });

  it("reads back exactly, fits a header, and keeps its other parts", () => {
    fc.assert(
      fc.property(uris, values, values, (uri, query, fragment) => {
        const address = withParameters(uri, { query, fragment });
        expect(address).toMatch(/^[\x21-\x7e]*$/);
        const url = new URL(address);
        expect(url.href.startsWith(new URL(uri).href.replace(/\?$/, ""))).toBe(true);
        for (const [name, value] of Object.entries(query)) expect(url.searchParams.getAll(name)).toEqual([value]);
        const inFragment = new URLSearchParams(url.hash.slice(1));
        expect(Object.fromEntries(inFragment)).toEqual({ ...fragment });
        expect(inFragment.size).toBe(Object.keys(fragment).length);
        // Readers that do not know `+` as a space read the same.
        expect(url.hash).not.toContain("+");
      }),
      { numRuns: runs(200) },
    );
  });
});
