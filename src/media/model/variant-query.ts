import * as z from "zod/mini";
import { err, ok, type Result } from "../../platform/model/result.ts";
import type { MediaFailure } from "./failure.ts";
import { LIMITS } from "./limits.ts";
import { parseSizes, VARIANT_TYPES, type VariantName } from "./sizes.ts";

/** Reads the value of `clip=300x200,64x64`. */
const sizeList = z.pipe(
  z.string(),
  z.transform((text: string, context): readonly string[] => {
    const sizes = parseSizes(text);
    if (sizes.ok) return sizes.value;
    context.issues.push({ code: "custom", message: sizes.error, input: text });
    return z.NEVER;
  }),
);

/** The query parameters `clip` and `crop`, the same in all operations. */
export const variantParameters = { clip: z.optional(sizeList), crop: z.optional(sizeList) };

export interface VariantParameters {
  readonly clip?: readonly string[] | undefined;
  readonly crop?: readonly string[] | undefined;
}

export function namedVariants(query: VariantParameters): Result<readonly VariantName[], MediaFailure> {
  const names = VARIANT_TYPES.flatMap((type) => (query[type] ?? []).map((size) => ({ type, size })));
  return names.length > LIMITS.variantsPerRequest ? err({ kind: "too_many_variants" }) : ok(names);
}

/** Returns the variant for the fetch of a file, which takes at most one. */
export function namedVariant(query: VariantParameters): Result<VariantName | undefined, MediaFailure> {
  const names = namedVariants(query);
  if (!names.ok) return names;
  return names.value.length > 1 ? err({ kind: "several_variants_named" }) : ok(names.value[0]);
}
