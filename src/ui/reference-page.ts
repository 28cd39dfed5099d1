import { documentResponse } from "./layout.ts";
import type {
  Content,
  InterfaceDocument,
  Operation,
  ParameterObject,
  PathItem,
  Reference,
  ResponseObject,
  Served,
} from "./interface-document.ts";
import { html, type Child, type Markup } from "./markup.ts";
import { paragraphs, withCode } from "./prose.ts";
import { schemaFields, typeOf } from "./reference-schema.ts";

/** `/docs`: the interface document for people. Operations fold, and a link to one unfolds it; without scripts. */
export function createReferencePage(pathPrefix: string): (served: Served, publicBase: string) => Response {
  let kept: { readonly etag: string; readonly main: Markup } | undefined;
  return ({ document, etag }, publicBase) => {
    if (kept?.etag !== etag) kept = { etag, main: mainOf(document, publicBase) };
    const { main } = kept;
    const { title } = document.info;
    return documentResponse({ status: 200, lang: "en", layout: "wide", title, publicBase, main }, pathPrefix);
  };
}

interface Listed {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
}

function mainOf(document: InterfaceDocument, publicBase: string): Markup {
  const { info, tags, components } = document;
  const operations = Object.entries(document.paths).flatMap(([path, item]) => operationsOf(path, item));
  const byTag = Map.groupBy(operations, ({ operation }) => operation.tags[0]);
  const groups = document["x-tagGroups"].map((group) => ({
    ...group,
    tags: tags.filter(({ name }) => group.tags.includes(name)),
  }));
  return html`<h1>${info.title}</h1>
    <p>${info.summary}</p>
    <p>
      <a href="${publicBase}/openapi.json">openapi.json</a> is the same for machines.
      <a href="${publicBase}/docs/errors">The error reference</a> says what to do about each error.
    </p>
    <nav aria-label="Contents">
      ${groups.map(
        ({ name, tags: own }) =>
          html`<div><b>${name}</b> ${own.map((tag) => html`<a href="#${anchor(tag.name)}">${tag.name}</a>`)}</div>`,
      )}
      <div><b>Shapes</b> <a href="#shapes">of answers and bodies</a></div>
    </nav>
    <div class="prose">${paragraphs(info.description)}</div>
    ${groups.flatMap(({ tags: own }) =>
      own.map(
        ({ name, description }) =>
          html`<section id="${anchor(name)}">
            <h2>${name}</h2>
            <p>${withCode(description)}</p>
            ${(byTag.get(name) ?? []).map((listed) => operationOf(listed, document))}
          </section>`,
      ),
    )}
    <section id="shapes">
      <h2>Shapes</h2>
      ${Object.entries(components.schemas).map(
        ([name, schema]) =>
          html`<details>
            <summary>
              <code>${name}</code>
            </summary>
            <div id="shape-${name}" class="prose">
              ${schema.description === undefined ? undefined : html`<p>${withCode(schema.description)}</p>`}
              ${schemaFields(schema)}
            </div>
          </details>`,
      )}
    </section>`;
}

const METHODS = ["get", "post", "put", "delete"] as const;

const operationsOf = (path: string, item: PathItem): readonly Listed[] =>
  METHODS.flatMap((method) => {
    const operation = item[method];
    return operation === undefined ? [] : [{ method: method.toUpperCase(), path, operation }];
  });

const anchor = (name: string): string => name.toLowerCase().replaceAll(/[^a-z]+/g, "-");

function operationOf({ method, path, operation }: Listed, document: InterfaceDocument): Markup {
  const successor = operation["x-successor"];
  const line = html`<code><b>${method}</b> ${breakable(path)}</code>`;
  if (successor !== undefined) return html`<p>${line} <a href="#${successor}">${operation.summary}</a></p>`;
  const { parameters = [], requestBody } = operation;
  return html`<details>
    <summary>${line} <span>${operation.summary}</span></summary>
    <div id="${operation.operationId}" class="prose">
      ${operation.description === undefined ? undefined : paragraphs(operation.description)}
      <p>${accessOf(operation)}</p>
      ${parameters.length === 0 ? undefined : html`<h3>Parameters</h3>`}
      ${
        parameters.length === 0
          ? undefined
          : html`<dl>${parameters.map((one) => parameterOf(resolve(one, document.components.parameters)))}</dl>`
      }
      ${requestBody === undefined ? undefined : html`<h3>Body</h3>`}
      ${requestBody?.description === undefined ? undefined : html`<p>${withCode(requestBody.description)}</p>`}
      ${requestBody === undefined ? undefined : contentOf(requestBody.content, true)}
      <h3>Answers</h3>
      <dl>${Object.entries(operation.responses).map(([status, response]) => answerOf(status, response, document))}</dl>
    </div>
  </details>`;
}

