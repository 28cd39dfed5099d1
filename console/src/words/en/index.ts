/** English texts. The texts of a page are a file, named here and in `de/index.ts`. */
export * from "./common.ts";
export { overview } from "./overview.ts";
export * from "./who.ts";
export * from "./access.ts";
export * from "./watch.ts";
export * from "./topics.ts";
export * from "./brand.ts";
