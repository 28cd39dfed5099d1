import type { DetailType } from "../../http/errors/detail-types.ts";
import { problem, type Problem } from "../../http/errors/errors.ts";
import type { BuiltIn } from "../../platform/model/built-in.ts";
import type { Names } from "../../platform/model/names.ts";

/**
 * The rules of a resource, which the command line checks too before it sends anything: a module of `resources/` exports
 * `params` and `schema`, and `check` and `isBuiltIn` if it has more rules.
 */

/** A field that breaks a rule, in bean notation: `scopes[2]`. */
export interface Fault {
  readonly type: DetailType;
  readonly field: string;
  readonly message: string;
}

/** The deployment, as far as rules depend on it. */
export interface RuleContext {
  readonly names: Names;
  readonly builtIn: BuiltIn;
  /** Accepts plain http and loopback addresses. */
  readonly allowLoopback: boolean;
  /** The platform's public origin. */
  readonly origin: string;
}

/** The platform's own resources cannot be changed. */
export const builtInFault = (noun: string, name: string): Fault => ({
  type: "built_in",
  field: "",
  message: `The ${noun} ${name} is built in and cannot be changed.`,
});

/** The answer to a change with faults names the first one. */
export const refusal = ([fault]: readonly Fault[]): Problem | undefined => fault && refuse(fault);

export const builtInRefusal = (noun: string, name: string): Problem => refuse(builtInFault(noun, name));

const refuse = (fault: Fault): Problem =>
  problem(fault.type === "built_in" ? "conflict_resource" : "validation_violation", fault.message, {
    details: [fault],
  });
