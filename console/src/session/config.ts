/** Addresses and names of this deployment, from `/console/config.json`. */
export interface Config {
  /** The prefix of the platform's own scopes. */
  readonly platform: string;
  readonly issuer: string;
  readonly clientId: string;
}

/** `{PATH_PREFIX}/console` */
export const CONSOLE_PATH = import.meta.env.BASE_URL.replace(/\/$/, "");

/** The platform's address, with its path prefix. */
export const PLATFORM_URL = `${location.origin}${CONSOLE_PATH.replace(/\/console$/, "")}`;

let config: Config | undefined;

export async function loadConfig(): Promise<void> {
  const answer = await fetch(`${CONSOLE_PATH}/config.json`);
  if (!answer.ok) throw new Error(`config.json: ${answer.status}`);
  config = (await answer.json()) as Config;
}

/** The configuration, which is loaded before the first drawing. */
export function useConfig(): Config {
  if (config === undefined) throw new Error("the configuration is not loaded");
  return config;
}

export const configNow = useConfig;
