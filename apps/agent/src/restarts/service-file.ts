import { STALE_SERVICES_MAX, StaleService } from '@tidegate/protocol/restarts';
import { strict, Timestamp } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import { type FileTrust, readTrusted, writeDurably } from '../platform/file-layer.ts';

/** Where root's observer leaves what it saw; /run is empty after a boot. */
export const DEFAULT_SERVICE_FILE = '/run/tidegate-observer/services.json';
/** The name of the report in the executor's folder, where the agent is root and looks by itself. */
export const OWN_SERVICE_FILE = 'services.json';
/** The observer looks every ten minutes; an older report says nothing about now. */
export const EVIDENCE_MAX_AGE_MS = 60 * 60_000;
const FILE_MAX_BYTES = 1024 * 1024;

/** What root's observer saw; it names files and no packages, which the agent can look up by itself. */
export const ServiceFile = strict({
  v: Type.Literal(1),
  observed_at: Timestamp,
  boot_id: Type.String({ minLength: 1, maxLength: 64 }),
  /** Why services may be missing; null when every process was looked at. */
  cannot: Type.Union([Type.String({ maxLength: 1_000 }), Type.Null()]),
  stale: Type.Array(StaleService, { maxItems: STALE_SERVICES_MAX }),
  more_services: Type.Integer({ minimum: 0 }),
});
export type ServiceFile = Static<typeof ServiceFile>;

export function writeServiceFile(path: string, file: ServiceFile): void {
  writeDurably(path, new TextEncoder().encode(JSON.stringify(file)), { mode: 0o644 });
}

/** Believed only when root (or this user, in tests) wrote it. */
export function readServiceFile(
  path: string,
  writerUid: FileTrust['ownerUid'],
): { ok: true; file: ServiceFile } | { ok: false; detail: string } {
  const read = readTrusted(path, { maxBytes: FILE_MAX_BYTES, ownerUid: writerUid, forbiddenMode: 0o022 });
  if (!read.ok && read.reason === 'absent') {
    return { ok: false, detail: 'the units tidegate-observer.service and .timer are not installed' };
  }
  if (!read.ok) return { ok: false, detail: read.detail };
  const parsed = parseStrictJson(read.bytes);
  if (parsed.ok && Check(ServiceFile, parsed.value)) return { ok: true, file: parsed.value };
  return { ok: false, detail: `${path} is not a report of the observer` };
}
