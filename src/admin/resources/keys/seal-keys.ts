import { defineRoute, json, type Route } from "../../../http/route.ts";

/** The port to the services that seal: the number of texts under each key. */
export interface SealKeys {
  /** The keys of `SEAL_KEYS`, in order; the first one seals. */
  readonly configured: readonly string[];
  /** Counts the texts that each key sealed, for each kind, up to `most`. */
  counts(most: number): Promise<Readonly<Record<SealedKind, Counts>>>;
}
type SealedKind = "identityProviders" | "signingKeys" | "secondFactors" | "clientSecrets" | "pushSubscriptions";
type Counts = ReadonlyMap<string, number>;

/** Our choice: to rotate keys, an operator needs to know only whether any text is left. */
const MOST = 1_000;

export const sealKeyRoute = (keys: SealKeys): Route =>
  defineRoute({
    method: "GET",
    path: "/seal-keys",
    summary: "What is sealed under which key of SEAL_KEYS, and which one may go",
    operation: "listSealKeys",
    handle: async () => {
      const counts = await keys.counts(MOST);
      const ids = new Set([...keys.configured, ...Object.values(counts).flatMap((byKey) => [...byKey.keys()])]);
      return json(
        200,
        [...ids].map((id) => {
          const sealed = Object.fromEntries(Object.entries(counts).map(([kind, byKey]) => [kind, byKey.get(id) ?? 0]));
          const use = id === keys.configured[0] ? "seals" : keys.configured.includes(id) ? "opens" : "missing";
          return { id, use, ...sealed, mayGo: use === "opens" && Object.values(sealed).every((count) => count === 0) };
        }),
      );
    },
  });
