/**
 * Where a client may be sent back to (contract section 5): https, http on a loopback host, or a private-use scheme. What
 * looks like a pattern is refused: addresses match character by character, and whoever wrote it would wait for the rest.
 */
const LOOPBACK_HOSTS: readonly string[] = ["localhost", "127.0.0.1", "[::1]"];

export function isRedirectUri(text: string): boolean {
  if (text.length > 2000) return false;
  const url = URL.parse(text);
  if (url === null || /[#*]/.test(text) || /[\s\p{Cc}]/u.test(text)) return false;
  if (url.username !== "" || url.password !== "") return false;
  if (url.protocol === "https:") return true;
  if (url.protocol === "http:") return LOOPBACK_HOSTS.includes(url.hostname);
  // RFC 8252 8.4: a private-use scheme is a reversed domain name, and so has a dot.
  return url.protocol.includes(".");
}
