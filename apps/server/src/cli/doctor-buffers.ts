import { sql } from 'kysely';
import type { Database } from '../platform/db/engine.ts';
import type { Finding } from './doctor-rules.ts';

/** The largest index that one list reads as a whole. */
const INDEX = 'updates_by_package';
/** Part of the shared buffers above which it is read from outside them again and again, and the part to aim at. */
const PART_MAX = 1 / 2;
const PART_WANTED = 1 / 4;
const MIB = 1024 * 1024;

/** Compares PostgreSQL's shared buffers with what lists read; nothing with SQLite. */
export async function judgeBuffers({ engine, read }: Database): Promise<Finding[]> {
  if (engine !== 'postgres') return [];
  const { rows } = await sql<{ shared: number; listed: number }>`SELECT
    pg_size_bytes(current_setting('shared_buffers')) AS shared, pg_relation_size(${INDEX}::regclass) AS listed`.execute(
    read,
  );
  return rows.map(({ shared, listed }) =>
    judgeRoom({ sharedBytes: Number(shared), listedBytes: Number(listed) }),
  );
}

export function judgeRoom({
  sharedBytes,
  listedBytes,
}: {
  sharedBytes: number;
  listedBytes: number;
}): Finding {
  const check = 'shared buffers';
  const [shared, listed] = [Math.floor(sharedBytes / MIB), Math.ceil(listedBytes / MIB)];
  const detail = `PostgreSQL has ${shared} MiB, of which lists of packages read ${listed}`;
  if (listedBytes <= sharedBytes * PART_MAX) return { check, level: 'ok', detail };
  const wanted = 2 ** Math.ceil(Math.log2(listedBytes / PART_WANTED / MIB));
  const todo = `set shared_buffers to ${wanted}MB or more and restart PostgreSQL: lists are slow while it reads them again and again`;
  return { check, level: 'warn', detail, todo };
}
