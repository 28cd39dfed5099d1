/** The same keys in another language, with the same parameters. */
export type Same<T> = {
  readonly [K in keyof T]: T[K] extends string
    ? string
    : T[K] extends (...given: infer P) => string
      ? (...given: P) => string
      : Same<T[K]>;
};
