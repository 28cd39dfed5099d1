import type { VariantType } from "./sizes.ts";

export type Visibility = "private" | "public";

/** A client at work on its private or public files of one tenant. */
export interface FileCaller {
  readonly client: string;
  readonly visibility: Visibility;
  readonly tenant: string;
  /** Whether a person's token is at work: it reaches what its tenant's tokens began, not what waits for other tenants. */
  readonly isPerson: boolean;
}

/** One rendition of a variant, named by its nonce. */
export interface VariantRow {
  readonly nonce: string;
  readonly type: VariantType;
  readonly size: string;
  readonly state: "declared" | "pending" | "ready" | "failed" | "removed";
  readonly contentType: string | null;
  readonly width: number | null;
  readonly height: number | null;
  readonly sizeBytes: number | null;
  /** Without quotes. */
  readonly etag: string | null;
  readonly reason: string | null;
}
