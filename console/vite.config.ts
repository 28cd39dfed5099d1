import { fileURLToPath } from "node:url";
import optimizeLocales from "@react-aria/optimize-locales-plugin";
import react from "@vitejs/plugin-react";
import { defineConfig } from "vite";
import { notices } from "../scripts/console/notices.ts";

const here = (path: string): string => fileURLToPath(new URL(path, import.meta.url));

/** The address of the platform that `npm run console` uses. */
const PLATFORM = process.env["PLINTH_URL"] ?? "http://127.0.0.1:8787";

export default defineConfig({
  root: here("."),
  base: "/console/",
  plugins: [react(), { ...optimizeLocales.vite({ locales: ["en-US", "de-DE"] }), enforce: "pre" }, notices()],
  resolve: {
    alias: { "@plinth/sdk": here("../packages/sdk/src/index.ts") },
  },
  build: {
    target: "es2023",
    // The content security policy forbids styles and pictures as `data:`.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    // Small files of the first view, which compress better in one.
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            { name: "router", test: /@tanstack\/(?:(?:react-)?(?:router|store)|history)/ },
            {
              name: "parts",
              test: /console\/src\/(?:api\/waits|components\/(?:page|plain|states|toasts\/say|waiting)\.)/,
            },
          ],
        },
      },
    },
    chunkSizeWarningLimit: 1_000,
  },
  server: {
    port: 5173,
    strictPort: true,
    proxy: {
      "^/(admin|oauth2|pubsub|media|health)(/|$)": { target: PLATFORM, changeOrigin: true },
      "/console/config.json": { target: PLATFORM, changeOrigin: true },
    },
    fs: { allow: [here("..")] },
  },
});
