import { operate } from "../../support/platform/operator.ts";
import { everywhere } from "../../support/shards.ts";

/** The number of a person's refresh grants in all homes. */
export const grantsOf = (email: string) =>
  everywhere.prepare("SELECT count(*) AS n FROM refresh_grant WHERE email = ?").bind(email).first<number>("n");

/** The status of an operator's request. */
export const operated = async (path: string, method: string, json?: object): Promise<number> =>
  (await operate(path, method, json)).status;
