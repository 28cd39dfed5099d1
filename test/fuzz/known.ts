/**
 * A request before it is sent, so that a seed makes the same one whatever ids the sandbox has: what stands for
 * something that exists is a `Known`, which `sandbox.ts` replaces when the request is sent.
 */
export interface Known {
  /** What is meant: a parameter or a field of this name. */
  readonly known: string;
  /** Which of several; 0 is the one that the operation is about. */
  readonly which: number;
}
