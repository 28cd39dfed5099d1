/** Reads the services that the operator registered. */
export interface RegistryStore {
  /** Every one of them. */
  all(): Promise<readonly ServiceRow[]>;
}

export interface ServiceRow {
  readonly name: string;
  readonly sourceUrl: string;
  readonly proxyPath: string;
  /** Patterns. */
  readonly scopes: readonly string[];
  readonly essential: boolean;
  readonly tenant: string;
  readonly access: "token" | "public";
  /** The operator wants it to get the whole token of callers of other tenants. */
  readonly forwardAuthorization: boolean;
  /** The operator answers for its pages: they run beside those of all others. */
  readonly trusted: boolean;
}

/** By the index of the paths, so that a page costs its rows. */
const PAGE = `
  SELECT name, source_url, proxy_path, scopes, essential, tenant, access, forward_authorization, trusted
  FROM service
  WHERE proxy_path > ?1 ORDER BY proxy_path LIMIT ?2`;
const PAGE_ROWS = 1000;

export function createRegistryStore(db: D1Database): RegistryStore {
  return {
    async all() {
      const services: ServiceRow[] = [];
      for (let after = ""; ;) {
        const { results } = await db.prepare(PAGE).bind(after, PAGE_ROWS).all<Row>();
        services.push(...results.map(toService));
        const last = services.at(-1);
        if (results.length < PAGE_ROWS || last === undefined) return services;
        after = last.proxyPath;
      }
    },
  };
}

type Row = Record<string, string | number | null>;

const toService = (row: Row): ServiceRow => ({
  name: String(row["name"]),
  sourceUrl: String(row["source_url"]),
  proxyPath: String(row["proxy_path"]),
  scopes: JSON.parse(String(row["scopes"])) as string[],
  essential: row["essential"] === 1,
  tenant: String(row["tenant"]),
  access: row["access"] === "public" ? "public" : "token",
  forwardAuthorization: row["forward_authorization"] === 1,
  trusted: row["trusted"] === 1,
});
