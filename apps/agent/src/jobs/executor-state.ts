import { chmodSync, lstatSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { strict, Timestamp, Uuid } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import { HostPlaces } from '../ecosystems/host-places.ts';
import { type SaveOutcome, TrustedKeySet, unusableKey } from '../identity/config-file.ts';
import { MachineIdSource } from '../identity/machine-id.ts';
import { errorCode, ownUid, readTrusted, writeDurably } from '../platform/file-layer.ts';
import { secureFolder } from '../platform/root-folder.ts';

export const STATE_NAME = 'state.json';
export const STATE_MAX_BYTES = 1024 * 1024;

/**
 * The executor's own trust, pinned at enrolment and writable by root alone: a compromised agent can neither name
 * another fleet nor add keys.
 */
export const ExecutorState = strict({
  v: Type.Literal(1),
  fleet_id: Uuid,
  agent_id: Uuid,
  machine_id_source: MachineIdSource,
  trusted_keys: TrustedKeySet,
  places: HostPlaces,
  /** The newest signed time seen in a job: an older state is a rollback. */
  newest_state: Type.Optional(Timestamp),
});
export type ExecutorState = Static<typeof ExecutorState>;

export type LoadState = { ok: true; state: ExecutorState } | { ok: false; detail: string };

export function loadExecutorState(folder: string): LoadState {
  const guard = guardFolder(folder);
  if (!guard.ok) return guard;
  const path = join(folder, STATE_NAME);
  const read = readTrusted(path, { maxBytes: STATE_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 });
  if (!read.ok) return { ok: false, detail: read.detail };
  const parsed = parseStrictJson(read.bytes);
  if (!parsed.ok || !Check(ExecutorState, parsed.value)) {
    return { ok: false, detail: `${path} is not a valid executor state; enrol this host again as root` };
  }
  const unusable = unusableKey(parsed.value.trusted_keys);
  if (unusable !== null) return { ok: false, detail: `${path}: ${unusable}` };
  return { ok: true, state: parsed.value };
}

export function saveExecutorState(folder: string, state: ExecutorState): SaveOutcome {
  const secured = secureFolder(folder, { mode: 0o755, isGivenAway: false });
  if (!secured.ok) return secured;
  try {
    mkdirSync(join(folder, 'results'), { recursive: true, mode: 0o755 });
    chmodSync(folder, 0o755); // the agent reads results here; there is no secret in it
    chmodSync(join(folder, 'results'), 0o755);
    mkdirSync(join(folder, 'stage'), { recursive: true, mode: 0o700 });
    writeDurably(join(folder, STATE_NAME), new TextEncoder().encode(JSON.stringify(state)), { mode: 0o644 });
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: `${folder} cannot be written (${errorCode(error)})` };
  }
}

/** Anyone who can write the folder can replace its files, whatever their mode. */
function guardFolder(folder: string): SaveOutcome {
  const secured = secureFolder(folder, { mode: null, isGivenAway: false });
  if (!secured.ok) return { ok: false, detail: `${secured.detail}: enrol this host as root` };
  try {
    const stat = lstatSync(folder);
    const uid = ownUid();
    if (!stat.isDirectory()) return { ok: false, detail: `${folder} is not a folder` };
    if (uid !== null && (stat.uid !== uid || (stat.mode & 0o022) !== 0)) {
      return { ok: false, detail: `${folder} can be written by others than the executor` };
    }
    return { ok: true };
  } catch (error) {
    return { ok: false, detail: `${folder} cannot be read (${errorCode(error)}): enrol this host as root` };
  }
}
