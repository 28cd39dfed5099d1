import { scopesOf, tokenSource, type ClientCredentials, type Credentials } from "./credentials.ts";
import { baseOf } from "./errors.ts";
import { createFiles, type Files } from "./files.ts";
import { createTopic, type Topic, type TopicOptions } from "./topic.ts";
import { createTransport, type Ask } from "./transport.ts";

export interface PlinthOptions {
  /** The platform's address, with its path prefix: `https://platform.example`. */
  readonly url: string;
  /** A client's id and secret, or a function that returns a token. */
  readonly credentials: Credentials;
  /** The prefix of the platform's own scopes, `plat` by default. */
  readonly platform?: string;
  readonly fetch?: typeof globalThis.fetch;
  /** How often a request that may be repeated is sent, 5 by default. */
  readonly attempts?: number;
  /** The longest wait for one answer, with its body unless that is a stream; 30 s by default. */
  readonly timeoutMs?: number;
}

/** A platform, as one client sees it. */
export interface Plinth {
  /** A valid access token, for requests of your own. */
  token(): Promise<string>;
  topic(owner: string, eventType: string, options?: TopicOptions): Topic;
  /** Topics that this client owns or may read. */
  topics(): AsyncGenerator<{ topicOwnerClient: string; eventType: string; description: string }, void, undefined>;
  /** Private files of this client. */
  readonly files: Files;
  /** Public files of this client. */
  readonly publicFiles: Files;
  /**
   * The same client with tokens for this tenant, in place of any other. Only with a client's id and secret. Calls for
   * one tenant return the same object, which keeps its token.
   */
  forTenant(tenant: string): Plinth;
  /** Calls any operation, with a token and retries. Throws a `PlinthError` if it is refused. */
  request<T = unknown>(method: string, path: string, ask?: Ask): Promise<T>;
  /**
   * Options for the generated operations of `api/plinth.ts`, whose inputs and answers have types:
   *
   *   const { data } = await listTopics({}, plinth.operations);
   */
  readonly operations: { readonly baseUrl: string; readonly fetch: typeof globalThis.fetch };
  /** The entries of any list. A page is requested when its entries are needed. */
  pages<T = unknown>(path: string, ask?: Ask): AsyncGenerator<T, void, undefined>;
}

/** Tenants whose tokens are kept. */
const MOST_TENANTS = 1_000;

/**
 * Connects to a platform:
 *
 *   const plinth = createPlinth({ url, credentials: { clientId, clientSecret } });
 *   await plinth.topic("acme.shop", "orderPlaced").publish({ payload: { order: 4711 } });
 */
export function createPlinth(options: PlinthOptions): Plinth {
  const url = baseOf(options.url);
  const { platform = "plat", attempts = 5, timeoutMs = 30_000 } = options;
  const fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
  const ofTenants = new Map<string, Plinth>();
  const actAs = (credentials: Credentials): Plinth => {
    const tokens = tokenSource(credentials, `${url}/oauth2/v1/token`, { fetch, timeoutMs });
    const transport = createTransport({ url, tokens, fetch, attempts, timeoutMs });
    const own = async (claim: Claim): Promise<string | undefined> => claimOf(await tokens.get(), claim);
    const ownTenant = (): Promise<string | undefined> => own("tenant");
    const ownName = (): Promise<string | undefined> => own("client_name");
    return {
      token: () => tokens.get(),
      topic: (owner, eventType, topicOptions) => createTopic(transport, ownName, owner, eventType, topicOptions),
      topics: () => transport.pages("/pubsub/v1/topics", { query: { pageSize: 100 } }),
      files: createFiles(transport, fetch, "private", ownTenant, timeoutMs),
      publicFiles: createFiles(transport, fetch, "public", ownTenant, timeoutMs),
      forTenant(tenant) {
        if (typeof credentials === "function")
          throw new TypeError("A token is for one tenant already: forTenant needs a client's id and secret.");
        const known = ofTenants.get(tenant) ?? actAs(forTenant(credentials, `${platform}.tenant=`, tenant));
        // The one that was used last comes last.
        ofTenants.delete(tenant);
        ofTenants.set(tenant, known);
        for (const oldest of ofTenants.keys()) if (ofTenants.size > MOST_TENANTS) ofTenants.delete(oldest);
        return known;
      },
      operations: { baseUrl: url, fetch: transport.fetch },
      request: (method, path, ask) => transport.json(method, path, ask),
      pages: (path, ask) => transport.pages(path, ask),
    };
  };
  return actAs(options.credentials);
}

/** The credentials with the scope of this tenant in place of another one's. `names`: how scopes of tenants begin. */
const forTenant = (credentials: ClientCredentials, names: string, tenant: string): ClientCredentials => ({
  ...credentials,
  scope: [names + tenant, ...scopesOf(credentials).filter((scope) => !scope.startsWith(names))],
});

type Claim = "tenant" | "client_name";

/** A claim of a token; undefined if it has none. The token is not verified here: the platform does that. */
function claimOf(token: string, claim: Claim): string | undefined {
  try {
    const text = atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/"));
    const value = (JSON.parse(text) as { readonly [name in Claim]?: unknown })[claim];
    return typeof value === "string" && value !== "" ? value : undefined;
  } catch {
    return undefined;
  }
}
