import { readBuffers } from '../platform/db/buffers.ts';
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
  return [judgeRoom(await readBuffers(read, INDEX))];
}

export function judgeRoom({ sharedBytes, indexBytes }: { sharedBytes: number; indexBytes: number }): Finding {
  const check = 'shared buffers';
  const [shared, listed] = [Math.floor(sharedBytes / MIB), Math.ceil(indexBytes / MIB)];
  const detail = `PostgreSQL has ${shared} MiB, of which lists of packages read ${listed}`;
  if (indexBytes <= sharedBytes * PART_MAX) return { check, level: 'ok', detail };
  const wanted = 2 ** Math.ceil(Math.log2(indexBytes / PART_WANTED / MIB));
  const todo = `set shared_buffers to ${wanted}MB or more and restart PostgreSQL: lists are slow while it reads them again and again`;
  return { check, level: 'warn', detail, todo };
}
