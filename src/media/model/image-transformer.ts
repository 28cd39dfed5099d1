import type { Result } from "../../platform/result.ts";
import type { Dimensions, VariantType } from "./sizes.ts";

/** Port: makes a smaller copy of an image. */
export interface ImageTransformer {
  /**
   * `target` is the size of the upright result, computed from the master's header (`sizes.ts`), so no side grows.
   * The result has the master's format, its orientation applied and no orientation of its own. An animated gif stays
   * animated; of an animated png only its still image is there.
   */
  transform(request: TransformRequest): Promise<Result<TransformedImage, TransformFault>>;
}

export interface TransformRequest {
  readonly master: ReadableStream<Uint8Array>;
  readonly sizeBytes: number;
  readonly header: ImageHeader;
  readonly type: VariantType;
  readonly target: Dimensions;
}

export type ImageFormat = "jpeg" | "png" | "gif";

/** What an image says of itself. */
export interface ImageHeader {
  readonly format: ImageFormat;
  /** As stored, before the orientation is applied. */
  readonly width: number;
  readonly height: number;
  /** EXIF orientation 1 to 8 with the place of its value; 1 where the image says nothing. */
  readonly orientation: number;
  readonly orientationField: OrientationField | undefined;
}

/** The orientation tag of EXIF data (TIFF 6.0, tag 0x0112). */
export interface OrientationField {
  /** 1 to 8 */
  readonly value: number;
  /** Where the value stands in the bytes that were searched. */
  readonly offset: number;
  readonly littleEndian: boolean;
}

export interface TransformedImage {
  readonly stream: ReadableStream<Uint8Array>;
  /** Name and version of what made it, part of a variant's ETag: another one may give other bytes. */
  readonly encoder: string;
}

/** `broken_image`, `refused`: the image's fault, trying again changes nothing. `unavailable`: the transformer's. */
export type TransformFault =
  | { readonly kind: "broken_image" }
  /** The reason is for the owner of the image. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "unavailable" };
