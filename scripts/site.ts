import { relative } from "node:path";
import { ROOT } from "./lib/root.ts";
import { failWith } from "./lib/user-error.ts";
import { buildSite } from "./site/build.ts";

/** `npm run site` builds the documentation as `npm start` serves it, and says where it is. */
try {
  const folder = await buildSite({ pathPrefix: "", platform: "plat" }, console.log);
  console.log(relative(ROOT, folder));
} catch (error) {
  failWith(error);
}
