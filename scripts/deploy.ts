import { main } from "../tools/deploy/main.ts";
import { failWith } from "./lib/user-error.ts";

try {
  await main(process.argv.slice(2));
} catch (error) {
  failWith(error);
}
