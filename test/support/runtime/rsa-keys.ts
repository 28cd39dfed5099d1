/**
 * Finding the primes of an RSA key takes 200 ms, and the platform of nearly every test file makes one. So the files of
 * a runtime use the same keys: within a file each request gets a different key, and each file begins with the first.
 */
interface Keys {
  readonly generate: SubtleCrypto["generateKey"];
  /** The keys by algorithm and usage. */
  readonly made: Map<string, Awaited<ReturnType<SubtleCrypto["generateKey"]>>[]>;
}
const runtime = globalThis as { rsaKeys?: Keys };

export function reuseRsaKeys(): void {
  runtime.rsaKeys ??= { generate: crypto.subtle.generateKey.bind(crypto.subtle), made: new Map() };
  const { generate, made } = runtime.rsaKeys;
  const handedOut = new Map<string, number>();
  crypto.subtle.generateKey = async (algorithm, extractable, usages) => {
    const wanted = JSON.stringify([algorithm, extractable, usages]);
    if (!wanted.includes('"RSASSA')) return generate(algorithm, extractable, usages);
    const keys = made.get(wanted) ?? [];
    made.set(wanted, keys);
    const index = handedOut.get(wanted) ?? 0;
    handedOut.set(wanted, index + 1);
    return (keys[index] ??= await generate(algorithm, extractable, usages));
  };
}
