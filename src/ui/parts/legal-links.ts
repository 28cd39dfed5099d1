import type { Brand } from "../../platform/model/brand.ts";
import type { Texts } from "../texts/texts.ts";

export interface LegalLink {
  readonly href: string;
  readonly text: string;
}

/** The terms and the privacy policy of a brand that has them, for pages and mails. */
export const legalLinks = (brand: Brand | undefined, { legal }: Texts): readonly LegalLink[] =>
  [
    { href: brand?.termsUri ?? "", text: legal.terms },
    { href: brand?.privacyUri ?? "", text: legal.privacy },
  ].filter(({ href }) => href !== "");
