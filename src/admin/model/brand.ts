import * as z from "zod/mini";
import { accentContrast, COLOR, LEAST_CONTRAST, NO_BRAND, type Brand, type Theme } from "../../platform/model/brand.ts";
import type { Fault } from "./rules.ts";
import { oneLine } from "./fields.ts";

/** True for an address that browsers fetch. */
export function isHttpsAddress(text: string): boolean {
  const url = URL.parse(text);
  return url?.protocol === "https:" && url.username === "" && url.password === "" && !/[\s\p{Cc}]/u.test(text);
}
/** An address that browsers fetch; empty: none. */
export const httpsAddress = z
  .string()
  .check(z.maxLength(500))
  .check(z.refine((text) => text === "" || isHttpsAddress(text), "must be https"));
const colour = z.string().check(z.refine((text) => text === "" || COLOR.test(text), "must be #rrggbb"));
const name = z.string().check(z.maxLength(60), oneLine);

/** Left out, the stored brand stays. An empty one removes it. */
export const brand = z.optional(
  z.object({
    name: z._default(name, ""),
    logoUri: z._default(httpsAddress, ""),
    accentColor: z._default(colour, ""),
    accentColorDark: z._default(colour, ""),
    termsUri: z._default(httpsAddress, ""),
    privacyUri: z._default(httpsAddress, ""),
  }),
);

export function brandFaults({ brand: given }: { readonly brand?: Brand | undefined }): Fault[] {
  if (given === undefined) return [];
  const fault = (field: keyof Brand, message: string): Fault => ({
    type: "invalid_field",
    field: `brand.${field}`,
    message,
  });
  const { accentColor, accentColorDark } = given;
  const faults = [
    unreadable("accentColor", accentColor, "light"),
    unreadable("accentColorDark", accentColorDark, "dark"),
  ];
  if (accentColor === "" && accentColorDark !== "")
    faults.push(
      fault("accentColorDark", "accentColorDark needs accentColor: it is the same colour in the dark theme."),
    );
  return faults.filter((one) => one !== undefined);

  function unreadable(field: keyof Brand, value: string, theme: Theme): Fault | undefined {
    if (!COLOR.test(value)) return undefined;
    const { ratio, to } = accentContrast(value, theme);
    if (ratio >= LEAST_CONTRAST) return undefined;
    const found = `${(Math.floor(ratio * 100) / 100).toFixed(2)}:1`;
    return fault(field, `${value} has a contrast of ${found} to ${to}. It needs ${LEAST_CONTRAST}:1 (WCAG AA).`);
  }
}

/** In statements: null if the body leaves it out. Empty fields are not stored, so no brand has one spelling, `{}`. */
export const brandOrKept = (given: Brand | undefined): string | null =>
  given === undefined ? null : JSON.stringify(given, (_, value: unknown) => (value === "" ? undefined : value));

export const toBrand = (json: unknown): Brand => ({ ...NO_BRAND, ...(JSON.parse(String(json)) as Partial<Brand>) });
