import { sql } from 'kysely';
import type { Db } from './engine.ts';

/** Bytes of PostgreSQL's shared buffers, and of an index that they should hold. */
export async function readBuffers(
  read: Db,
  index: string,
): Promise<{ sharedBytes: number; indexBytes: number }> {
  const { rows } = await sql<{ shared: number; index: number }>`SELECT
    pg_size_bytes(current_setting('shared_buffers')) AS shared, pg_relation_size(${index}::regclass) AS index`.execute(
    read,
  );
  return { sharedBytes: Number(rows[0]?.shared), indexBytes: Number(rows[0]?.index) };
}
