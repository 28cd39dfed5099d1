import * as api from "../../api/plinth.ts";
import { allRows, type OperatorClient } from "../../cli/client/admin-client.ts";
import { ORGANIZATION, startedMs } from "./people.ts";

/** A tour takes seconds, with a slow platform minutes. A younger one may still be on its way. */
const AGE_MS = 3_600_000;

/**
 * Names of tours that ended without clearing up: killed, or cut off from the platform. A tour's organization is made
 * first and removed last, so it stands for all its records. Its id holds the tour's start; a customer's organization
 * is told by its name too.
 */
export async function leftovers({ opts }: OperatorClient, nowMs: number): Promise<string[]> {
  const organizations = await allRows((page) => api.listOrganizations(page, opts));
  return organizations
    .filter(({ id, name }) => name === ORGANIZATION && nowMs - (startedMs(id) ?? nowMs) > AGE_MS)
    .map(({ id }) => id);
}
