import { env } from "cloudflare:workers";
import * as fc from "fast-check";
import { beforeEach, describe, expect, it, vi } from "vitest";
import { createCommonPasswords, FILTER_PATH } from "../../src/platform/secrets/common-passwords.ts";
import { StoreUnavailable } from "../../src/platform/storage/database.ts";
import { normalizeEmail } from "../../src/platform/text/email.ts";
import { fromBase64Url, fromUtf8, toBase64Url, toHex, utf8 } from "../../src/platform/text/encoding.ts";
import { equalDigests } from "../../src/platform/secrets/hash.ts";
import {
  hashPassword,
  isOutdated,
  noPasswordHash,
  samePassword,
  verifyPassword,
} from "../../src/platform/secrets/password-hash.ts";
import { newPasswordFault } from "../../src/platform/secrets/password-rules.ts";
import { systemRandom } from "../../src/platform/runtime/random.ts";
import { REPEAT_AFTER_MS, retryOnce } from "../../src/platform/runtime/retry-once.ts";
import { scopeMatches, scopesOverlap } from "../../src/platform/model/scope-pattern.ts";
import { createSealer, parseSealKeys } from "../../src/platform/secrets/seal.ts";
import { redactSecrets } from "../../src/platform/text/text.ts";
import { realPasswordCost } from "../support/runtime/password-cost.ts";

const LIST_ADDRESS = `https://assets.invalid${FILTER_PATH}`;
const sealKey = (id: string, byte: number) => ({ id, bytes: new Uint8Array(32).fill(byte) });

describe("encoding", () => {
  it("round-trips bytes, and accepts only one spelling of them", () => {
    fc.assert(
      fc.property(fc.uint8Array(), (given) => {
        const bytes = new Uint8Array(given);
        const text = toBase64Url(bytes);
        expect(fromBase64Url(text)).toEqual(bytes);
        for (const other of [`${text}=`, `${text} `, `\n${text}`]) expect(fromBase64Url(other)).toBeUndefined();
      }),
    );
    expect(fromBase64Url("AB")).toBeUndefined();
    expect(fromBase64Url("AA")).toEqual(new Uint8Array(1));
    expect(toHex(new Uint8Array([0, 15, 255]))).toBe("000fff");
  });

  it("drops a leading byte order mark, as readers of JSON do, and refuses bytes that are not text", () => {
    expect(fromUtf8(utf8("\ufeffx"))).toBe("x");
    expect(fromUtf8(new Uint8Array([0xc3, 0x28]))).toBeUndefined();
  });
});

describe("sealing", () => {
  it("opens a sealed text only in its own context", async () => {
    const sealer = createSealer([sealKey("k1", 1)], systemRandom);
    const sealed = await sealer.seal("secret ✓", "row:1");
    expect(sealed).not.toContain("secret");
    expect(await sealer.open(sealed, "row:1")).toBe("secret ✓");
    expect(await sealer.open(sealed, "row:2")).toBeUndefined();
    expect(await sealer.open(`${sealed}A`, "row:1")).toBeUndefined();
    expect(await sealer.open("", "row:1")).toBeUndefined();
    expect(await sealer.seal("secret ✓", "row:1")).not.toBe(sealed);
  });

  it("opens texts of a replaced key as long as the key is configured", async () => {
    const sealed = await createSealer([sealKey("k1", 1)], systemRandom).seal("x", "c");
    expect(await createSealer([sealKey("k2", 2), sealKey("k1", 1)], systemRandom).open(sealed, "c")).toBe("x");
    expect(await createSealer([sealKey("k2", 2)], systemRandom).open(sealed, "c")).toBeUndefined();
    expect(await createSealer([sealKey("k1", 2)], systemRandom).open(sealed, "c")).toBeUndefined();
  });

  it("derives another key for each purpose", async () => {
    const sealer = createSealer([sealKey("k1", 1)], systemRandom);
    const sign = async (purpose: string) =>
      toHex(new Uint8Array(await crypto.subtle.sign("HMAC", (await sealer.macKeys(purpose))[0]!, utf8("x"))));
    expect(await sign("a")).toBe(await sign("a"));
    expect(await sign("a")).not.toBe(await sign("b"));
  });

  it.each([
    "",
    "k1",
    "k1:",
    "k1:AAAA",
    "K1:" + btoa("x".repeat(32)),
    `k1:${btoa("x".repeat(32))},k1:${btoa("y".repeat(32))}`,
  ])("refuses the configuration %s", (text) => expect(parseSealKeys(text).ok).toBe(false));
});

