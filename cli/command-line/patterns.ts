import type { AdminClient } from "../client/admin-client.ts";
import type { Body } from "../terminal/values.ts";
import { clean } from "../terminal/values.ts";
import type { Column } from "../terminal/table.ts";
import type { Command, Invocation, Option } from "./command.ts";
import { LIST_OPTIONS, printRows, readBounds } from "./listing.ts";
import { confirm, printRecord, sayDone, YES_OPTION } from "./print.ts";

/** Words and help of a command; no arguments and no options unless told. */
type Help = Omit<Command, "args" | "options" | "changes" | "run"> & Partial<Pick<Command, "args" | "options">>;

interface ListHelp<Row> extends Help {
  readonly columns: readonly Column<Row>[];
  /** The plural for an empty list: `tenants`. */
  readonly nouns: string;
}

type Rows<Row> = Iterable<Row> | AsyncIterable<Row>;

/** A command that prints a list, which the platform answers page by page. */
export const pagedListCommand = <Row extends Body>({
  columns,
  nouns,
  filters = [],
  rows,
  ...help
}: ListHelp<Row> & {
  /** Options that leave rows out: then an empty list does not say that there are none at all. */
  readonly filters?: readonly Option[];
  /** Reads the options, before anything is sent. */
  rows(invocation: Invocation): (client: AdminClient, page: { readonly pageSize: number }) => Rows<Row>;
}): Command => ({
  args: [],
  ...help,
  options: [...(help.options ?? []), ...filters, ...LIST_OPTIONS],
  async run(invocation) {
    const { options, io } = invocation;
    const { limit, pageSize } = readBounds(options);
    const read = rows(invocation);
    const found = read(await invocation.client(), { pageSize });
    const sought = filters.some(({ flag }) => options.has(flag)) ? `such ${nouns}` : nouns;
    await printRows(found, { io, asJson: options.has("json"), columns, limit, nouns: sought });
  },
});

/** A command that prints a list, which the platform answers whole. `values`: those of its arguments, in order. */
export const listCommand = <Row extends Body>({
  columns,
  nouns,
  rows,
  ...help
}: ListHelp<Row> & { rows(client: AdminClient, ...values: string[]): Promise<Rows<Row>> }): Command => ({
  args: [],
  options: [],
  ...help,
  async run(invocation) {
    const { options, io } = invocation;
    const found = await rows(await invocation.client(), ...valuesOf(help, invocation));
    await printRows(found, { io, asJson: options.has("json"), columns, limit: Infinity, nouns });
  },
});

/** A command that prints one record. `values`: those of its arguments, in order. */
export const showCommand = ({
  read,
  ...help
}: Help & { read(client: AdminClient, ...values: string[]): Promise<Body> }): Command => ({
  args: [],
  options: [],
  ...help,
  async run(invocation) {
    await printRecord(invocation, await read(await invocation.client(), ...valuesOf(help, invocation)));
  },
});

/**
 * A command that changes one thing: it asks first where it has a question, sends the change and says what is done.
 * `values`: those of its arguments, in order; the sentences get them safe to print.
 */
export const changeCommand = <Answer>({
  ask,
  send,
  done,
  ...help
}: Help & {
  ask?(...values: string[]): string;
  send(client: AdminClient, ...values: string[]): Promise<Answer>;
  done(answer: Answer, ...values: string[]): string;
}): Command => ({
  args: [],
  ...help,
  options: [...(help.options ?? []), ...(ask === undefined ? [] : [YES_OPTION])],
  changes: true,
  async run(invocation) {
    const values = valuesOf(help, invocation);
    const shown = values.map((value) => clean(value));
    if (ask !== undefined) await confirm(invocation, ask(...shown));
    const answer = await send(await invocation.client(), ...values);
    sayDone(invocation.io, done(answer, ...shown));
  },
});

const valuesOf = ({ args = [] }: Help, invocation: Invocation): string[] =>
  args.map(({ name }) => invocation.args[name] ?? "");
