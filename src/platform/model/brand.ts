/**
 * The look of a tenant or a client on pages and in mails: name, logo, colour, and links to its terms and privacy.
 *
 *   page of a client's request   the client's brand, field by field; where it has none, that of the tenant that the
 *                                request names, else of the client's tenant
 *   account page, every mail     the brand of the person's tenant, for members of one
 *   neither                      the pages' own look
 *
 * The accent colour must be readable on both surfaces of its theme and below the text of a button (WCAG 2.2 AA, 1.4.3),
 * so nobody can register pages that people cannot read. All fields may be empty.
 */
export interface Brand {
  readonly name: string;
  /** An https URL. Mail programs do not show data URLs, and each token request of a member reads the brand. */
  readonly logoUri: string;
  /** `#rrggbb`, in the light theme. */
  readonly accentColor: string;
  /** `#rrggbb`, in the dark theme. If it is empty, a lighter tone of the other colour is used. */
  readonly accentColorDark: string;
  readonly termsUri: string;
  readonly privacyUri: string;
}

export const NO_BRAND: Brand = {
  name: "",
  logoUri: "",
  accentColor: "",
  accentColorDark: "",
  termsUri: "",
  privacyUri: "",
};

/** Colours below the accent, and of the text above it. The stylesheet has the same. */
export const THEMES = {
  light: { surface: "#ffffff", page: "#f3f5f7", onAccent: "#ffffff" },
  dark: { surface: "#181f26", page: "#0f1418", onAccent: "#06222e" },
} as const;
export type Theme = keyof typeof THEMES;

export const COLOR = /^#[0-9a-f]{6}$/i;
export const LEAST_CONTRAST = 4.5;

/** Parses a stored brand; undefined if none of its fields is set. */
export function readBrand(json: string): Brand | undefined {
  const brand = { ...NO_BRAND, ...(JSON.parse(json) as Partial<Brand>) };
  return Object.values(brand).every((value) => value === "") ? undefined : brand;
}

/** The first brand, with the second's values in its empty fields. The two colours stay together. */
export function mergeBrands(first: Brand | undefined, second: Brand | undefined): Brand | undefined {
  if (first === undefined || second === undefined) return first ?? second;
  const colours = first.accentColor === "" ? second : first;
  return {
    name: first.name || second.name,
    logoUri: first.logoUri || second.logoUri,
    accentColor: colours.accentColor,
    accentColorDark: colours.accentColorDark,
    termsUri: first.termsUri || second.termsUri,
    privacyUri: first.privacyUri || second.privacyUri,
  };
}

/** The lowest contrast of the accent with the colours below and above it, and that colour. */
export function accentContrast(accent: string, theme: Theme): { readonly ratio: number; readonly to: string } {
  const around = Object.values(THEMES[theme]).map((to) => ({ to, ratio: contrast(accent, to) }));
  return around.reduce((least, one) => (one.ratio < least.ratio ? one : least));
}

/** The accents of both themes, each with a stronger one for the pointer. Undefined without a colour. */
export function accentsOf({
  accentColor,
  accentColorDark,
}: Brand): Readonly<Record<Theme, { readonly accent: string; readonly strong: string }>> | undefined {
  if (!COLOR.test(accentColor)) return undefined;
  const dark = COLOR.test(accentColorDark) ? accentColorDark : lighter(accentColor);
  return {
    light: { accent: accentColor, strong: mix(accentColor, "#000000", 0.25) },
    dark: { accent: dark, strong: mix(dark, "#ffffff", 0.3) },
  };
}

/** The first lighter tone that is readable in the dark theme. White is, so one is always found. */
function lighter(colour: string): string {
  for (let part = 0; part < 1; part += 0.05) {
    const tone = mix(colour, "#ffffff", part);
    if (accentContrast(tone, "dark").ratio >= LEAST_CONTRAST) return tone;
  }
  return "#ffffff";
}

const channels = (colour: string): readonly number[] =>
  [1, 3, 5].map((at) => Number.parseInt(colour.slice(at, at + 2), 16));

function mix(colour: string, other: string, part: number): string {
  const others = channels(other);
  const mixed = channels(colour).map((value, at) => Math.round(value + (others[at]! - value) * part));
  return `#${mixed.map((value) => value.toString(16).padStart(2, "0")).join("")}`;
}

/** WCAG 2.2, "contrast ratio". */
function contrast(one: string, other: string): number {
  const [low = 0, high = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

/** WCAG 2.2, "relative luminance". */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = channels(colour).map((channel) => {
    const value = channel / 255;
    return value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}
