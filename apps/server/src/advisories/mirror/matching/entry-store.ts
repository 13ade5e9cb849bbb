import type { Database, HotSql } from '../../../platform/db/engine.ts';
import { text } from '../../../platform/db/hot-sql.ts';

/** One advisory's statement about a package. */
export interface EntryOf {
  readonly id: string;
  /** Ecosystem, ranges and versions as one text (`saidOf`), which many entries share. */
  readonly said: string;
}

/** All entries of packages with these names, in every release; every name has a list. */
export type EntryReader = (args: {
  loadId: number;
  names: readonly string[];
}) => Promise<ReadonlyMap<string, readonly EntryOf[]>>;

/** Prepared once: a fleet reads tens of thousands of rows, and each text of a row costs as much as finding it. */
export function createEntryReader(database: Database): EntryReader {
  const read = database.prepareRead(READ_ENTRIES);
  return async ({ loadId, names }) => {
    const found = new Map<string, EntryOf[]>(names.map((name) => [name, []]));
    for (const [name, id, said] of await read([loadId, names]))
      found.get(text(name))?.push({ id: text(id), said: text(said) });
    return found;
  };
}

interface Said {
  readonly eco: string;
  readonly rangesJson: string;
  readonly versionsJson: string;
}

/** Same format as the SQL below. JSON has no raw line feeds, so the last two line feeds separate the three parts. */
export function saidOf({ eco, rangesJson, versionsJson }: Said): string {
  return `${eco}\n${rangesJson}\n${versionsJson}`;
}

export function partsOf(said: string): Said {
  const last = said.lastIndexOf('\n');
  const first = said.lastIndexOf('\n', last - 1);
  return {
    eco: said.slice(0, first),
    rangesJson: said.slice(first + 1, last),
    versionsJson: said.slice(last + 1),
  };
}

const READ_ENTRIES: HotSql = {
  name: 'read_mirror_entries',
  sqlite: `SELECT name, id, eco || char(10) || ranges_json || char(10) || versions_json FROM mirror_entries
    WHERE load_id = ? AND name IN (SELECT value FROM json_each(?))`,
  postgres: `SELECT name, id, eco || chr(10) || ranges_json || chr(10) || versions_json FROM mirror_entries
    WHERE load_id = $1 AND name = ANY($2::text[])`,
};
