/**
 * The value of `form-action`: this origin, and the schemes that may follow the form. Browsers apply it to every
 * redirect after a form, even to unknown ones of the client's callback (`api.shop.example` → `www.shop.example`). So it
 * names schemes and no hosts; a page without scripts and with a form of its own gains little more from hosts.
 *
 * `targets` are addresses. Each is parsed, and only its scheme is used, if it cannot end the directive. A text that is
 * not an address is left out.
 */
export function formAction(targets: readonly string[]): string {
  const schemes = targets.map((target) => URL.parse(target)?.protocol ?? "").filter((scheme) => SCHEME.test(scheme));
  return [...new Set(["'self'", ...schemes])].join(" ");
}

/** A private-use scheme is a reversed domain name with a dot (RFC 8252 7.1); `javascript:` and `data:` have none. */
const SCHEME = /^(https?|[a-z][a-z0-9+-]*\.[a-z0-9+.-]*):$/;
