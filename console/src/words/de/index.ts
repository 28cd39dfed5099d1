/** German, with the keys of `en/index.ts`. */
export * from "./common.ts";
export { overview } from "./overview.ts";
export { tenants } from "./tenants.ts";
