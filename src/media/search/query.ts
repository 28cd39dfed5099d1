import * as z from "zod/mini";
import { err, ok, type Result } from "../../platform/result.ts";
import { metadataCondition, typeCondition } from "../metadata/attributes.ts";
import { isContentType } from "../model/content-type.ts";
import { LIMITS } from "../model/limits.ts";
import type { Filter } from "./matching-store.ts";
import { parseQuery, type Term } from "./metadata-query.ts";
import { parseSort } from "./sort.ts";

/** The query parameters that choose files and their order, the same in all operations. */
const parsed = <T>(parse: (text: string) => Result<T, string>) =>
  z.pipe(
    z.string(),
    z.transform((text: string, context): T => {
      const read = parse(text);
      if (read.ok) return read.value;
      context.issues.push({ code: "custom", message: read.error, input: text });
      return z.NEVER;
    }),
  );

export const filterParameters = {
  q: z.optional(parsed(parseQuery)),
  "content-type": z.optional(parsed(parseContentTypes)),
};

/** `q` of a deletion: one of nothing would match all, and who wants that leaves it out. */
export const deletionTerms = z.optional(parsed(parseTerms));

export const sortParameter = { sort: z.optional(parsed(parseSort)) };

export interface FilterParameters {
  readonly q?: readonly Term[] | undefined;
  readonly "content-type"?: readonly string[] | undefined;
}

export const filterOf = ({ q = [], "content-type": types }: FilterParameters): Filter => ({
  conditions: [
    ...q.map(({ key, value }) => metadataCondition(key, value)),
    ...(types === undefined ? [] : [typeCondition(types)]),
  ],
});

function parseTerms(text: string): Result<readonly Term[], string> {
  const terms = parseQuery(text);
  return terms.ok && terms.value.length === 0 ? err("must have a term; to mean all files, leave it out") : terms;
}

/** `image/png, text/plain`: commas within quotation marks belong to a parameter of a type. */
export function parseContentTypes(text: string): Result<readonly string[], string> {
  const types = (text.match(/(?:"[^"]*"|[^,"])+/g) ?? []).map((type) => withPlus(type.trim()));
  if (types.length > LIMITS.contentTypesPerRequest)
    return err(`names more than ${LIMITS.contentTypesPerRequest} types`);
  const isWhole = types.length > 0 && types.every(isContentType);
  return isWhole ? ok(types) : err("must be content types such as image/png, with commas between them");
}

/** `image/svg+xml` as one types it into an address: there `+` says space, of which a media type has none. */
const withPlus = (type: string): string =>
  type.replace(/^[^;]*/, (essence) => essence.replaceAll(/(?<=[^/\s]) (?=[^/\s])/g, "+"));
