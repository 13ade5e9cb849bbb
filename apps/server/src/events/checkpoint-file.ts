import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const FILE = 'event-checkpoints.ndjson';
/** A checkpoint has some 500 bytes: with one in five minutes the file grows by at most 50 MB in a year. */
const TAIL_MAX_BYTES = 8 * 1024 * 1024;

/**
 * Signed checkpoints outside the database, one JSON envelope per line, never rewritten: an attacker who can
 * write the database but no file cannot shorten the log undetected.
 */
export interface CheckpointFile {
  readonly path: string;
  /** Resolves once it is on disk. */
  append(envelope: string): void;
  /** The newest lines, oldest first: at most 8 MiB of them. Empty if there is no file. */
  tail(): string[];
}

export function openCheckpointFile(dataDir: string): CheckpointFile {
  const path = join(dataDir, FILE);
  return {
    path,
    append(envelope) {
      const file = openSync(path, 'a+', 0o600);
      try {
        // A power cut may have left an incomplete line.
        writeSync(file, `${endsMidLine(file) ? '\n' : ''}${envelope}\n`);
        fsyncSync(file);
      } finally {
        closeSync(file);
      }
    },
    tail() {
      if (!existsSync(path)) return [];
      const file = openSync(path, 'r');
      try {
        const { size } = fstatSync(file);
        const bytes = Buffer.alloc(Math.min(size, TAIL_MAX_BYTES));
        const read = readSync(file, bytes, 0, bytes.length, size - bytes.length);
        const lines = bytes.subarray(0, read).toString('utf8').split('\n');
        const whole = size > bytes.length ? lines.slice(1) : lines;
        return whole.filter((line) => line !== '');
      } finally {
        closeSync(file);
      }
    },
  };
}

function endsMidLine(file: number): boolean {
  const { size } = fstatSync(file);
  if (size === 0) return false;
  const last = Buffer.alloc(1);
  readSync(file, last, 0, 1, size - 1);
  return last.toString() !== '\n';
}
