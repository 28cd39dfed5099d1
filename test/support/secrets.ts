/**
 * The secrets that a test file used, and the search for them in the log. Secrets are recorded from the requests and
 * answers between a test and the platform, by the names of fields and headers. Texts with the form of a secret must not
 * be logged either. This code runs in the Workers runtime and in Node.
 */
const FIELDS =
  /^((?:new_|repeated_)?password|client_?secret|signing_?secret|access_token|refresh_token|id_token|id_token_hint|code|code_verifier|token|signature|csrf|X-Amz-Signature)$/i;
/** A careful test has no shorter secret, and shorter texts are parts of other words by chance. */
const SHORTEST = 12;
/** The number of characters that lead to an index entry. */
const KEY_CHARS = 8;

const SHAPES: Readonly<Record<string, RegExp>> = {
  "a token": /\beyJ[\w-]{10,}\.[\w-]{10,}\.[\w-]{10,}/,
  "a signing secret": /\bwhsec_[A-Za-z0-9+/]{32}/,
  "a signed link": /\b(?:signature|X-Amz-Signature)=[\w-]{20,}/,
  "an Authorization header": /\b(?:Basic|Bearer) [\w+/.=-]{20,}/i,
  "a private key": /-----BEGIN [A-Z ]*PRIVATE KEY|\\?"d\\?":\\?"[\w-]{40,}/,
  "a password's hash": /\bscrypt\$\d/,
};

interface Secret {
  readonly what: string;
  readonly spelling: string;
}

const noted = new Set<string>();
const byKey = new Map<string, Secret[]>();
/** By the hash of four characters: 1 if a key begins so. It decides for most places of a log. */
const beginnings = new Uint8Array(2 ** 16);
const hashAt = (text: string, at: number): number =>
  ((text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) * 961 +
    text.charCodeAt(at + 2) * 31 +
    text.charCodeAt(at + 3)) &
  0xff_ff;

/** Records a text that must not be logged from now on, in any spelling. */
export function noteSecret(what: string, value: string): void {
  if (value.length < SHORTEST || noted.has(value)) return;
  noted.add(value);
  // The signature of a token is enough, and its other parts begin like those of all tokens.
  const own = /^eyJ[\w-]*\.[\w-]+\.([\w-]{20,})$/.exec(value)?.[1] ?? value;
  const inForm = new URLSearchParams({ x: own }).toString().slice(2);
  for (const spelling of new Set([own, encodeURIComponent(own), inForm, JSON.stringify(own).slice(1, -1)])) {
    const key = spelling.slice(0, KEY_CHARS);
    beginnings[hashAt(key, 0)] = 1;
    byKey.set(key, [...(byKey.get(key) ?? []), { what, spelling }]);
  }
}

/** Records texts that a test writes into any field, for secrets or others, so that they do not count as secrets. */
export function noteNoSecrets(...values: readonly string[]): void {
  for (const value of values) noted.add(value);
}

/** Returns the kinds of secrets in a logged text, such as `password` or `a token`, without the secrets themselves. */
export function secretsIn(text: string): string[] {
  const found = new Set(Object.keys(SHAPES).filter((what) => SHAPES[what]!.test(text)));
  for (let at = 0; at <= text.length - KEY_CHARS; at += 1) {
    if (beginnings[hashAt(text, at)] === 0) continue;
    for (const { what, spelling } of byKey.get(text.slice(at, at + KEY_CHARS)) ?? [])
      if (text.startsWith(spelling, at)) found.add(what);
  }
  return [...found];
}

/** Records the secrets of a request. `body` is a form or JSON; other bodies are ignored. */
export function noteRequest(address: string, headers: Headers, body: unknown): void {
  noteAddress(address);
  const [scheme = "", credentials = ""] = (headers.get("authorization") ?? "").split(" ");
  if (credentials !== "") noteSecret("Authorization", credentials);
  if (scheme.toLowerCase() === "basic") noteBasic(credentials);
  for (const pair of (headers.get("cookie") ?? "").split(";")) noteSecret("cookie", pair.split("=")[1]?.trim() ?? "");
  if (body instanceof URLSearchParams) noteFields(body);
  else if (typeof body === "string") noteText(body, headers.get("content-type") ?? "");
}

/** Records the secrets of an answer. `body` is its JSON as text, or empty. */
export function noteAnswer(headers: Headers, body: string): void {
  noteAddress(headers.get("location") ?? "");
  for (const cookie of headers.getSetCookie()) noteSecret("cookie", /=([^;]*)/.exec(cookie)?.[1] ?? "");
  noteText(body, "application/json");
}

function noteText(text: string, type: string): void {
  if (type.startsWith("application/x-www-form-urlencoded")) return noteFields(new URLSearchParams(text));
  try {
    if (/^\s*[[{]/.test(text)) noteJson("", JSON.parse(text));
  } catch {
    // A text that is not JSON has no fields.
  }
}

function noteJson(name: string, value: unknown): void {
  if (typeof value === "string") {
    if (FIELDS.test(name)) noteSecret(name, value);
    else if (/signature=/i.test(value)) noteAddress(value);
  } else if (typeof value === "object" && value !== null)
    for (const [key, inner] of Object.entries(value)) noteJson(key, inner);
}

function noteFields(fields: URLSearchParams): void {
  // A list of tokens is one field.
  for (const [name, value] of fields) if (FIELDS.test(name)) for (const one of value.split(",")) noteSecret(name, one);
}

function noteAddress(address: string): void {
  for (const part of address.split(/[?#]/).slice(1)) noteFields(new URLSearchParams(part));
}

function noteBasic(credentials: string): void {
  try {
    const given = atob(credentials);
    const secret = given.slice(given.indexOf(":") + 1);
    noteSecret("client_secret", secret);
    noteSecret("client_secret", decodeURIComponent(secret));
  } catch {
    // A broken header has no secret in it.
  }
}
