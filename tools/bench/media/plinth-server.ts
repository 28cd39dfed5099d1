import { offerPlatform } from "../lib/offer-platform.ts";
import { fillArchive, makeCopies } from "./archive.ts";
import type { Question } from "./questions.ts";
import { rowsReadFor } from "./rows-read.ts";

await offerPlatform(async (server, { queryRowBudget }) => {
  const db = await server.getD1Database("DB");
  return {
    async answer({ fill, copy, countRows }: Question) {
      if (fill !== undefined) await fillArchive(db, fill);
      if (copy !== undefined) await makeCopies(db, copy);
      return countRows === undefined ? undefined : rowsReadFor(db, queryRowBudget, countRows);
    },
  };
});
