/** A service as the operator registered it. */
export interface ServiceRow {
  readonly name: string;
  readonly sourceUrl: string;
  readonly proxyPath: string;
  /** Scopes of the service; a trailing `*` matches any ending. */
  readonly scopes: readonly string[];
  readonly essential: boolean;
  readonly tenant: string;
  readonly access: "token" | "public";
  /** True if the operator lets the service get its callers' own tokens, even those of other tenants. */
  readonly forwardAuthorization: boolean;
  /** True if the operator trusts its pages, so that they are not isolated from those of other services. */
  readonly trusted: boolean;
}

/** A page in the order of the index on the paths, so that it costs no more than its rows. */
const PAGE = `
  SELECT
    name, source_url AS sourceUrl, proxy_path AS proxyPath, scopes, essential, tenant, access,
    forward_authorization AS forwardAuthorization, trusted
  FROM service
  WHERE proxy_path > ?1 ORDER BY proxy_path LIMIT ?2`;
const PAGE_ROWS = 1000;

export type RegistryStore = ReturnType<typeof createRegistryStore>;

/** Reads the services that the operator registered. */
export function createRegistryStore(db: D1Database) {
  return {
    async all(): Promise<readonly ServiceRow[]> {
      const services: ServiceRow[] = [];
      for (let after = ""; ;) {
        const { results } = await db.prepare(PAGE).bind(after, PAGE_ROWS).all<StoredService>();
        services.push(...results.map(toService));
        const last = services.at(-1);
        if (results.length < PAGE_ROWS || last === undefined) return services;
        after = last.proxyPath;
      }
    },
  };
}

type Encoded = { scopes: string; essential: number; forwardAuthorization: number; trusted: number };
type StoredService = Omit<ServiceRow, keyof Encoded> & Encoded;

/** Decodes lists and booleans, which SQLite does not have. */
const toService = (row: StoredService): ServiceRow => ({
  ...row,
  scopes: JSON.parse(row.scopes) as string[],
  essential: row.essential === 1,
  forwardAuthorization: row.forwardAuthorization === 1,
  trusted: row.trusted === 1,
});