describe("passwords", () => {
  beforeEach(realPasswordCost);

  it("verify only if they are right, in any Unicode form", () => {
    const stored = hashPassword("pässword", systemRandom);
    expect(verifyPassword("pa\u0308ssword", stored)).toBe(true);
    expect(verifyPassword("password", stored)).toBe(false);
    for (const broken of ["", "scrypt$15$8$1$$", "plain", stored.replace("scrypt", "md5"), noPasswordHash()])
      expect(verifyPassword("pässword", broken)).toBe(false);
  });

  // shows: oauth/accounts/passwords
  it("verify if hashed at another cost, which is reported", () => {
    // RFC 7914 section 12, the second vector: salt "NaCl", N=1024, r=8, p=16, the first 32 bytes.
    const stored = "scrypt$10$8$16$TmFDbA$_bq-HJ00cgB4VucZDQHp_nxq18vII3gw53N2Y0s3MWI";
    expect(verifyPassword("password", stored)).toBe(true);
    expect(verifyPassword("Password", stored)).toBe(false);
    expect(isOutdated(stored)).toBe(true);
    expect(isOutdated(hashPassword("password", systemRandom))).toBe(false);
    expect(isOutdated(noPasswordHash())).toBe(false);
  });
});

describe("text that is too long", () => {
  /** Takes half a second to normalize: 64 KB of accents in the wrong order. */
  const ACCENTS = `a${"\u0301".repeat(16_000)}${"\u0323".repeat(16_000)}`;
  const atOnce = (ask: () => unknown): void => {
    const startMs = performance.now();
    ask();
    expect(performance.now() - startMs).toBeLessThan(200);
  };

  it("is refused as an address without parsing it", () => {
    expect(normalizeEmail(`${" ".repeat(300)}ada@b.cd`)).toBe("ada@b.cd");
    expect(normalizeEmail(`ada@b.cd${"\u0323".repeat(247)}`)).toBeUndefined();
    atOnce(() => expect(normalizeEmail(ACCENTS)).toBeUndefined());
    atOnce(() => expect(normalizeEmail(`${ACCENTS}@b.cd`)).toBeUndefined());
  });

  it("is refused as a password at the cost of a wrong one", () => {
    const stored = hashPassword("x".repeat(256), systemRandom);
    expect(verifyPassword("x".repeat(256), stored)).toBe(true);
    expect(verifyPassword("x".repeat(257), stored)).toBe(false);
    // The text that is hashed instead is not a password either.
    const empty = hashPassword("", systemRandom);
    expect(verifyPassword("", empty)).toBe(true);
    expect(verifyPassword("x".repeat(257), empty)).toBe(false);
    expect(() => hashPassword("x".repeat(257), systemRandom)).toThrow("measured");
    const compared = vi.spyOn(crypto.subtle, "timingSafeEqual");
    const cheap = "scrypt$1$8$1$TmFDbA$_bq-HJ00cgB4VucZDQHp_nxq18vII3gw53N2Y0s3MWI";
    atOnce(() => expect(verifyPassword(ACCENTS, cheap)).toBe(false));
    expect(compared).toHaveBeenCalledTimes(1);
    compared.mockRestore();
    atOnce(() => expect(samePassword(ACCENTS, ACCENTS)).toBe(false));
    expect(samePassword("caf\u00e9", "cafe\u0301")).toBe(true);
  });
});

describe("equalDigests", () => {
  it("agrees with ===", () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (a, b) => {
        expect(equalDigests(a, b)).toBe(a === b);
        expect(equalDigests(a, a)).toBe(true);
      }),
    );
  });
});

