import { useState } from "react";

/**
 * Picks the fields that differ from those of the record as the form began with it; all, if there is no record yet. A
 * `PUT` keeps such fields if they are left out, so a form does not undo what another operator changed meanwhile.
 */
export function useChanged(record: object = {}): <B extends object>(body: B) => Partial<B> {
  // The page reads its record again when its window gets the focus. What was typed is compared with the first one.
  const [first] = useState(() => new Map(Object.entries(record)));
  const differs = ([name, value]: readonly [string, unknown]) =>
    JSON.stringify(value) !== JSON.stringify(first.get(name));
  return <B extends object>(body: B) => Object.fromEntries(Object.entries(body).filter(differs)) as Partial<B>;
}