/** Lets a long path break after a slash, not within a word. */
const breakable = (path: string): readonly Child[] =>
  path.split(/(?<=.\/)/).map((part, at) => (at === 0 ? part : html`<wbr />${part}`));

function accessOf({ security }: Operation): Child {
  if (security.length === 0) return html`<b>Access</b> for everybody.`;
  if (security.some((one) => "client" in one))
    return html`<b>Access</b> for clients, by their secret where they have one.`;
  const scopes = security.flatMap((one) => one["token"] ?? []);
  if (scopes.length === 0) return html`<b>Access</b> with an access token.`;
  const orNone = security.some((one) => one["token"]?.length === 0) ? " or none, as said above" : "";
  return html`<b>Scope</b> ${scopes.map((scope, at) => html`${at === 0 ? "" : " or "}<code>${scope}</code>`)}${orNone}`;
}

const parameterOf = ({ name, in: place, description = "", required, schema }: ParameterObject): Markup =>
  html`<div>
    <dt><code>${name}</code> <span>${place}, ${typeOf(schema)}${required === true ? ", required" : ""}</span></dt>
    <dd>${withCode(description)}</dd>
  </div>`;

function answerOf(
  status: string,
  given: ResponseObject | (Reference & { readonly description?: string }),
  { components }: InterfaceDocument,
): Markup {
  const found = resolve<ResponseObject>(given, components.responses);
  const headers = Object.keys(found.headers ?? {}).slice(1);
  const isError = "$ref" in given;
  return html`<div>
    <dt>${status} ${isError ? undefined : typesOf(found.content)}</dt>
    <dd>
      ${withCode(given.description ?? found.description)}
      ${
        headers.length === 0 || isError
          ? undefined
          : html` Headers: ${headers.map((name, at) => html`${at === 0 ? "" : ", "}<code>${name}</code>`)}.`
      }
      ${isError ? undefined : contentOf(found.content ?? {}, false)}
    </dd>
  </div>`;
}

const typesOf = (content: Content | undefined): Markup | undefined =>
  content === undefined ? undefined : html`<span>${Object.keys(content).join(", ")}</span>`;

/** A request body shows its fields; a response links to its schema. */
const contentOf = (content: Content, isBody: boolean): Child =>
  Object.entries(content).map(
    ([type, { schema, example }]) =>
      html`${isBody ? html`<p><code>${type}</code></p>` : undefined}
      ${schema === undefined ? undefined : schemaFields(schema)} ${exampleOf(type, example)}`,
  );

function exampleOf(type: string, example: unknown): Markup | undefined {
  const text = example === undefined ? "" : asSent(type, example);
  return text === "" ? undefined : html`<pre tabindex="0">${text}</pre>`;
}

const asSent = (type: string, example: unknown): string =>
  type === "application/x-www-form-urlencoded"
    ? asForm(example as Readonly<Record<string, string>>)
    : JSON.stringify(example, null, 2);

/** Keeps `…`, a placeholder for the reader's own value. */
const asForm = (fields: Readonly<Record<string, string>>): string =>
  new URLSearchParams(fields).toString().replaceAll(encodeURIComponent("…"), "…");

function resolve<T extends object>(given: T | Reference, all: Readonly<Record<string, T>>): T {
  if (!("$ref" in given)) return given;
  const found = all[given.$ref.split("/").at(-1) ?? ""];
  if (found === undefined) throw new Error(`the interface document has no ${given.$ref}`);
  return found;
}
