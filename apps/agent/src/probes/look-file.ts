import { ProbeReport } from '@tidegate/protocol/probes';
import { strict } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { type FileTrust, writeDurably } from '../platform/file-layer.ts';
import { readTrustedJson } from '../platform/trusted-json.ts';
import { FAILED_UNITS_MAX } from './units.ts';

/** Where root's probes leave what they saw; /run is empty after a boot. */
export const DEFAULT_LOOK_FILE = '/run/tidegate-probe/report.json';
/** In the executor's folder: which units had failed when the last installation began. */
export const FAILED_BEFORE_NAME = 'failed-before.json';
/** The same for an agent that is root and runs the probes itself, in the executor's folder. */
export const OWN_LOOK_NAME = 'probes.json';
const FILE_MAX_BYTES = 512 * 1024;

const FailedUnits = Type.Array(Type.String({ minLength: 1, maxLength: 255 }), { maxItems: FAILED_UNITS_MAX });

/** What root's probes saw at one time. */
export const Look = strict({
  v: Type.Literal(1),
  report: ProbeReport,
  /** What had failed then; null: systemd could not be asked. */
  failed_units: Type.Union([FailedUnits, Type.Null()]),
});
export type Look = Static<typeof Look>;

export function writeLook(path: string, look: Look): void {
  writeDurably(path, new TextEncoder().encode(JSON.stringify(look)), { mode: 0o644 });
}

/** Believed only when root (or this user, in tests) wrote it. Null: there is none. */
export function readLook(path: string, writerUid: FileTrust['ownerUid']): Look | null {
  return readTrustedJson(path, Look, trustOf(writerUid));
}

const Before = strict({ v: Type.Literal(1), failed_units: FailedUnits });

/** The units that had failed when the last installation began, as the executor left them. Null: there was none. */
export function readFailedBefore(path: string, writerUid: FileTrust['ownerUid']): readonly string[] | null {
  return readTrustedJson(path, Before, trustOf(writerUid))?.failed_units ?? null;
}

export function writeFailedBefore(path: string, failedUnits: readonly string[]): void {
  const before: Static<typeof Before> = { v: 1, failed_units: [...failedUnits] };
  writeDurably(path, new TextEncoder().encode(JSON.stringify(before)), { mode: 0o644 });
}

function trustOf(ownerUid: FileTrust['ownerUid']): FileTrust {
  return { maxBytes: FILE_MAX_BYTES, ownerUid, forbiddenMode: 0o022 };
}
