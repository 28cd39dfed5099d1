import type { Env as PlatformEnv } from "../src/env.ts";

declare global {
  namespace Cloudflare {
    interface Env extends PlatformEnv {}
    interface GlobalProps {
      mainModule: typeof import("../src/worker.ts");
    }
  }
}
