/**
 * docs/reference/scopes.md: every scope with its meaning and the operations that it opens, from the interface document.
 */
interface Described {
  readonly components: {
    readonly securitySchemes: {
      readonly token: {
        readonly flows: { readonly clientCredentials: { readonly scopes: Readonly<Record<string, string>> } };
      };
    };
  };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly summary: string;
  readonly deprecated?: boolean;
  readonly security?: readonly { readonly token?: readonly string[] }[];
}

/** Scopes that open more than this name only their number. */
const LISTED = 24;

export function makeScopesPage(document: unknown): string {
  const { components, paths } = document as Described;
  const { scopes } = components.securitySchemes.token.flows.clientCredentials;
  const opened = new Map<string, string[][]>();
  for (const [path, item] of Object.entries(paths))
    for (const [method, { summary, deprecated, security = [] }] of Object.entries(item)) {
      if (deprecated === true) continue;
      for (const scope of new Set(security.flatMap(({ token = [] }) => token)))
        opened.set(scope, [...(opened.get(scope) ?? []), [`\`${method.toUpperCase()} ${path}\``, summary]]);
    }
  const rows = Object.entries(scopes).map(([scope, text]) => {
    const count = opened.get(scope)?.length ?? 0;
    return [`\`${scope}\``, text, count === 0 ? "" : String(count)];
  });
  const sections = [...opened]
    .filter(([, operations]) => operations.length <= LISTED)
    .map(([scope, operations]) => `## \`${scope}\`\n\n${table(["Operation", "What it does"], operations)}`);
  return [
    "# Scopes",
    "A scope is a right in a token. A client asks for the scopes that it needs, and gets those that it, the person and the tenant have:\n[tenants and scopes](../concepts/tenants-and-scopes.md). This page is made from the routes.",
    table(["Scope", "What it opens", "Operations"], rows),
    "`*` at the end stands for any ending: `plat.pubsub.topic=demo.shop.*` opens all topics of `demo.shop`. A token that lacks a scope gets 403,\nand the message names the scope. The operator's scopes open operations of the [operator service](operator-service.md).",
    ...sections,
    "",
  ]
    .join("\n\n")
    .replace(/\n\n$/, "\n");
}

/** A table whose columns are aligned, as the formatter would have it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const escaped = rows.map((row) => row.map((cell) => cell.replaceAll("|", "\\|").replaceAll("\n", " ")));
  const widths = head.map((name, at) => Math.max(3, name.length, ...escaped.map((row) => row[at]!.length)));
  const line = (cells: readonly string[]) => `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...escaped.map(line)].join("\n");
}
