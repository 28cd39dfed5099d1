import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { ROOT } from "../lib/root.ts";
import { INDEX, outsideCode, rewriteLinks, type Page } from "./pages.ts";

/** Files that pages show or offer, which keep their address: `/docs/files/{path}`. */
const FILES = new Set([".svg", ".csv", ".jpg", ".png", ".yaml"]);

export interface Staging {
  /** `{PATH_PREFIX}/docs` */
  readonly base: string;
  /** The platform's own name, which scopes and headers begin with. */
  readonly platform: string;
  /** Where the site's generator reads its pages. */
  readonly content: string;
  /** Where files go that are served as they are. */
  readonly out: string;
}

/** Writes each page for the generator, and as the Markdown that is served beside it. */
export function stagePages(pages: ReadonlyMap<string, Page>, { base, platform, content, out }: Staging): void {
  const files = new Set<string>();
  const other = (path: string): string | undefined => {
    if (path === "api/openapi.json") return base.replace(/docs$/, "openapi.json");
    const isData = extname(path) === ".json" && path.startsWith("docs/");
    if (!FILES.has(extname(path)) && !isData) return undefined;
    files.add(path);
    return `${base}/files/${path.replace(/^docs\//, "")}`;
  };
  for (const page of pages.values()) {
    const served = { page: (slug: string) => (slug === "" ? base : `${base}/${slug}`), other };
    const own = (text: string) => withPlatform(text, platform);
    const body = own(withTabs(withPictures(rewriteLinks(page, pages, served), base)));
    write(join(content, `${page.slug}.md`), `${frontMatter(page, base)}\n${body}`);
    const asMarkdown = { page: (slug: string) => (slug === "" ? base : `${base}/${slug}.md`), other };
    write(join(out, `${page.slug}.md`), own(`# ${page.title}\n\n${rewriteLinks(page, pages, asMarkdown)}`));
  }
  const landing = readFileSync(join(ROOT, "site/landing.md"), "utf8").replaceAll("{base}", base);
  write(join(content, "index.md"), withPictures(landing, base));
  for (const path of files) {
    const to = join(out, "files", path.replace(/^docs\//, ""));
    mkdirSync(dirname(to), { recursive: true });
    cpSync(join(ROOT, path), to);
  }
}

/** The text of `/llms.txt`: a list of the pages, for programs. */
export function llmsText(pages: ReadonlyMap<string, Page>, base: string, sections: readonly Section[]): string {
  const bySlug = new Map(Array.from(pages.values(), (page) => [page.slug, page]));
  const lines = sections.flatMap(({ label, items }) => [
    `## ${label}`,
    "",
    ...items.flatMap(({ slug }) => {
      const page = bySlug.get(slug);
      return page === undefined ? [] : [`- [${page.title}](${base}/${page.slug}.md): ${page.description}`];
    }),
    "",
  ]);
  return [
    "# Plinth",
    "",
    "> OAuth 2.0 and OpenID Connect, events, media storage and a gateway for platforms with tenants, as one Cloudflare Worker.",
    "",
    `The interface of every operation is in OpenAPI 3.1 at ${base.replace(/docs$/, "openapi.json")}.`,
    "",
    ...lines,
  ].join("\n");
}

type Section = { readonly label: string; readonly items: readonly { readonly slug: string }[] };

function frontMatter({ file, slug, title, description }: Page, base: string): string {
  const isIndex = file === INDEX;
  const fields = { title: isIndex ? "All pages" : title, description, tableOfContents: { maxHeadingLevel: 3 } };
  const head = [{ tag: "link", attrs: { rel: "alternate", type: "text/markdown", href: `${base}/${slug}.md` } }];
  return `---\n${JSON.stringify({ ...fields, head })}\n---`;
}

/** Replaces the prefix `plat` of scopes, clients and parameters by the deployment's own name. */
const withPlatform = (text: string, platform: string): string =>
  platform === "plat" ? text : text.replaceAll(/(?<![\w/.-])plat(?=[._][a-z])/g, platform);

/** Shows a picture of docs/pictures as part of the page, so that it has the colours of the reader's theme. */
const withPictures = (markdown: string, base: string): string =>
  outsideCode(markdown, (text) =>
    text.replaceAll(
      /!\[([^\]]*)\]\(([^)]*\/files\/(pictures\/[\w-]+\.svg))\)/g,
      (_, alt: string, link: string, path: string) => {
        if (!link.startsWith(base)) throw new Error(`${link} is not below ${base}`);
        const svg = readFileSync(join(ROOT, "docs", path), "utf8")
          .replace(/<style>[^]*?<\/style>/, "")
          .replace(/<title>[^]*?<\/title>/, "")
          .replaceAll(/\n\s*/g, " ")
          .trim();
        return `<div class="picture-frame">${svg.replace("<svg ", `<svg class="picture" role="img" aria-label="${alt}" `)}</div>`;
      },
    ),
  );

const LABELS: Readonly<Record<string, string>> = { sh: "curl", ts: "TypeScript", python: "Python" };

/** Makes tabs of blocks whose fence ends with `tab` and that follow each other. */
const withTabs = (markdown: string): string =>
  markdown.replaceAll(/(?:^```\w+ tab\n[^]*?^```$\n*){2,}/gm, (group) => {
    const blocks = group.replaceAll(/^```(\w+) tab\n([^]*?)^```$\n*/gm, (_, language: string, code: string) => {
      const label = LABELS[language];
      if (label === undefined) throw new Error(`no tab is named after ${language}`);
      return `<div data-label="${label}">\n\n\`\`\`${language}\n${code}\`\`\`\n\n</div>\n`;
    });
    return `<div class="code-tabs">\n${blocks}</div>\n\n`;
  });

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}
