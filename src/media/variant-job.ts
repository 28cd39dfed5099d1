/**
 * The message that asks for one making of a variant. It carries ids and never a record: the consumer reads what the
 * row says now. `nonce` also names the place of the bytes, so a message that comes late or twice cannot touch others.
 */
export interface VariantJob {
  readonly fileId: string;
  readonly nonce: string;
}

/** The job of a message's body, or undefined when it is none. */
export function parseVariantJob(body: unknown): VariantJob | undefined {
  if (typeof body !== "object" || body === null) return undefined;
  const { fileId, nonce } = body as Partial<Record<keyof VariantJob, unknown>>;
  return typeof fileId === "string" && typeof nonce === "string" ? { fileId, nonce } : undefined;
}
