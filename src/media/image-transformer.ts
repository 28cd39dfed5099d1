import type { Result } from "../platform/result.ts";
import type { ImageFormat, ImageHeader } from "./image-header.ts";
import type { Dimensions, VariantType } from "./sizes.ts";

/** Port: makes a smaller copy of an image. */
export interface ImageTransformer {
  /** Part of a variant's ETag: another version may give other bytes. */
  readonly version: string;
  readonly formats: readonly ImageFormat[];
  /**
   * `target` is the size of the upright result, computed from the master's header (`sizes.ts`), so no side grows.
   * The result has the master's format, its orientation applied and no orientation of its own.
   */
  transform(request: TransformRequest): Promise<Result<ReadableStream<Uint8Array>, TransformFault>>;
}

export interface TransformRequest {
  readonly master: ReadableStream<Uint8Array>;
  readonly header: ImageHeader;
  readonly type: VariantType;
  readonly target: Dimensions;
}

/** `broken_image`: the image's fault, trying again changes nothing. `unavailable`: the transformer's. */
export type TransformFault = "broken_image" | "unavailable";
