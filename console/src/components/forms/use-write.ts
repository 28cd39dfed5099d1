import { useState } from "react";
import { known, whole, type Operations } from "../../api/client.ts";
import { rewrite } from "../../api/rewrite.ts";
import { useWords } from "../../words/words.ts";
import { FormFault } from "./form-fault.ts";

interface Write<R, B extends object, A> {
  /** The field that names a new record. */
  readonly key: string;
  readonly get: () => Promise<{ readonly status: number; readonly data?: R | object; readonly headers?: Headers }>;
  /** What the form says. */
  readonly typed: B;
  /** The fields that a `PUT` resets if they are left out, of the record as it is now. Others stay as they are. */
  readonly kept: (now: R) => Partial<B>;
  /** `under`: the options of the operation. They hold the condition that the record is still as it was got. */
  readonly put: (body: B, under: Operations) => Promise<A>;
}

/**
 * Writes the record of a form: as it is now, with the fields that the person changed. A new record must not be there
 * yet, since the service would replace it.
 *
 *   const write = useWrite(role);
 *   await write({ key: "name", get: () => getRole(name, operations), typed: { scopes }, kept: … , put: … });
 */
export function useWrite<R extends object>(record: R | undefined) {
  const { common } = useWords();
  const changes = useChanges(record ?? {});
  return async <B extends object, A>({ key, get, typed, kept, put }: Write<R, B, A>): Promise<A> =>
    rewrite(
      () => (record === undefined ? known(get()) : whole(get())),
      async (got, under, attempt) => {
        const now = got as R | undefined;
        if (record === undefined && now !== undefined && (attempt === 1 || !isMadeOf(typed, now)))
          throw new FormFault(key, common.taken);
        const body = record === undefined ? typed : ({ ...kept(now!), ...changes.over(now!, typed) } as B);
        const written = await put(body, under);
        changes.forget(typed);
        return written;
      },
    );
}

/** True if the record says what the form says. Secrets are in no record; a provider's is there as stars. */
const isMadeOf = (typed: object, record: object): boolean => {
  const { clientSecret: _, ...shown } = record as { readonly clientSecret?: unknown };
  const present = new Map<string, unknown>(Object.entries(shown));
  return Object.entries(typed).every(([name, value]) => !present.has(name) || saysSame(present.get(name), value));
};

/**
 * What a person changed in a form, compared with the record as the form began with it: the page reads its record again
 * when its window gets the focus. So a form does not undo what another operator changed meanwhile. If both changed a
 * field, the form is refused once, and says what is there now.
 */
export function useChanges(record: object) {
  const { common } = useWords();
  const [first] = useState(() => new Map<string, unknown>(Object.entries(record)));
  return {
    /** `fieldOf` names a field as the form does, if that differs. */
    over<B extends object>(now: object, typed: B, fieldOf = (name: string) => name): Partial<B> {
      const present = new Map<string, unknown>(Object.entries(now));
      const changed = Object.entries(typed).filter(([name, value]) => !isSame(value, first.get(name)));
      for (const [name, value] of changed) {
        const is = present.get(name);
        if (saysSame(is, first.get(name)) || saysSame(is, value)) continue;
        first.set(name, is);
        throw new FormFault(fieldOf(name), common.changedMeanwhile(textOf(is)));
      }
      return Object.fromEntries(changed) as Partial<B>;
    },
    /** It is written: a form that stays begins with it. */
    forget(typed: object): void {
      for (const [name, value] of Object.entries(typed)) first.set(name, value);
    },
  };
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/** As `isSame`, with lists in any order: the service sorts some. */
const saysSame = (one: unknown, other: unknown): boolean => isSame(sorted(one), sorted(other));
const sorted = (value: unknown): unknown => (Array.isArray(value) ? [...new Set(value as string[])].sort() : value);

const textOf = (value: unknown): string =>
  (Array.isArray(value) ? value.join(", ") : typeof value === "string" ? value : JSON.stringify(value)) || "–";
