import {
  closeSync,
  existsSync,
  fstatSync,
  fsyncSync,
  ftruncateSync,
  openSync,
  readFileSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Revocation } from '../platform/db/write-context.ts';
import { writeSecretFile } from '../platform/secrets.ts';
import { entryLine, headerLine, type JournalAct, readLines } from './journal-lines.ts';

export const JOURNAL_FILE = 'revocations.jsonl';

/** Permanent revocations in a file beside the database: append-only, hash-chained, on disk when a call returns. */
export interface RevocationJournal {
  /** Whether the journal has this revocation; with `atMs`, from that time or later. */
  has(kind: Revocation['kind'], id: string, atMs?: number): boolean;
  entries(): Revocation[];
  /**
   * Writes the revocations that are not in the journal yet and returns them. Throws if the file cannot be
   * written.
   */
  append(revocations: readonly Revocation[]): Revocation[];
  /** Withdraws the revocations of a transaction that was rolled back. */
  withdraw(revocations: readonly Revocation[]): void;
  /** Rewrites the journal without the other entries, if there are any. Returns how many were dropped. */
  compact(isKept: (revocation: Revocation) => boolean): number;
  close(): void;
}

export type OpenJournal =
  | { ok: true; journal: RevocationJournal; tornBytes: number }
  /** The log line of the refused start. */
  | { ok: false; fault: string };

/** Opens or creates the journal of a data folder. Drops a last line that a crash cut short. */
export function openJournal(dataDir: string): OpenJournal {
  const path = join(dataDir, JOURNAL_FILE);
  if (!existsSync(path)) writeSecretFile(dataDir, { name: JOURNAL_FILE, text: headerLine(null).text });
  const bytes = readFileSync(path);
  const read = readLines(bytes);
  if (!read.ok) {
    const fault = `${path} is damaged at line ${read.line}: put the copy beside the newest backup in its place. Without it, hosts and keys that were revoked since a backup come back with it`;
    return { ok: false, fault };
  }
  const tornBytes = bytes.length - read.goodBytes;
  const standing = new Map<string, Revocation>();
  for (const { act, revocation } of read.acts) apply(standing, act, revocation);
  const journal = journalOn(dataDir, { standing, head: read.head, size: read.goodBytes });
  return { ok: true, journal, tornBytes };
}

interface Journal {
  standing: Map<string, Revocation>;
  head: string;
  size: number;
}

function journalOn(dataDir: string, journal: Journal): RevocationJournal {
  let file = openSync(join(dataDir, JOURNAL_FILE), 'r+');
  let { head, size } = journal;
  const { standing } = journal;
  let isBroken = false;

  function write(act: JournalAct, revocations: readonly Revocation[]): void {
    if (revocations.length === 0) return;
    if (isBroken) throw new Error('the revocation journal could not be synced to disk before');
    // A failed write may have left part of a line behind.
    if (fstatSync(file).size !== size) ftruncateSync(file, size);
    let text = '';
    let last = head;
    for (const revocation of revocations) {
      const line = entryLine(last, act, revocation);
      text += line.text;
      last = line.hash;
    }
    const written = writeSync(file, text, size);
    if (written !== Buffer.byteLength(text)) throw new Error('the revocation journal was not written whole');
    try {
      fsyncSync(file);
    } catch (error) {
      // After a failed fsync the content on disk is unknown, and a second fsync proves nothing.
      isBroken = true;
      throw error;
    }
    size += Buffer.byteLength(text);
    head = last;
    for (const revocation of revocations) apply(standing, act, revocation);
  }

  function has(kind: Revocation['kind'], id: string, atMs = 0): boolean {
    return (standing.get(`${kind} ${id}`)?.atMs ?? -1) >= atMs;
  }

  return {
    has,
    entries: () => [...standing.values()],
    append(revocations) {
      const added = revocations.filter(({ kind, id, atMs }) => !has(kind, id, atMs));
      write('revoked', added);
      return added;
    },
    withdraw: (revocations) => write('withdrawn', revocations),
    compact(isKept) {
      const kept = [...standing.values()].filter(isKept);
      const gone = standing.size - kept.length;
      if (gone === 0) return 0;
      const header = headerLine(head);
      let text = header.text;
      let last = header.hash;
      for (const revocation of kept) {
        const line = entryLine(last, 'revoked', revocation);
        text += line.text;
        last = line.hash;
      }
      writeSecretFile(dataDir, { name: JOURNAL_FILE, text });
      closeSync(file);
      file = openSync(join(dataDir, JOURNAL_FILE), 'r+');
      [head, size] = [last, Buffer.byteLength(text)];
      standing.clear();
      for (const revocation of kept) apply(standing, 'revoked', revocation);
      return gone;
    },
    close: () => closeSync(file),
  };
}

function apply(standing: Map<string, Revocation>, act: JournalAct, revocation: Revocation): void {
  const key = `${revocation.kind} ${revocation.id}`;
  if (act === 'revoked') standing.set(key, revocation);
  else if (standing.get(key)?.atMs === revocation.atMs) standing.delete(key);
}
