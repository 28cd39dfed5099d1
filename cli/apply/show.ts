import type { Paint } from "../../scripts/lib/terminal.ts";
import { toJson } from "../terminal/values.ts";
import type { FieldChange, Step } from "./difference.ts";
import { KIND, labelOf } from "./kinds.ts";

const SIGNS = { make: "+", change: "~", remove: "-" } as const;
const COLOURS = { make: "green", change: "yellow", remove: "red" } as const;
/** Characters of one value. */
const WIDTH = 100;

/** A line for each step, `+ ~ -`, with the differences below it. Secrets are only mentioned. */
export const showSteps = (steps: readonly Step[], secrets: ShownSecrets, paint: Paint): string =>
  steps.map((step) => showStep(step, secrets, paint)).join("");

export interface ShownSecrets {
  /** The file of --secrets. */
  readonly file: string | undefined;
  /** True if the file has a secret of this client from an earlier run. */
  isKept(step: Step): boolean;
}

function showStep(step: Step, secrets: ShownSecrets, paint: Paint): string {
  const { action, fields } = step;
  const head = paint[COLOURS[action]](`${SIGNS[action]} ${labelOf(step)}`);
  const secret = showSecret(step, secrets);
  if (action === "change") {
    const lines = [...fields.map(showChange), ...(secret === undefined ? [] : [secret])];
    return [head, ...lines.map((line) => `    ${line}`), ""].join("\n");
  }
  const told = fields.filter(({ to }) => !isEmpty(to) && to !== step.id).map(({ name, to }) => `${name}: ${show(to)}`);
  const all = [...told, ...(secret === undefined ? [] : [secret])].join(", ");
  return `${head}${all === "" ? "" : paint.dim(`  ${all}`)}\n`;
}

/** Defaults of a new item are left out. */
const isEmpty = (value: unknown): boolean =>
  value === false || value === "" || (typeof value === "object" && value !== null && Object.keys(value).length === 0);

function showChange({ name, from, to }: FieldChange): string {
  if (!Array.isArray(from) || !Array.isArray(to)) return `${name}: ${show(from)} → ${show(to)}`;
  const more = to.filter((one) => !from.includes(one)).map((one) => `+${show(one)}`);
  const less = from.filter((one) => !to.includes(one)).map((one) => `-${show(one)}`);
  return `${name}: ${[...more, ...less].join(" ")}`;
}

function showSecret(step: Step, { file = "the file of --secrets", isKept }: ShownSecrets): string | undefined {
  const { kind, secret, wanted } = step;
  const name = KIND[kind].secret ?? "";
  if (secret === "given") return `${name}: from ${wanted?.secretFrom?.variable ?? "the environment"}`;
  if (secret === "none") return undefined;
  return isKept(step) ? `${name}: the one of an earlier run, in ${file}` : `${name}: made, and kept in ${file}`;
}

function show(value: unknown): string {
  if (value === undefined) return "none";
  if (Array.isArray(value)) return shorten(`[${value.map(show).join(" ")}]`);
  const isPlain = typeof value === "string" && /^[\w.@:/*=+~-]+$/.test(value);
  return shorten(isPlain ? value : toJson(value));
}

const shorten = (text: string): string => (text.length <= WIDTH ? text : `${text.slice(0, WIDTH - 1)}…`);

/** `3 to make, 1 to change` */
export function showCounts(steps: readonly Step[]): string {
  const count = (action: Step["action"]): number => steps.filter((step) => step.action === action).length;
  const parts = [`${count("make")} to make`, `${count("change")} to change`, `${count("remove")} to remove`];
  return parts.filter((part) => !part.startsWith("0 ")).join(", ");
}
