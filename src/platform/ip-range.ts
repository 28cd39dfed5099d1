import ipaddr from "ipaddr.js";

/**
 * Whether an IP address, as `URL` writes it, belongs to a range that is reachable from everywhere (IANA special-purpose
 * address registries, RFC 6890). Ranges that carry an IPv4 address in an IPv6 one count as special: what they lead to is
 * not what is written. So do anycast addresses of services that networks run for themselves (AS112, AMT).
 */
export function isGlobalIp(host: string): boolean {
  const ip = readIp(host);
  if (ip === undefined || ip.range() !== "unicast") return false;
  return ip instanceof ipaddr.IPv6 ? isGivenOut(ip) : host !== AZURE_HOST;
}

/** `127.0.0.1` and `[::1]` alike, and whatever else stays in this machine. */
export const isLoopbackIp = (host: string): boolean => readIp(host)?.range() === "loopback";

export const isIp = (host: string): boolean => readIp(host) !== undefined;

/** Whom requests from an address are counted for: the address itself, of IPv6 the /64 that one customer has. */
export function networkOf(address: string): string {
  const ip = readIpv6(address);
  return ip === undefined || ip.isIPv4MappedAddress() ? address : `${ip.parts.slice(0, 4).join(".")}::/64`;
}

/** Within Azure this address, a global one by the registries, is the virtual machine's host and answers as such. */
const AZURE_HOST = "168.63.129.16";

/**
 * What the library does not look at. Only 2000::/3 was ever given out as unicast addresses; of all else it knows a few
 * names. And below whatever prefix, an ISATAP interface (RFC 5214, 6.1) stands for the IPv4 address in it.
 */
function isGivenOut({ parts }: ipaddr.IPv6): boolean {
  const [first = 0, , , , flags = 0, isatap] = parts;
  return first >> 13 === 1 && !(isatap === 0x5efe && (flags & 0xfdff) === 0);
}

/** Only as `URL` writes them: four decimal numbers, or groups of hex in brackets. The library would take more. */
function readIp(host: string): ipaddr.IPv4 | ipaddr.IPv6 | undefined {
  if (host.startsWith("[")) return readIpv6(host.slice(1, -1));
  return ipaddr.IPv4.isValidFourPartDecimal(host) ? ipaddr.IPv4.parse(host) : undefined;
}

const readIpv6 = (text: string): ipaddr.IPv6 | undefined =>
  ipaddr.IPv6.isValid(text) ? ipaddr.IPv6.parse(text) : undefined;
