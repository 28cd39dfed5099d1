import type { Result } from "../../platform/model/result.ts";
import type { Dimensions, VariantType } from "./sizes.ts";

/** Makes a smaller copy of an image. */
export interface ImageTransformer {
  /**
   * `target` is the size of the upright result, computed from the master's header (`sizes.ts`), so no side grows. The
   * result has the master's format. Its pixels are upright, and it has no EXIF orientation. An animated gif stays
   * animated; an animated png yields its still image.
   */
  transform(request: TransformRequest): Promise<Result<TransformedImage, TransformFault>>;
}

/** The transformers of all formats. */
export interface ImageTransformers extends ImageTransformer {
  /** True if it makes a good image of this format now. */
  isUp(format: ImageFormat): Promise<boolean>;
}

export interface TransformRequest {
  readonly master: ReadableStream<Uint8Array>;
  readonly sizeBytes: number;
  readonly header: ImageHeader;
  readonly type: VariantType;
  readonly target: Dimensions;
}

export type ImageFormat = "jpeg" | "png" | "gif";

/** The properties of an image that its first bytes tell. */
export interface ImageHeader {
  readonly format: ImageFormat;
  /** As stored, before the orientation is applied. */
  readonly width: number;
  readonly height: number;
  /** EXIF orientation, 1 to 8; 1 if the image has none. */
  readonly orientation: number;
  readonly orientationField: OrientationField | undefined;
}

/** The orientation tag of EXIF data (TIFF 6.0, tag 0x0112). */
export interface OrientationField {
  /** 1 to 8. */
  readonly value: number;
  /** Offset of the value in the bytes that were read. */
  readonly offset: number;
  readonly littleEndian: boolean;
}

export interface TransformedImage {
  readonly stream: ReadableStream<Uint8Array>;
  /** Name and version of the encoder. It is part of a variant's ETag, because another encoder may write other bytes. */
  readonly encoder: string;
}

/**
 * After `broken_image` and `refused` a retry does not help, because the image is at fault. After `unavailable` it may.
 */
export type TransformFault =
  | { readonly kind: "broken_image" }
  /** `reason` is a text for the owner of the image. */
  | { readonly kind: "refused"; readonly reason: string }
  | { readonly kind: "unavailable" };
