/** The used parts of two readers of `Link` headers, which have no types of their own. */
declare module "http-link-header" {
  const LinkHeader: {
    parse(header: string): { readonly refs: readonly { readonly uri: string; readonly rel: string }[] };
  };
  export default LinkHeader;
}

declare module "parse-link-header" {
  export default function parse(header: string): Record<string, { readonly url: string }> | null;
}
