import { join } from 'node:path';
import { strict } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import type { SaveOutcome } from '../identity/config-file.ts';
import { errorCode, ownUid, realFiles, removeTemporaries, writeDurably } from '../platform/file-layer.ts';
import { readTrustedJson } from '../platform/trusted-json.ts';
import { OutputCursor } from './output-cursor-rules.ts';

export const OUTPUTS_NAME = 'outputs.json';
/** Maximum pending outputs; a new one replaces the oldest. */
export const OUTPUTS_MAX = 8;
const FILE_MAX_BYTES = 64 * 1024;
/** No fsync: a killed process loses nothing, and the disk is busy installing. */
const UNSYNCED = { ...realFiles, fsync: () => {} };

const File = strict({ v: Type.Literal(1), outputs: Type.Array(OutputCursor, { maxItems: OUTPUTS_MAX }) });

/** The cursors of an earlier start. An unreadable file counts as absent: live output is best effort. */
export function loadCursors(folder: string): OutputCursor[] {
  const path = join(folder, OUTPUTS_NAME);
  removeTemporaries(path);
  const trust = { maxBytes: FILE_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  return readTrustedJson(path, File, trust)?.outputs ?? [];
}

/** Stores the cursors, the newest last, so that a killed process resumes from them. */
export function saveCursors(folder: string, outputs: OutputCursor[]): SaveOutcome {
  const path = join(folder, OUTPUTS_NAME);
  const file: Static<typeof File> = { v: 1, outputs };
  try {
    writeDurably(path, new TextEncoder().encode(JSON.stringify(file)), { mode: 0o600, files: UNSYNCED });
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: `${path} cannot be written (${errorCode(error)})` };
  }
}
