import { err, ok, type Result } from "../../platform/model/result.ts";
import { LIMITS } from "./limits.ts";

/** This file reads the sizes of variants and computes how large the image becomes. Pure. */
export const VARIANT_TYPES = ["clip", "crop"] as const;
export type VariantType = (typeof VARIANT_TYPES)[number];

export interface Dimensions {
  readonly width: number;
  readonly height: number;
}

/** One transformation: `clip` and `300x200`. */
export interface VariantName {
  readonly type: VariantType;
  readonly size: string;
}

/** Reads a list such as `300x200,64x64` and drops repeated sizes. The error describes the mistake. */
export function parseSizes(text: string): Result<readonly string[], string> {
  const sizes = text.split(",").map((item) => item.trim());
  if (sizes.length > LIMITS.variantsPerRequest) return err(`names more than ${LIMITS.variantsPerRequest} sizes`);
  if (!sizes.every(isSize)) return err(`must be <width>x<height>, each from 1 to ${LIMITS.variantMaxSide}`);
  return ok([...new Set(sizes)]);
}

function isSize(text: string): boolean {
  if (!/^[1-9]\d{0,3}x[1-9]\d{0,3}$/.test(text)) return false;
  const { width, height } = dimensionsOf(text);
  return width <= LIMITS.variantMaxSide && height <= LIMITS.variantMaxSide;
}

/** Returns the dimensions of a size that `parseSizes` accepted. */
export function dimensionsOf(size: string): Dimensions {
  const [width = 0, height = 0] = size.split("x").map(Number);
  return { width, height };
}

/**
 * Returns the dimensions of a variant. An image is never enlarged: a clip of a smaller master has the master's size,
 * and a crop cuts a side only if it is longer than the box.
 */
export function variantDimensions(type: VariantType, box: Dimensions, master: Dimensions): Dimensions {
  const ratios = [box.width / master.width, box.height / master.height];
  const scale = Math.min(1, type === "clip" ? Math.min(...ratios) : Math.max(...ratios));
  const side = (length: number, limit: number) => Math.min(limit, Math.max(1, Math.round(length * scale)));
  return { width: side(master.width, box.width), height: side(master.height, box.height) };
}
