import { createHash, randomBytes } from "node:crypto";
import { chmodSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { UserError } from "../../scripts/lib/user-error.ts";

/**
 * Sign-ins of this person on this machine, a file each, which only its owner can read:
 *
 *   <folder>/sessions/<digest of platform and kind>.json
 *
 * A platform has at most one sign-in for a tenant and one for an organization. A file is replaced as a whole, by a
 * rename. Two programs that renew a sign-in at the same time get the same next refresh token from the platform, so both
 * write the same one.
 */
export interface Session {
  /** The platform's address with its path prefix. */
  readonly base: string;
  readonly kind: "tenant" | "organization";
  /** Id of the tenant or organization. */
  readonly place: string;
  readonly clientId: string;
  readonly user: string;
  readonly accessToken: string;
  readonly expiresAtMs: number;
  readonly refreshToken: string;
}

type Env = Readonly<Record<string, string | undefined>>;

export type SessionStore = ReturnType<typeof createSessionStore>;

export function createSessionStore(env: Env) {
  const folder = join(configFolder(env), "sessions");
  const fileOf = ({ base, kind }: Pick<Session, "base" | "kind">): string =>
    join(folder, `${createHash("sha256").update(`${kind} ${base}`).digest("hex").slice(0, 32)}.json`);

  return {
    folder,
    read(base: string, kind: Session["kind"]): Session | undefined {
      return readPrivate(fileOf({ base, kind }));
    },
    /** Every sign-in, whatever the platform. */
    all(): readonly Session[] {
      const names = listNames(folder).filter((name) => name.endsWith(".json"));
      return names.flatMap((name) => readPrivate(join(folder, name)) ?? []);
    },
    write(session: Session): void {
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      const file = fileOf(session);
      const making = `${file}.${randomBytes(6).toString("hex")}`;
      writeFileSync(making, `${JSON.stringify(session, undefined, 2)}\n`, { mode: 0o600 });
      renameSync(making, file);
    },
    remove(session: Pick<Session, "base" | "kind">): void {
      rmSync(fileOf(session), { force: true });
    },
  };
}

function configFolder(env: Env): string {
  if (env["PLINTH_CONFIG_DIR"]) return env["PLINTH_CONFIG_DIR"];
  if (env["XDG_CONFIG_HOME"]) return join(env["XDG_CONFIG_HOME"], "plinth");
  if (process.platform === "win32" && env["APPDATA"]) return join(env["APPDATA"], "plinth");
  return join(homedir(), ".config", "plinth");
}

/** A file that others could read is not used: its tokens may be known to them. */
function readPrivate(file: string): Session | undefined {
  let text: string;
  try {
    if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) {
      chmodSync(file, 0o600);
      throw new UserError(
        `Others could read ${file}, which has your tokens. It is yours alone now. Sign out and in again: npm run plat -- logout; npm run plat -- login`,
      );
    }
    text = readFileSync(file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
  try {
    return JSON.parse(text) as Session;
  } catch {
    throw new UserError(`${file} is damaged. Remove it, and sign in again.`);
  }
}

function listNames(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return [];
    throw error;
  }
}
