import { openAsBlob, statSync } from "node:fs";
import { basename, resolve } from "node:path";
import { Readable, Transform } from "node:stream";
import { lookup } from "mrmime";
import type { Files, Plinth } from "../../packages/sdk/src/index.ts";
import { toUnreachable } from "../client/send.ts";
import { fetchWithProgress } from "../client/upload-fetch.ts";
import type { Command, Invocation, Option } from "../command-line/command.ts";
import { LIST_OPTIONS, printRows, readBounds } from "../command-line/listing.ts";
import { confirm, printRecord, sayDone, YES_OPTION } from "../command-line/print.ts";
import { AS_OPTION, findCaller } from "../session/caller.ts";
import type { Column } from "../terminal/table.ts";
import { UsageError } from "../terminal/usage-error.ts";
import { clean, formatBytes, toJson } from "../terminal/values.ts";
import { writeNewFile } from "./new-file.ts";
import { createProgress } from "./progress.ts";

export const fileCommands = (): Command[] => [put, get, list, query, show, link, remove];

const PUBLIC_OPTION: Option = { flag: "public", help: "a public file, which anybody with its address can fetch" };
const ID_ARG = { name: "file", help: "its id" } as const;
const SIZE_OPTIONS: readonly Option[] = [
  { flag: "clip", value: "<size>", help: "the variant that fits into this size, 320x240" },
  { flag: "crop", value: "<size>", help: "the variant that fills this size, 320x240" },
];

const filesOf = ({ publicFiles, files }: Plinth, { options }: Pick<Invocation, "options">): Files =>
  options.has("public") ? publicFiles : files;

const put: Command = {
  words: ["file", "put"],
  summary: "Store files.",
  args: [{ name: "path", help: "what to store; - is the input", several: true }],
  options: [
    { flag: "type", value: "<type>", help: "the content type; default: by the name's ending" },
    { flag: "name", value: "<name>", help: "the name for downloads; default: the file's own" },
    {
      flag: "metadata",
      value: "<key=value>",
      repeated: true,
      help: "a value that goes with the file: JSON, else text",
    },
    { flag: "metadata-file", value: "<file>", help: "all metadata, a JSON object" },
    { flag: "clip", value: "<size>", repeated: true, help: "make a variant that fits into this size, 320x240" },
    { flag: "crop", value: "<size>", repeated: true, help: "make a variant that fills this size, 320x240" },
    PUBLIC_OPTION,
    AS_OPTION,
  ],
  notes: ["The ids are the output, a line each, in the order of the paths. Files belong to your application."],
  examples: ["file put photo.jpg --metadata album=summer --clip 320x240", "file put report.pdf --public --json"],
  changes: true,
  async run(invocation) {
    const { options, io, input, rest } = invocation;
    const metadata = await readMetadata(invocation);
    const [type, name] = [options.value("type"), options.value("name")];
    if (name !== undefined && rest.length > 1) throw new UsageError("--name names one file, and there are several.");
    // All files are checked before the first one is sent.
    for (const path of rest) if (path !== "-") checkFile(resolve(io.cwd, path), path);
    const stored: { id: string; link: string; path: string }[] = [];
    for (const path of rest) {
      const progress = createProgress(io, clean(basename(path)), "bytes");
      const fetch = fetchWithProgress((sent, total) => progress.show(sent, total));
      const files = filesOf(findCaller(invocation, fetch).plinth, invocation);
      const contentType = type ?? lookup(path) ?? "application/octet-stream";
      const content =
        path === "-"
          ? new Blob([new Uint8Array(await input.readBytes("-", "path"))])
          : await openAsBlob(resolve(io.cwd, path));
      const fileName = name ?? (path === "-" ? undefined : basename(path));
      try {
        const { id, link: address } = await files.upload(content, {
          contentType,
          metadata,
          clip: options.values("clip"),
          crop: options.values("crop"),
          ...(fileName !== undefined && { fileName }),
        });
        stored.push({ id, link: address, path });
      } finally {
        progress.end();
      }
      // The id too: with --json nothing is on the output if a later file fails.
      sayDone(io, `${clean(path)} is stored as ${stored.at(-1)?.id}: ${formatBytes(content.size)}, ${contentType}.`);
      if (!options.has("json")) await io.out(`${stored.at(-1)?.id}\n`);
    }
    if (options.has("json")) await io.out(`${toJson(stored, 2)}\n`);
  },
};

