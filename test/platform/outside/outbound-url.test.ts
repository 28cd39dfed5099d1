import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isGlobalIp, networkOf } from "../../../src/platform/outside/ip-range.ts";
import { parseOutboundUrl } from "../../../src/platform/outside/outbound-url.ts";
import { LOOPBACK, REASONS, REFUSED, TAKEN } from "../../support/endpoint-spellings.ts";

const taken = (address: string, allowLoopback = false): boolean => parseOutboundUrl(address, allowLoopback).ok;

describe("an outbound URL", () => {
  it.each(TAKEN)("accepts %s", (address) => {
    expect(parseOutboundUrl(address, false)).toEqual({ ok: true, value: new URL(address) });
    expect(taken(address, true)).toBe(true);
  });

  // shows: platform/deployment-variables/allow_loopback
  it.each(REFUSED)("refuses $what: $shown", ({ address, reason }) => {
    expect(parseOutboundUrl(address, false)).toEqual({ ok: false, error: REASONS[reason] });
  });

  // shows: platform/deployment-variables/allow_loopback
  it.each(LOOPBACK)("accepts %s only if loopback is allowed", (address) => {
    expect(taken(address, true)).toBe(true);
    expect(taken(address, false)).toBe(false);
  });

  it.each([
    "http://hooks.example",
    "https://10.0.0.1",
    "http://10.0.0.1",
    "http://0.0.0.0:4000",
    "http://[::ffff:127.0.0.1]:4000",
    "https://db.internal",
    "ftp://127.0.0.1",
    "http://user@127.0.0.1",
    "http://127.1../",
  ])("refuses %s even if loopback is allowed", (address) => expect(taken(address, true)).toBe(false));
});

/** Special ranges by the IANA registries, with their first and last address. Their neighbours are global. */
const RANGES: readonly (readonly [range: string, first: string, last: string])[] = [
  ["private", "10.0.0.0", "10.255.255.255"],
  ["carrier-grade NAT", "100.64.0.0", "100.127.255.255"],
  ["loopback", "127.0.0.0", "127.255.255.255"],
  ["link local", "169.254.0.0", "169.254.255.255"],
  ["private", "172.16.0.0", "172.31.255.255"],
  ["protocol assignments", "192.0.0.0", "192.0.0.255"],
  ["documentation", "192.0.2.0", "192.0.2.255"],
  ["6to4 relays", "192.88.99.0", "192.88.99.255"],
  ["private", "192.168.0.0", "192.168.255.255"],
  ["benchmarks", "198.18.0.0", "198.19.255.255"],
  ["documentation", "198.51.100.0", "198.51.100.255"],
  ["documentation", "203.0.113.0", "203.0.113.255"],
  ["protocol assignments, Teredo, ORCHID", "[2001::]", "[2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff]"],
  ["documentation", "[2001:db8::]", "[2001:db8:ffff:ffff:ffff:ffff:ffff:ffff]"],
  ["6to4", "[2002::]", "[2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff]"],
  ["documentation", "[3fff::]", "[3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff]"],
];
/** Edges of all special ranges: a special address and a global one. */
const EDGES = [
  ["0.255.255.255", "1.0.0.0"],
  ["224.0.0.0", "223.255.255.255"],
  ["255.255.255.255", "223.255.255.255"],
  ["[1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]", "[2000::]"],
  ["[4000::]", "[3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff]"],
] as const;

