import { dirname, join, normalize } from "node:path";
import { INDEX, type Page } from "./pages.ts";

/** A group of Starlight's sidebar. */
export interface Group {
  readonly label: string;
  readonly collapsed: boolean;
  readonly items: readonly { readonly label: string; readonly slug: string }[];
}

const OPEN = ["Start", "Concepts", "Guides"];

/** The sections of the index with the pages that each of them names, in its order. */
export function sidebarOf(pages: ReadonlyMap<string, Page>): readonly Group[] {
  const index = pages.get(INDEX);
  if (index === undefined) throw new Error(`there is no ${INDEX}`);
  const seen = new Set<string>();
  return index.body
    .split(/^## /m)
    .slice(1)
    .map((section) => {
      const label = section.slice(0, section.indexOf("\n"));
      const items = Array.from(
        section.matchAll(/^(?:- |\| )\[([^\]]+)\]\(([^)#]+)\)/gm),
        ([, words = "", link = ""]) => {
          const page = pages.get(normalize(join(dirname(INDEX), link)));
          if (page === undefined || seen.has(page.slug)) return undefined;
          seen.add(page.slug);
          return { label: words, slug: page.slug };
        },
      ).filter((item) => item !== undefined);
      return { label, collapsed: !OPEN.includes(label), items };
    });
}
