import { sql } from 'kysely';
import { chunks } from './chunks.ts';
import type { Db } from './engine.ts';

/**
 * The start of a query about some hosts that looks at one after another: join the other table by `h.id` with `crossJoin`, whose
 * order SQLite keeps. It has no statistics, takes a list of hosts for more rows than a state or an action has, and would
 * read those of the whole fleet for each list.
 */
export function fromHosts(db: Db, ids: readonly string[]) {
  return db.selectFrom('agents as h').where('h.id', 'in', ids);
}

/**
 * Rows of some hosts, host by host, in parts of at most `size`, because SQLite cannot be interrupted and one host may have tens of
 * thousands. `read` gives the first rows of these hosts, in the order of `h.id` and then of a key of the rows; with `after` there is
 * one host, of which it gives those behind this row.
 */
export async function* partsOfHosts<R extends { agent_id: string }>(
  ids: readonly string[],
  {
    size,
    read,
  }: { size: number; read: (hosts: readonly string[], after: R | null) => Promise<readonly R[]> },
): AsyncGenerator<readonly R[]> {
  for (const some of chunks(ids)) {
    const left = new Set(some);
    while (left.size > 0) {
      const rows = await read([...left], null);
      if (rows.length > 0) yield rows;
      if (rows.length < size) break;
      for (const { agent_id: id } of rows) left.delete(id);
      // The last of these hosts may have more; it is asked alone, so that an index finds where to go on.
      for (let last = rows.at(-1); last; ) {
        const more = await read([last.agent_id], last);
        if (more.length > 0) yield more;
        last = more.length < size ? undefined : more.at(-1);
      }
    }
  }
}

/** A text column as an expression, by which no index is searched: SQLite would prefer that of a column with few values. */
export function anyIndexBut(column: string) {
  return sql<string>`(${sql.ref(column)} || '')`;
}
