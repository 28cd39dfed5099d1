import type { Resource } from "./resource.ts";
import { PEOPLE } from "./people.ts";
import { SOFTWARE } from "./software.ts";

/** Every resource of the operator service, in the order in which a platform is set up. */
export const RESOURCES = { ...PEOPLE, ...SOFTWARE } satisfies Readonly<Record<string, Resource>>;