describe("retryOnce", () => {
  it("repeats a failed call once, after a random pause", async () => {
    for (const [byte, pauseMs] of [
      [0, REPEAT_AFTER_MS],
      [255, 2 * REPEAT_AFTER_MS],
    ] as const) {
      const pauses: number[] = [];
      const wait = async (ms: number) => void pauses.push(ms);
      const random = { bytes: (length: number) => new Uint8Array(length).fill(byte) };
      expect(await retryOnce(async () => "at once", wait, random)).toBe("at once");
      expect(pauses).toEqual([]);
      const repeats: boolean[] = [];
      const fail = (isRepeat: boolean) => (repeats.push(isRepeat), Promise.reject(new Error(`repeat: ${isRepeat}`)));
      await expect(retryOnce(fail, wait, random)).rejects.toThrow("repeat: true");
      expect([repeats, pauses]).toEqual([[false, true], [pauseMs]]);
    }
  });
});

describe("scope patterns", () => {
  const pattern = fc
    .tuple(fc.string({ unit: fc.constantFrom("a", "b"), maxLength: 3 }), fc.constantFrom("", "*"))
    .map((parts) => parts.join(""));
  /** Long enough to distinguish patterns of at most three letters. */
  const probes = ["", "a", "b"].flatMap((x) =>
    ["", "a", "b"].flatMap((y) => ["", "a", "b"].flatMap((z) => ["", "a"].map((end) => x + y + z + end))),
  );

  // shows: oauth/who-gets-which-scope/a-client-s-list
  it("overlap exactly if both match some scope", () => {
    fc.assert(
      fc.property(pattern, pattern, (one, other) => {
        const shared = probes.some((probe) => scopeMatches(one, probe) && scopeMatches(other, probe));
        expect(scopesOverlap(one, other)).toBe(shared);
      }),
    );
  });

  it.each([
    ["demo.shop*", "demo.shop.x", true],
    ["demo.shop*", "demo.shop.*", true],
    ["demo.shop*", "demo.shop*", true],
    ["demo.shop.*", "demo.shop*", true],
    ["demo.shop*", "demo.shopping.x", false],
    ["demo.shop*", "demo.shopping*", false],
    ["demo*", "demo.shopping.x", true],
    ["demo*", "demolition.shop.x", false],
    ["demo.*", "demo.shop*", true],
    ["demo.sho*", "demo.shop.x", false],
    ["demo.shop.or*", "demo.shop.orders", true],
    ["demo.shop.or*", "demo.shop.or*", true],
    ["*", "demo.shop*", true],
  ])("match a topic's owner as a whole: %s matches %s: %s", (listed, scope, isCovered) => {
    const [wide, narrow] = [`plat.pubsub.topic=${listed}`, `plat.pubsub.topic=${scope}`];
    expect(scopeMatches(wide, narrow)).toBe(isCovered);
    expect(scopeMatches("plat.pubsub.*", narrow)).toBe(true);
  });
});

describe("normalizeEmail", () => {
  // shows: oauth/accounts/one-account
  it.each([
    [" Ada@Example.ORG ", "ada@example.org"],
    ["ａda@example.org", "ada@example.org"],
    ["no-at.example", undefined],
    ["a@b", undefined],
    ["a b@c.de", undefined],
    ["a@b.c\u0000", undefined],
    [`${"a".repeat(65)}@b.cd`, undefined],
    [`a@${"b".repeat(250)}.cd`, undefined],
    ["\ud800@b.cd", undefined],
    // Looks like ada@b.cd, or has a change of direction.
    ["ada\u200b@b.cd", undefined],
    ["\u202eada@b.cd", undefined],
    ["ada@b.c\u00add", undefined],
  ])("case %#", (given, expected) => expect(normalizeEmail(given)).toBe(expected));
});

