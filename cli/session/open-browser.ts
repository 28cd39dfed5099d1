import { spawn } from "node:child_process";

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Opens an address in the person's browser: the program of BROWSER, else the system's. False if it did not start; the
 * person opens the address then. `BROWSER=none` opens nothing.
 */
export function openBrowser(address: string, env: Env): Promise<boolean> {
  const [program, ...args] = programOf(env, process.platform);
  if (program === undefined) return Promise.resolve(false);
  return new Promise((opened) => {
    const child = spawn(program, [...args, address], { stdio: "ignore", detached: true });
    child.on("error", () => opened(false));
    child.on("spawn", () => {
      child.unref();
      opened(true);
    });
  });
}

/**
 * True if this machine has no browser that the person sees: no program to open one, or the terminal is of another
 * machine. BROWSER says that there is one, also `none`.
 */
export const lacksBrowser = (env: Env, system: NodeJS.Platform = process.platform): boolean =>
  !env["BROWSER"] && (programOf(env, system).length === 0 || (isRemote(env) && !hasScreen(env)));

const isRemote = (env: Env): boolean => Boolean(env["SSH_CONNECTION"] || env["SSH_TTY"]);
const hasScreen = (env: Env): boolean => Boolean(env["DISPLAY"] || env["WAYLAND_DISPLAY"] || env["WSL_DISTRO_NAME"]);

function programOf(env: Env, system: NodeJS.Platform): readonly string[] {
  const wanted = env["BROWSER"];
  if (wanted === "none") return [];
  if (wanted) return [wanted];
  if (system === "darwin") return ["open"];
  // `start` of cmd would read the & of an address as its own.
  if (system === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  return hasScreen(env) ? ["xdg-open"] : [];
}
