/**
 * Whether the browser may be sent to this address: it is one of those registered, character by character (RFC 9700
 * 4.1.3). Nothing is normalised, so whatever two parsers read differently is simply another text.
 *
 * An application on the user's own machine takes whatever port is free (RFC 8252 7.3): where plain http on a loopback
 * host is registered, the port alone may differ.
 */
export const isRegisteredRedirectUri = (asked: string, registered: readonly string[]): boolean =>
  registered.some((known) => known === asked || isSameButPort(asked, known));

/** The address of a request that names none: the one that is registered, where there is one alone (RFC 6749 3.1.2.3). */
export const onlyRedirectUri = (registered: readonly string[]): string | undefined =>
  registered.length === 1 ? registered[0] : undefined;

const LOOPBACK = /^(http:\/\/(?:127\.0\.0\.1|\[::1\]|localhost))(?::([1-9][0-9]{0,4}))?([/?].*)?$/;
const MAX_PORT = 65_535;

function isSameButPort(asked: string, known: string): boolean {
  if (asked.length > known.length + `:${MAX_PORT}`.length) return false;
  const [here, there] = [LOOPBACK.exec(asked), LOOPBACK.exec(known)];
  if (here === null || there === null || Number(here[2] ?? 0) > MAX_PORT) return false;
  return here[1] === there[1] && here[3] === there[3];
}