describe("redactSecrets", () => {
  const id = "0123456789abcdef0123456789abcdef";

  it("keeps only the beginning of tokens and generated secrets at any place", () => {
    const bytes = fc.uint8Array({ minLength: 32, maxLength: 32 }).map((given) => toBase64Url(new Uint8Array(given)));
    const token = fc
      .tuple(bytes, bytes)
      .map(([payload, signature]) => `eyJhbGciOiJFUzI1NiJ9.${payload}x.${signature}y`);
    const ofShard = fc
      .uint8Array({ minLength: 33, maxLength: 33 })
      .map((given) => `${toBase64Url(new Uint8Array(given))}~k1~c4250IXIV7XgbQT8~g84tZEu-YU_`);
    const before = fc.constantFrom("", "/", " ", ",", ":", "é", "\n", `/${id}/`, "client ");
    const behind = fc.constantFrom("", "/", " ", ",", ":", "é", "\n", `/${id}`, " is unknown");
    fc.assert(
      fc.property(fc.oneof(bytes, token, ofShard), before, behind, (secret, left, right) => {
        expect(redactSecrets(`${left}${secret}${right}`)).toBe(`${left}${secret.slice(0, 6)}…${right}`);
      }),
    );
  });

  it("changes no text without secrets: ids, addresses, names", () => {
    for (const text of [id, `grants/${id}`, "client acme.shop", "x".repeat(42), "x".repeat(44), "eyJ.x", "a.b.c", ""])
      expect(redactSecrets(text)).toBe(text);
  });
});

describe("a new password", () => {
  const about = { email: "ada.lovelace@analytical.example", platform: ["plat"] };
  const list = createCommonPasswords(env.ASSETS);
  const fault = (password: string) => newPasswordFault(password, about, list);

  // shows: asvs/v6-authentication/6.2.4
  // shows: asvs/v6-authentication/6.2.12
  it.each([
    "password",
    "PassWord",
    "12345678",
    "iloveyou",
    "trustno1",
    "ｐａｓｓｗｏｒｄ",
    "password1",
    // The last of 100,000 in the list.
    "jesuslovesme",
    "burgerking",
    "Handkerchief",
    "killkillkill",
  ])("is not a common one: %s", async (one) => expect(await fault(one)).toBe("common"));

  it.each(["aaaaaaaa", "abcabcabcab", "10101010", "hgfedcba", "asdfghjkl", "зззззззз".slice(1) + "з".repeat(3)])(
    "is not a simple row: %s",
    async (one) => expect(await fault(one)).toBe("common"),
  );

  // shows: asvs/v6-authentication/6.2.11
  it.each([
    about.email,
    about.email.toUpperCase(),
    "ada.lovelace",
    "Lovelace",
    "ada12345",
    "1-lovelace-1",
    "analytical",
    "plat!!!!",
  ])("is not part of the account: %s", async (one) => expect(await fault(one)).toBe("own"));

  // shows: asvs/v6-authentication/6.2.1
  it("has the right length", async () => {
    for (const one of ["short", "x".repeat(257), `a${"\u0301".repeat(60_000)}`])
      expect(await fault(one)).toBe("length");
  });

  // shows: asvs/v6-authentication/6.2.5
  it("may be any other: one of ten thousand is refused by mistake", async () => {
    for (const good of ["correct horse battery staple", "lovelace and babbage", "ada likes engines", "tr0ub4dor&3-x"])
      expect(await fault(good)).toBeUndefined();
    const random = Array.from({ length: 20_000 }, (_, at) => `${(at * 2_654_435_761) % 4_294_967_296}-of-${at}x`);
    let refused = 0;
    for (const one of random) if (await list.has(one)) refused++;
    expect(refused).toBeLessThan(10);
  });

  it("is refused while the list cannot be read, and accepted once it can", async () => {
    const answers = [new Response("", { status: 404 }), new Response("short"), env.ASSETS.fetch(LIST_ADDRESS)];
    const failing = createCommonPasswords({ fetch: async () => answers.shift() ?? new Response("", { status: 500 }) });
    for (const _ of ["missing", "cut"]) await expect(failing.has("password")).rejects.toThrow(StoreUnavailable);
    for (const _ of ["read", "kept"]) expect(await failing.has("password")).toBe(true);
  });
});
