import { createHash } from "node:crypto";
import { globSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Moves inline scripts and styles of the pages into files, so that the pages work under a content security policy that
 * forbids inline code. Equal ones share a file.
 */
export function finishPages(out: string, base: string): void {
  const styles = new Map<string, string>();
  const pages = globSync("**/*.html", { cwd: out }).map((page) => {
    const path = join(out, page);
    return { path, html: withStyleClasses(withScriptFiles(readFileSync(path, "utf8"), out, base), styles) };
  });
  const sheet = [...styles].map(([style, name]) => `.${name}{${style}}`).join("\n");
  const name = `site/inline-${digestOf(sheet)}.css`;
  writeFileSync(join(out, name), sheet);
  const link = `<link rel="stylesheet" href="${base}/${name}">`;
  for (const { path, html } of pages) writeFileSync(path, html.replace("</head>", `${link}</head>`));
  matchClasses(out);
  // Starlight brings a search box of its own.
  for (const unused of globSync("pagefind/pagefind-{component-ui,highlight,modular-ui,ui}.*", { cwd: out }))
    rmSync(join(out, unused));
}

/** Rewrites the highlighter's style sheet: it selects code by style attributes, which have become classes. */
function matchClasses(out: string): void {
  const byStyle = "span[style^='--']:not([class])";
  const sheets = globSync("site/ec.*.css", { cwd: out }).map((name) => join(out, name));
  for (const path of sheets) {
    const text = readFileSync(path, "utf8");
    if (!text.includes(byStyle)) throw new Error("Expressive Code finds the words of code in another way now");
    writeFileSync(path, text.replaceAll(byStyle, "span[class^='i-']"));
  }
}

const withScriptFiles = (html: string, out: string, base: string): string =>
  html.replaceAll(/<script((?:\s[^>]*)?)>([^]*?)<\/script>/g, (whole, attributes: string, text: string) => {
    if (text.trim() === "" || attributes.includes("json")) return whole;
    const name = `site/inline-${digestOf(text)}.js`;
    writeFileSync(join(out, name), text);
    return `<script${attributes} src="${base}/${name}"></script>`;
  });

const withStyleClasses = (html: string, styles: Map<string, string>): string =>
  html.replaceAll(
    /<([a-z][\w-]*)((?:\s[^<>"]*(?:"[^"]*")?)*?)\sstyle="([^"]*)"((?:[^<>"]|"[^"]*")*)>/g,
    (_, tag, before, style, after) => {
      const name = styles.get(style) ?? `i-${digestOf(style)}`;
      styles.set(style, name);
      const attributes = `${before}${after}`;
      const withClass = /\sclass="/.test(attributes)
        ? attributes.replace(/\sclass="/, ` class="${name} `)
        : ` class="${name}"${attributes}`;
      return `<${tag}${withClass}>`;
    },
  );

const digestOf = (text: string): string => createHash("sha256").update(text).digest("hex").slice(0, 12);
