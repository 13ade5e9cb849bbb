import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { writeSecretFile } from './secrets.ts';

const FILE = 'row-seals';
/** The schema that brought the seals. */
export const SEALS_SCHEMA_VERSION = 90;

/**
 * Whether the rows from before there were seals have been sealed: kept in the data folder, where a writer of the
 * database cannot say so. `pending`: the next start seals rows that have no seal, once.
 */
export function readSealMarker(dataDir: string): 'absent' | 'pending' | 'sealed' {
  const path = join(dataDir, FILE);
  if (!existsSync(path)) return 'absent';
  return readFileSync(path, 'utf8').trim() === 'pending' ? 'pending' : 'sealed';
}

export function writeSealMarker(dataDir: string, state: 'pending' | 'sealed'): void {
  writeSecretFile(dataDir, { name: FILE, text: `${state}\n` });
}