function checkFile(file: string, path: string): void {
  const found = statSync(file, { throwIfNoEntry: false });
  if (found === undefined) throw new UsageError(`There is no file ${path}.`);
  if (!found.isFile()) throw new UsageError(`${path} is no file.`);
}

async function readMetadata({ options, input }: Invocation): Promise<Record<string, unknown>> {
  const file = options.value("metadata-file");
  const pairs = options.values("metadata").map((pair) => {
    const [, key, text] = /^([^=]+)=(.*)$/s.exec(pair) ?? [];
    if (key === undefined) throw new UsageError(`--metadata takes key=value, not ${pair}.`);
    return [key, parsed(text ?? "")] as const;
  });
  const whole = file === undefined ? {} : parsed(await input.read(file, "--metadata-file"));
  if (typeof whole !== "object" || whole === null || Array.isArray(whole))
    throw new UsageError(`--metadata-file ${file} is no JSON object.`);
  return { ...whole, ...Object.fromEntries(pairs) };
}

/** The value of a JSON text; any other text itself. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}

const get: Command = {
  words: ["file", "get"],
  summary: "Fetch a file, or a variant of it.",
  args: [ID_ARG],
  options: [
    { flag: "out", value: "<file|->", help: "write to this new file, or to the output; default: the file's own name" },
    ...SIZE_OPTIONS,
    PUBLIC_OPTION,
    AS_OPTION,
  ],
  notes: ["In a pipe the bytes are the output. A file that is there already is not overwritten."],
  examples: ["file get 9Yk…", "file get 9Yk… --clip 320x240 --out small.jpg", "file get 9Yk… --out - | wc -c"],
  async run(invocation) {
    const { args, options, io } = invocation;
    const files = filesOf(findCaller(invocation).plinth, invocation);
    const response = await files.download(args["file"] ?? "", sizesIn(invocation));
    const total = Number(response.headers.get("content-length") ?? "0") || undefined;
    const wanted = options.value("out") ?? (io.columns === undefined ? "-" : nameIn(response, args["file"] ?? ""));
    const progress = createProgress({ ...io, isTerminal: io.isTerminal && wanted !== "-" }, clean(wanted), "bytes");
    let received = 0;
    const counting = new Transform({
      transform(chunk: Uint8Array, _encoding, done) {
        progress.show((received += chunk.byteLength), total);
        done(null, chunk);
      },
    });
    const body = response.body === null ? Readable.from([]) : Readable.fromWeb(response.body as never);
    const counted = body.compose(counting);
    try {
      if (wanted === "-") {
        for await (const chunk of counted) await io.outBytes(chunk as Uint8Array);
        return;
      }
      await writeNewFile(io, wanted, counted);
    } catch (error) {
      throw toUnreachable(error, "The file did not come whole");
    } finally {
      progress.end();
    }
    sayDone(io, `${clean(wanted)}: ${formatBytes(received)}.`);
  },
};

/** The file name in the answer, without folders, so that the answer cannot choose the folder. */
function nameIn({ headers }: Response, id: string): string {
  const [, encoded] = /filename\*=UTF-8''([^;]+)/i.exec(headers.get("content-disposition") ?? "") ?? [];
  const [, plain] = /filename="([^"]+)"/i.exec(headers.get("content-disposition") ?? "") ?? [];
  const name = basename((encoded === undefined ? plain : decodeURIComponent(encoded))?.replaceAll("\\", "/") ?? "");
  return /^\.*$/.test(name) ? id : clean(name);
}

function sizesIn({ options }: Pick<Invocation, "options">): { clip?: string; crop?: string } {
  const [clip, crop] = [options.value("clip"), options.value("crop")];
  return { ...(clip !== undefined && { clip }), ...(crop !== undefined && { crop }) };
}

const COLUMNS: readonly Column[] = [
  "id",
  { field: "Content-Type", title: "TYPE" },
  { field: "size", title: "BYTES" },
  { field: "fileName", title: "NAME" },
  { field: "committedAt", title: "STORED" },
];

const FILTERS: readonly Option[] = [
  { flag: "type", value: "<type>", repeated: true, help: "only files of this content type" },
  { flag: "sort", value: "<key[:desc]>", repeated: true, help: "by this value of the metadata" },
  { flag: "tenant", value: "<tenant>", help: "files of this tenant; default: your own" },
  PUBLIC_OPTION,
  ...LIST_OPTIONS,
  AS_OPTION,
];

const list: Command = {
  words: ["file", "list"],
  summary: "List the files of your application.",
  args: [],
  options: FILTERS,
  examples: ["file list", "file list --public --type image/jpeg --limit 20 --json"],
  run: (invocation) => printFiles(invocation, undefined),
};

