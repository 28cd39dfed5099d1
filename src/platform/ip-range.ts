/**
 * Whether an IP address, as `URL` writes it, belongs to the ranges that are reachable from everywhere (IANA
 * special-purpose address registries, RFC 6890). Ranges that carry an IPv4 address in an IPv6 one count as special: what
 * they lead to is not what is written.
 */
export function isGlobalIp(host: string): boolean {
  const v4 = readIpv4(host);
  if (v4 !== undefined) return !SPECIAL_V4.some((range) => within(v4, range, 32));
  const v6 = readIpv6(host);
  return v6 !== undefined && within(v6, GLOBAL_V6, 128) && !SPECIAL_V6.some((range) => within(v6, range, 128));
}

/** `127.0.0.1` and `[::1]` alike, and whatever else stays in this machine. */
export function isLoopbackIp(host: string): boolean {
  const v4 = readIpv4(host);
  return v4 === undefined ? readIpv6(host) === 1n : within(v4, LOOPBACK_V4, 32);
}

export const isIp = (host: string): boolean => readIpv4(host) !== undefined || readIpv6(host) !== undefined;

/** Whom requests from an address are counted for: the address itself, of IPv6 the /64 that one customer has. */
export function networkOf(address: string): string {
  const v6 = readIpv6(`[${address.toLowerCase()}]`);
  return v6 === undefined ? address : `${(v6 >> 64n).toString(16)}::/64`;
}

interface Range {
  readonly start: bigint;
  readonly bits: number;
}

const within = (address: bigint, { start, bits }: Range, width: number): boolean =>
  address >> BigInt(width - bits) === start >> BigInt(width - bits);

/** `10.0.0.0/8` */
function toRange(text: string): Range {
  const [address = "", bits = ""] = text.split("/");
  return { start: readIpv4(address) ?? readIpv6(`[${address}]`) ?? 0n, bits: Number(bits) };
}

const LOOPBACK_V4 = toRange("127.0.0.0/8");
const SPECIAL_V4 = [
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/3",
].map(toRange);
/** Unicast addresses that were given out; all else is special or nobody's. */
const GLOBAL_V6 = toRange("2000::/3");
const SPECIAL_V6 = ["2001::/23", "2001:db8::/32", "2002::/16", "3fff::/20"].map(toRange);

function readIpv4(host: string): bigint | undefined {
  const parts = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})$/.exec(host)?.slice(1).map(Number);
  if (parts === undefined || parts.some((part) => part > 255)) return undefined;
  return parts.reduce((address, part) => (address << 8n) | BigInt(part), 0n);
}

/** In brackets, as `URL` writes it: groups of hex, at most one `::`, no dots. */
function readIpv6(host: string): bigint | undefined {
  const text = /^\[([0-9a-f:]+)\]$/.exec(host)?.[1];
  if (text === undefined) return undefined;
  const [head = "", tail] = text.split("::");
  const groups = (part: string): string[] => (part === "" ? [] : part.split(":"));
  const before = groups(head);
  const after = groups(tail ?? "");
  const gap = 8 - before.length - after.length;
  if (tail === undefined ? gap !== 0 : gap < 1) return undefined;
  const all = [...before, ...Array.from({ length: gap }, () => "0"), ...after];
  return all.reduce((address, group) => (address << 16n) | BigInt(Number.parseInt(group, 16)), 0n);
}
