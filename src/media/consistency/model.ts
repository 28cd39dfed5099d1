/** Where a run is: in which keyspace of the bucket (`KEYSPACES`). */
export type Stage = "files" | "variants" | "incoming";

/** What a row says of one place in R2. */
export interface ExpectedObject {
  /** A file's id, for a variant `{file}/{nonce}`. */
  readonly rowKey: string;
  /** Where its bytes lie, if anywhere. */
  readonly key: string | null;
  /** `bytes`: they have to be there, as the row says; `any`: there or not, by work under way; `none`: nothing reads them. */
  readonly need: "bytes" | "any" | "none";
  readonly sizeBytes: number | null;
  /** Of the object in R2; empty where the row does not know it, as for variants. */
  readonly etag: string | null;
  readonly fileId: string;
  readonly nonce: string | null;
  readonly client: string | null;
  readonly tenant: string | null;
}

export type FindingKind = "orphan_object" | "missing_bytes" | "missing_variant" | "size_differs" | "etag_differs";
