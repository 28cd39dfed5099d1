import { matchingIds, type Survey } from "./matching-store.ts";
import {
  afterCursor,
  columns,
  orderFrom,
  pageSql,
  pageWanted,
  Parameters,
  valueAt,
  type ListQuery,
  type Plan,
} from "./page-sql.ts";

/** All files that match, sorted. */
export function collectPlan(survey: Survey, query: ListQuery): Plan {
  const leading = query.filter.conditions[survey.rarest!.at]!;
  const wanted = pageWanted(survey, query, leading, 0);
  const parameters = new Parameters();
  parameters.add(JSON.stringify(wanted));
  const { sort } = query;
  const matching = `SELECT file.id AS file_id${columns(sort.length, (at) => `${valueAt(at)} AS k${at}`)}
    FROM (${matchingIds("?1", wanted)}) AS matching CROSS JOIN file WHERE file.id = matching.id`;
  const source = `SELECT * FROM (${matching} LIMIT -1) WHERE ${afterCursor(query, 0, parameters)}
    ORDER BY ${orderFrom(query, 0)}`;
  return { sql: pageSql(source, sort.length), values: parameters.values, sortKeys: sort.length };
}
