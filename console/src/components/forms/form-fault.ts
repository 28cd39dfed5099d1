import { exists } from "../../api/client.ts";

/** A mistake in a field that the console finds without asking the service. Thrown while a form is sent. */
export class FormFault extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(message);
    this.field = field;
  }
}

/**
 * Refuses to create what is there already: the service would replace it. It writes a record whole, whoever it was made
 * by, so that repeating a request does no harm.
 *
 *   if (role === undefined) await mustBeNew(getRole(name, operations), "name", common.taken);
 */
export async function mustBeNew(asked: Parameters<typeof exists>[0], field: string, message: string): Promise<void> {
  if (await exists(asked)) throw new FormFault(field, message);
}
