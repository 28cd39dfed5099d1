/** Returns the database's plan of a statement. The values do not matter. */
export async function explain<Row>(db: D1Database, how: "EXPLAIN" | "EXPLAIN QUERY PLAN", sql: string): Promise<Row[]> {
  const parameters = sql.match(/\?\d*/g) ?? [];
  const count = Math.max(0, ...parameters.map((name, index) => Number(name.slice(1)) || index + 1));
  const statement = db.prepare(`${how} ${sql}`).bind(...Array.from({ length: count }, () => null));
  return (await statement.all<Row>()).results;
}

interface Step {
  readonly opcode: string;
  readonly p1: number;
  readonly p2: number;
}

/** Returns the tables that a statement reads and writes, also by its foreign keys and triggers. */
export async function tablesOf(
  db: D1Database,
  sql: string,
): Promise<{ readonly opened: ReadonlySet<string>; readonly written: ReadonlySet<string> }> {
  const schema = await db
    .prepare("SELECT rootpage, tbl_name AS tableName FROM sqlite_schema WHERE rootpage > 0")
    .all<{ rootpage: number; tableName: string }>();
  const byPage = new Map(schema.results.map(({ rootpage, tableName }) => [rootpage, tableName]));
  const named = (pages: readonly number[]) => new Set(pages.flatMap((page) => byPage.get(page) ?? []));
  const steps = await explain<Step>(db, "EXPLAIN", sql);
  const written = steps.flatMap(({ opcode, p1, p2 }) =>
    opcode === "OpenWrite" ? [p2] : opcode === "Clear" ? [p1] : [],
  );
  const read = steps.filter(({ opcode }) => opcode === "OpenRead" || opcode === "ReopenIdx").map(({ p2 }) => p2);
  return { opened: named([...written, ...read]), written: named(written) };
}
