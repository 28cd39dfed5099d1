import ipaddr from "ipaddr.js";

/**
 * True if an IP address, as `URL` writes it, is globally reachable (IANA special-purpose address registries, RFC 6890).
 * IPv6 ranges that embed an IPv4 address do not count, since they lead to that one. Neither do anycast addresses of
 * services that networks run for themselves (AS112, AMT).
 */
export function isGlobalIp(host: string): boolean {
  const ip = readIp(host);
  if (ip === undefined || ip.range() !== "unicast") return false;
  return ip instanceof ipaddr.IPv6 ? isGivenOut(ip) : host !== AZURE_HOST;
}

/** True for `localhost`, names under it, `127.0.0.1`, `[::1]` and every other address of this machine. */
export const isLoopbackHost = (host: string): boolean =>
  readIp(host)?.range() === "loopback" || host === "localhost" || host.endsWith(".localhost");

export const isIp = (host: string): boolean => readIp(host) !== undefined;

/**
 * The network that requests count for: an IPv4 address, or the /56 of an IPv6 address. Providers give a home a /56 (BCP
 * 690), from which it could use 256 of /64.
 */
export function networkOf(address: string): string {
  const ip = readIpv6(address);
  if (ip === undefined || ip.isIPv4MappedAddress()) return address;
  const [first, second, third, fourth = 0] = ip.parts;
  return `${first}.${second}.${third}.${fourth & 0xff00}::/56`;
}

/** The registries call this address global, but within Azure it is the host of the virtual machine. */
const AZURE_HOST = "168.63.129.16";

/**
 * False for special ranges that the library does not know. Only 2000::/3 is assigned to unicast addresses. An ISATAP
 * interface (RFC 5214 section 6.1) embeds an IPv4 address below any prefix.
 */
function isGivenOut({ parts }: ipaddr.IPv6): boolean {
  const [first = 0, , , , flags = 0, isatap] = parts;
  return first >> 13 === 1 && !(isatap === 0x5efe && (flags & 0xfdff) === 0);
}

/** Accepts only the forms of `URL`: four decimal numbers, or groups of hex in brackets. The library accepts more. */
function readIp(host: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (host.startsWith("[")) return readIpv6(host.slice(1, -1));
  return ipaddr.IPv4.isValidFourPartDecimal(host) ? ipaddr.IPv4.parse(host) : undefined;
}

const readIpv6 = (text: string): ipaddr.IPv6 | undefined =>
  ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined;