const query: Command = {
  words: ["file", "query"],
  summary: "List the files whose metadata match.",
  args: [{ name: "terms", help: 'key:value pairs that all match: album:summer tags:"open sea"' }],
  options: FILTERS,
  examples: ["file query album:summer", 'file query "album:summer year:2026" --sort title:desc'],
  run: (invocation) => printFiles(invocation, invocation.args["terms"]),
};

async function printFiles(invocation: Invocation, q: string | undefined): Promise<void> {
  const { options, io } = invocation;
  const tenant = options.value("tenant");
  const rows = filesOf(findCaller(invocation).plinth, invocation).list({
    contentType: options.values("type"),
    sort: options.values("sort"),
    ...(q !== undefined && { q }),
    ...(tenant !== undefined && { tenant }),
  });
  await printRows(rows as AsyncIterable<never>, {
    io,
    asJson: options.has("json"),
    columns: COLUMNS,
    limit: readBounds(options).limit,
    nouns: q === undefined ? "files" : "files that match",
  });
}

const show: Command = {
  words: ["file", "show"],
  summary: "Show the metadata and the variants of a file.",
  args: [ID_ARG],
  options: [PUBLIC_OPTION, AS_OPTION],
  examples: ["file show 9Yk…", "file show 9Yk… --json"],
  async run(invocation) {
    const id = invocation.args["file"] ?? "";
    const files = filesOf(findCaller(invocation).plinth, invocation);
    const [metadata, variants] = await Promise.all([files.metadata(id), files.variants(id)]);
    if (invocation.options.has("json")) return printRecord(invocation, { id, metadata, variants });
    await printRecord(invocation, {
      id,
      metadata,
      variants: variants.map(({ type, size, state }) => `${type} ${size} ${state}`),
    });
  },
};

const link: Command = {
  words: ["file", "link"],
  summary: "Print an address of a file. A private file's works for 15 minutes.",
  args: [ID_ARG],
  options: [...SIZE_OPTIONS, PUBLIC_OPTION, AS_OPTION],
  examples: ["file link 9Yk…", "file link 9Yk… --clip 320x240 --public"],
  async run(invocation) {
    const { args, io, options } = invocation;
    const files = filesOf(findCaller(invocation).plinth, invocation);
    const address = await files.link(args["file"] ?? "", sizesIn(invocation));
    await io.out(options.has("json") ? `${toJson({ link: address })}\n` : `${address}\n`);
  },
};

const remove: Command = {
  words: ["file", "delete"],
  summary: "Delete files with their variants, or all that match a query.",
  args: [{ name: "file", help: "its id", optional: true, several: true }],
  options: [
    { flag: "query", value: "<terms>", help: "delete every file whose metadata match, instead of ids" },
    PUBLIC_OPTION,
    YES_OPTION,
    AS_OPTION,
  ],
  notes: [
    "Deleting by a query needs the scope plat.media_admin. The addresses of the reports that prove it are shown.",
  ],
  examples: ["file delete 9Yk… --yes", "file delete --query album:summer"],
  changes: true,
  async run(invocation) {
    const { options, io, rest } = invocation;
    const terms = options.value("query");
    if ((terms === undefined) === (rest.length === 0)) throw new UsageError("Name files by their ids, or by --query.");
    const files = filesOf(findCaller(invocation).plinth, invocation);
    const reports: (string | undefined)[] = [];
    if (terms !== undefined) {
      const { files: count, bytes } = await files.count({ q: terms });
      if (count === 0) return sayDone(io, "No file matches; nothing was deleted.");
      await confirm(invocation, `Delete ${count} files (${formatBytes(bytes)})?`);
      reports.push(await files.deleteAll({ q: terms }));
      sayDone(io, `${count} files are deleted.`);
    } else {
      await confirm(
        invocation,
        `Delete ${rest.length === 1 ? `the file ${clean(rest[0] ?? "")}` : `${rest.length} files`}?`,
      );
      for (const id of rest) {
        const report = await files.delete(id);
        reports.push(report);
        sayDone(io, report === undefined ? `There was no file ${clean(id)}.` : `The file ${clean(id)} is deleted.`);
      }
    }
    const told = reports.filter((report) => report !== undefined);
    if (options.has("json")) await io.out(`${toJson({ reports: told }, 2)}\n`);
    else if (told.length > 0) await io.out(`${told.join("\n")}\n`);
  },
};
