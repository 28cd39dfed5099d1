import * as fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isGlobalIp } from "../../src/platform/ip-range.ts";
import { readOutsideAddress } from "../../src/platform/outside-address.ts";

const taken = (address: string, allowLoopback = false): boolean => readOutsideAddress(address, allowLoopback).ok;

describe("an address outside", () => {
  it.each([
    "https://idp.example",
    "https://idp.example/realms/main/",
    "https://idp.example:8443/a?b=c",
    "https://8.8.8.8/x",
    "https://[2606:4700::1111]/",
    "https://xn--bcher-kva.example",
    "https://localhost.example",
    "https://internal.example",
    "https://a.local.example.",
  ])("takes %s", (address) => expect(taken(address)).toBe(true));

  it.each([
    ["plain http", "http://idp.example"],
    ["another scheme", "ftp://idp.example"],
    ["a script", "javascript:alert(1)"],
    ["no address", "idp.example"],
    ["nothing", ""],
    ["no host", "https://"],
    ["a user", "https://user@idp.example"],
    ["an empty user", "https://@idp.example"],
    ["a password", "https://:secret@idp.example"],
    ["a fragment", "https://idp.example/#a"],
    ["an empty fragment", "https://idp.example/#"],
    ["a space", "https://idp.example/ a"],
    ["a line end", "https://idp.example/\na"],
    ["NUL", "https://idp.example/\0"],
    ["a backslash", "https:\\\\idp.example"],
    ["localhost", "https://localhost"],
    ["localhost with a dot", "https://localhost."],
    ["localhost in capitals", "https://LOCALHOST"],
    ["below localhost", "https://a.localhost"],
    ["below local", "https://printer.local"],
    ["internal", "https://internal"],
    ["below internal", "https://db.internal."],
    ["loopback", "https://127.0.0.1"],
    ["loopback in hex", "https://0x7f.1"],
    ["loopback as a number", "https://2130706433"],
    ["loopback in octal", "https://0177.0.0.1"],
    ["loopback in full width", "https://１２７.0.0.1"],
    ["this host", "https://0.0.0.0"],
    ["a private range", "https://10.1.2.3"],
    ["a private range", "https://172.31.255.255"],
    ["a private range", "https://192.168.0.1"],
    ["link local, with the metadata of clouds", "https://169.254.169.254"],
    ["carrier grade", "https://100.64.0.1"],
    ["documentation", "https://203.0.113.9"],
    ["multicast", "https://224.0.0.1"],
    ["broadcast", "https://255.255.255.255"],
    ["loopback, IPv6", "https://[::1]"],
    ["unspecified, IPv6", "https://[::]"],
    ["unique local", "https://[fd00::1]"],
    ["link local, IPv6", "https://[fe80::1]"],
    ["IPv4 in IPv6", "https://[::ffff:127.0.0.1]"],
    ["IPv4 in NAT64", "https://[64:ff9b::10.0.0.1]"],
    ["IPv4 in 6to4", "https://[2002:7f00:1::]"],
    ["Teredo", "https://[2001:0:1::1]"],
    ["documentation, IPv6", "https://[2001:db8::1]"],
    ["a long one", `https://idp.example/${"a".repeat(2000)}`],
  ])("refuses %s: %s", (_, address) => expect(taken(address)).toBe(false));

  it.each([
    "http://127.0.0.1:4000",
    "http://localhost:4000/a",
    "http://[::1]:4000",
    "https://127.9.9.9",
    "http://a.localhost",
  ])("takes %s where loopback is allowed, and only there", (address) => {
    expect(taken(address, true)).toBe(true);
    expect(taken(address, false)).toBe(false);
  });

  it.each(["http://idp.example", "https://10.0.0.1", "http://10.0.0.1", "https://db.internal", "ftp://127.0.0.1"])(
    "refuses %s even there",
    (address) => expect(taken(address, true)).toBe(false),
  );
});

describe("an IP address", () => {
  it("is the same in every spelling that URL knows", () => {
    fc.assert(
      fc.property(fc.nat(0xffff_ffff), (number) => {
        const dotted = [24, 16, 8, 0].map((bits) => (number >>> bits) & 255).join(".");
        for (const spelling of [String(number), `0x${number.toString(16)}`, dotted, `${dotted}.`])
          expect(taken(`https://${spelling}/`)).toBe(isGlobalIp(dotted));
      }),
    );
  });

  it("of IPv6 is judged by its groups, wherever the zeros are", () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.constant(0), fc.nat(0xffff)), { minLength: 7, maxLength: 7 }), (groups) => {
        const written = (first: number): string => [first, ...groups].map((group) => group.toString(16)).join(":");
        expect(taken(`https://[${written(0x2a00)}]/`)).toBe(true);
        expect(taken(`https://[${written(0xfd00)}]/`)).toBe(false);
        expect(taken(`https://[${written(0)}]/`)).toBe(false);
      }),
    );
  });
});