const v4 = (number: number): string => [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join(".");
const v6 = (groups: readonly number[]): string =>
  new URL(`https://[${groups.map((group) => group.toString(16)).join(":")}]`).hostname;

/** The previous or the next address. */
function neighbour(host: string, step: 1 | -1): string {
  if (!host.startsWith("[")) {
    const [a = 0, b = 0, c = 0, d = 0] = host.split(".").map(Number);
    return v4(((a * 256 + b) * 256 + c) * 256 + d + step);
  }
  // Whole ranges of /48 and wider: their neighbours differ in the first three groups.
  const groups = host.slice(1, -1).split(":").filter(Boolean);
  const [a = 0, b = 0, c = 0] = groups.map((group) => Number.parseInt(group, 16));
  const number = (step === 1 ? a * 2 ** 32 + b * 2 ** 16 + c : a * 2 ** 32 + b * 2 ** 16) + step;
  const edge = step === 1 ? 0 : 0xffff;
  return v6([
    Math.floor(number / 2 ** 32),
    Math.floor(number / 2 ** 16) % 65_536,
    number % 65_536,
    ...Array(5).fill(edge),
  ]);
}

describe("an IP address", () => {
  it.each(RANGES)("of %s, %s to %s, is not global, but its neighbours are", (_, first, last) => {
    expect(isGlobalIp(first)).toBe(false);
    expect(isGlobalIp(last)).toBe(false);
    expect(isGlobalIp(neighbour(first, -1)), neighbour(first, -1)).toBe(true);
    expect(isGlobalIp(neighbour(last, 1)), neighbour(last, 1)).toBe(true);
  });

  it.each(EDGES)("at the edge of all ranges: %s is not global, %s is", (special, global) => {
    expect(isGlobalIp(special)).toBe(false);
    expect(isGlobalIp(global)).toBe(true);
  });

  it("is judged the same in every spelling that URL knows", () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), (number) => {
        const dotted = v4(number);
        for (const spelling of [String(number), `0x${number.toString(16)}`, dotted, `${dotted}.`])
          expect(taken(`https://${spelling}/`)).toBe(isGlobalIp(dotted));
      }),
    );
  });

  it("of IPv6 is judged by its groups, with zeros at any place", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 7, maxLength: 7 }), (groups) => {
        const written = (first: number): string => [first, ...groups].map((group) => group.toString(16)).join(":");
        const isatap = groups[4] === 0x5efe && (groups[3]! & 0xfdff) === 0;
        expect(taken(`https://[${written(0x2a00)}]/`)).toBe(!isatap);
        expect(taken(`https://[${written(0xfd00)}]/`)).toBe(false);
        expect(taken(`https://[${written(0)}]/`)).toBe(false);
      }),
    );
  });

  it("that embeds any IPv4 address is special", () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), (number) => {
        const [high, low] = [number >>> 16, number & 0xffff];
        for (const groups of [
          [0, 0, 0, 0, 0, 0xffff, high, low],
          [0, 0, 0, 0, 0, 0, high, low],
          [0x64, 0xff9b, 0, 0, 0, 0, high, low],
          [0x64, 0xff9b, 1, 0, 0, 0, high, low],
          [0x2002, high, low, 0, 0, 0, 0, 1],
          [0x2001, 0, 0, 0, 0, 0, high, low],
          [0x2a00, 1, 2, 3, 0, 0x5efe, high, low],
          [0x2a00, 1, 2, 3, 0x200, 0x5efe, high, low],
        ])
          expect(isGlobalIp(v6(groups)), v6(groups)).toBe(false);
      }),
    );
  });
});

describe("the network that requests count for", () => {
  it("is an IPv4 address, or the /56 of an IPv6 address", () => {
    expect(networkOf("198.51.100.7")).toBe("198.51.100.7");
    expect(networkOf("::ffff:198.51.100.7")).toBe("::ffff:198.51.100.7");
    expect(networkOf("2001:db8:1:2:3:4:5:6")).toBe(networkOf("2001:DB8:1:2::9"));
    expect(networkOf("2001:db8:1:2::9")).toBe(networkOf("2001:db8:1:ff::9"));
    expect(networkOf("2001:db8:1:2::9")).not.toBe(networkOf("2001:db8:1:102::9"));
    expect(networkOf("2001:db8:1:2::9")).not.toBe(networkOf("2001:db8:2:2::9"));
    expect(networkOf("")).toBe("");
    expect(networkOf("a:b")).toBe("a:b");
  });
});
