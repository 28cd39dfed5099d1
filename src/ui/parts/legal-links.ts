import type { Brand } from "../../platform/model/brand.ts";
import type { Texts } from "../texts/texts.ts";

export interface LegalLink {
  readonly href: string;
  readonly text: string;
}

/** Returns the links to a brand's terms and privacy policy, for pages and mails. */
export const legalLinks = (brand: Brand | undefined, { legal }: Texts): readonly LegalLink[] =>
  [
    { href: brand?.termsUri ?? "", text: legal.terms },
    { href: brand?.privacyUri ?? "", text: legal.privacy },
  ].filter(({ href }) => href !== "");
