/** Settings from the environment. A secret is never an argument, because others can list arguments. */
export interface Settings {
  /** The platform's public address with its path prefix, without a trailing slash: `https://plinth.example.com`. */
  readonly platformUrl: string;
  /** The platform's name: the prefix of scopes and headers. */
  readonly platform: string;
  /** The registered name of this service, which tokens must be for. */
  readonly service: string;
  readonly clientId: string;
  readonly clientSecret: string;
  readonly host: string;
  readonly port: number;
  /** The registered `sourceUrl`, where the gateway finds this service. Self links use it. */
  readonly privateUrl: string;
  /** The file of its own small database. */
  readonly databasePath: string;
}

/** Throws an Error that names every missing or wrong variable. */
export function readSettings(env: NodeJS.ProcessEnv): Settings {
  const wrong: string[] = [];
  const address = (name: string, fallback = ""): string => {
    const text = env[name] || fallback;
    if (!URL.canParse(text) || !/^https?:/.test(text)) wrong.push(`${name} must be an http or https address`);
    return text.replace(/\/+$/, "");
  };
  const host = env["CATALOG_HOST"] || "127.0.0.1";
  const port = Number(env["CATALOG_PORT"] || "8790");
  if (!Number.isInteger(port) || port < 1 || port > 65_535) wrong.push("CATALOG_PORT must be 1 to 65535");
  const clientSecret = env["CATALOG_CLIENT_SECRET"] ?? "";
  if (clientSecret === "") wrong.push("CATALOG_CLIENT_SECRET is missing: the secret of the client shelfware.catalog");
  const settings = {
    platformUrl: address("PLATFORM_URL", "http://127.0.0.1:8787"),
    platform: env["PLATFORM"] || "plat",
    service: env["CATALOG_SERVICE"] || "catalog",
    clientId: env["CATALOG_CLIENT_ID"] || "shelfware.catalog",
    clientSecret,
    host,
    port,
    privateUrl: address("CATALOG_PRIVATE_URL", `http://${host}:${port}`),
    databasePath: env["CATALOG_DATABASE"] || "catalog.sqlite",
  };
  if (wrong.length > 0) throw new Error(`The catalog cannot start:\n  ${wrong.join("\n  ")}`);
  return settings;
}
