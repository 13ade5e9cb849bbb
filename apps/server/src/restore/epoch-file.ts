import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Count, nullable, Sha256Hex, strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';
import { writeSecretFile } from '../platform/secrets.ts';
import type { Memory } from './epoch-rules.ts';

export const EPOCH_FILE = 'epoch.json';

const EpochFile = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  epoch: Count,
  mark: Count,
  events: strict({ position: Count, hash: nullable(Sha256Hex) }),
  written_at: Timestamp,
});
export type EpochFile = Static<typeof EpochFile>;

export type ReadEpochFile = { ok: true; file: EpochFile | null } | { ok: false; fault: string };

/** Reads the epoch file of a data folder; null if there is none. */
export function readEpochFile(dataDir: string): ReadEpochFile {
  const path = join(dataDir, EPOCH_FILE);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (isAbsent(error)) return { ok: true, file: null };
    throw error;
  }
  const parsed = parseStrictJson(bytes);
  if (parsed.ok && Value.Check(EpochFile, parsed.value)) return { ok: true, file: parsed.value };
  const fault = `${path} is damaged: it says how far this server had come. Remove it, and the next start counts as one after a restore`;
  return { ok: false, fault };
}

/** Replaces the file atomically; it is on disk when this returns. */
export function writeEpochFile(dataDir: string, file: EpochFile): void {
  writeSecretFile(dataDir, { name: EPOCH_FILE, text: `${JSON.stringify(file)}\n` });
}

export function memoryOf(file: EpochFile): Memory {
  const { fleet_id: fleetId, epoch, mark, events } = file;
  return { fleetId, epoch, mark, eventsPosition: events.position, eventsHash: events.hash };
}

export function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}
