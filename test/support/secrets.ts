/**
 * The secrets that a test file used, and the search for them in what was logged meanwhile. Secrets are noted from what
 * passes between a test and the platform, by the names of fields and headers; besides, nothing may be logged that is
 * shaped like one. Runs in the Workers runtime and in Node.
 */
const FIELDS =
  /^((?:new_|repeated_)?password|client_?secret|signing_?secret|access_token|refresh_token|id_token|id_token_hint|code|code_verifier|token|signature|csrf|X-Amz-Signature)$/i;
/** What is shorter is no secret of a careful test, and stands in other words by chance. */
const SHORTEST = 12;
/** What an index entry is found by. */
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
/** By the hash of four characters: whether a key begins so. Most places of a log are passed by one look here. */
const beginnings = new Uint8Array(2 ** 16);
const hashAt = (text: string, at: number): number =>
  ((text.charCodeAt(at) * 31 + text.charCodeAt(at + 1)) * 961 +
    text.charCodeAt(at + 2) * 31 +
    text.charCodeAt(at + 3)) &
  0xff_ff;

/** From now on this text may not be logged, however it is spelled. */
export function noteSecret(what: string, value: string): void {
  if (value.length < SHORTEST || noted.has(value)) return;
  noted.add(value);
  // Of a token the signature alone would do, and the rest of it begins as all the others do.
  const own = /^eyJ[\w-]*\.[\w-]+\.([\w-]{20,})$/.exec(value)?.[1] ?? value;
  const inForm = new URLSearchParams({ x: own }).toString().slice(2);
  for (const spelling of new Set([own, encodeURIComponent(own), inForm, JSON.stringify(own).slice(1, -1)])) {
    const key = spelling.slice(0, KEY_CHARS);
    beginnings[hashAt(key, 0)] = 1;
    byKey.set(key, [...(byKey.get(key) ?? []), { what, spelling }]);
  }
}

/** Words that a test writes into any field, where secrets belong and elsewhere, so that they are none. */
export function noteNoSecrets(...values: readonly string[]): void {
  for (const value of values) noted.add(value);
}

/** What secrets a logged text has, without the secrets themselves: `password` or `a token`. */
export function secretsIn(text: string): string[] {
  const found = new Set(Object.keys(SHAPES).filter((what) => SHAPES[what]!.test(text)));
  for (let at = 0; at <= text.length - KEY_CHARS; at += 1) {
    if (beginnings[hashAt(text, at)] === 0) continue;
    for (const { what, spelling } of byKey.get(text.slice(at, at + KEY_CHARS)) ?? [])
      if (text.startsWith(spelling, at)) found.add(what);
  }
  return [...found];
}

/** Notes what a request shows of who sends it. `body`: a form or JSON; another one is not looked at. */
export function noteRequest(address: string, headers: Headers, body: unknown): void {
  noteAddress(address);
  const [scheme = "", credentials = ""] = (headers.get("authorization") ?? "").split(" ");
  if (credentials !== "") noteSecret("Authorization", credentials);
  if (scheme.toLowerCase() === "basic") noteBasic(credentials);
  for (const pair of (headers.get("cookie") ?? "").split(";")) noteSecret("cookie", pair.split("=")[1]?.trim() ?? "");
  if (body instanceof URLSearchParams) noteFields(body);
  else if (typeof body === "string") noteText(body, headers.get("content-type") ?? "");
}

/** Notes what an answer hands out. `body`: its JSON as text, or nothing. */
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
    // What is no JSON has no fields.
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
