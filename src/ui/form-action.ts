/**
 * The value of `form-action`: this origin, and how the browser may be sent on after the form. Browsers hold to it every
 * redirect that follows a form, also those of the client's own callback (`api.shop.example` → `www.shop.example`), of
 * which nobody here knows. So schemes are named and no hosts: a page that runs no script and whose form is its own has
 * little more to gain from it.
 *
 * `targets` are addresses. Nothing of their text is taken over: each one is parsed, and only a scheme that cannot end
 * the directive is named. What is no address at all is left out.
 */
export function formAction(targets: readonly string[]): string {
  const schemes = targets.map((target) => URL.parse(target)?.protocol ?? "").filter((scheme) => SCHEME.test(scheme));
  return [...new Set(["'self'", ...schemes])].join(" ");
}

/** Of private use: a reversed domain name, so it has a dot (RFC 8252 7.1). `javascript:` and `data:` have none. */
const SCHEME = /^(https?|[a-z][a-z0-9+-]*\.[a-z0-9+.-]*):$/;
