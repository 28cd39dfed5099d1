import starlight from "@astrojs/starlight";
import { defineConfig } from "astro/config";

/** Settings come from scripts/site/build.ts, which gathers the pages and runs this. */
const { base, out, cache, sidebar } = JSON.parse(process.env.PLINTH_SITE);

export default defineConfig({
  base,
  outDir: out,
  cacheDir: cache,
  trailingSlash: "never",
  telemetry: false,
  // Pages load their styles and scripts as files, since the policy for content allows nothing inline.
  build: { inlineStylesheets: "never", assets: "site" },
  // Its version is another one than that at the root of node_modules.
  vite: {
    environments: { prerender: { resolve: { noExternal: ["js-yaml"] } } },
    build: { assetsInlineLimit: 0 },
    cacheDir: `${cache}/vite`,
    logLevel: "warn",
  },
  image: { service: { entrypoint: "astro/assets/services/noop" } },
  integrations: [
    starlight({
      title: "Plinth",
      favicon: "/icon.svg",
      logo: { src: "./public/icon.svg" },
      sidebar,
      customCss: ["./src/styles/site.css"],
      head: [{ tag: "script", attrs: { src: `${base}/site.js`, defer: true } }],
      components: { PageTitle: "./src/components/PageTitle.astro" },
      expressiveCode: { styleOverrides: { borderRadius: "0.5rem" }, defaultProps: { wrap: false } },
      lastUpdated: false,
      credits: false,
      disable404Route: false,
    }),
  ],
});
