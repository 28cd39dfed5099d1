/** The ES256 keys of a bare Worker, made at its first request: none may be made before. */
let keys: CryptoKeyPair | undefined;

export async function theKeys(): Promise<CryptoKeyPair> {
  keys ??= (await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, [
    "sign",
    "verify",
  ])) as CryptoKeyPair;
  return keys;
}
