import { dirname } from 'node:path';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { errorCode, type FileTrust } from '../platform/file-layer.ts';
import { secureFolder } from '../platform/root-folder.ts';
import { type Look, readFailedBefore, writeLook } from './look-file.ts';
import { runProbes } from './run-probes.ts';
import { createUnits } from './units.ts';

export interface LookOptions {
  policy: PolicyPlace;
  /** Where the executor left which units had failed before the last installation. */
  failedBefore: string;
  writerUid: FileTrust['ownerUid'];
  systemctl: string;
  nowMs: () => number;
  elapsedMs: () => number;
}

/** Runs the probes of this host once. */
export async function lookOnce(options: LookOptions): Promise<Look> {
  const { policy, systemctl, nowMs, elapsedMs } = options;
  const before = readFailedBefore(options.failedBefore, options.writerUid);
  const units = createUnits({ systemctl, before });
  const at = new Date(nowMs()).toISOString(); // before the first: what is seen is not older than this
  const probes = await runProbes({ policy, units, elapsedMs });
  const failed = probes.some(({ kind }) => kind === 'failed_units') ? await units.failed() : null;
  return { v: 1, report: { at, probes }, failed_units: failed === null ? null : [...failed] };
}

/** Root's part: runs the probes and leaves what they saw where agent and executor read it. */
export async function lookAsRoot(
  options: LookOptions & { out: string },
): Promise<{ ok: true; look: Look } | { ok: false; detail: string }> {
  const { out } = options;
  const secured = secureFolder(dirname(out), { mode: 0o755, isGivenAway: false });
  if (!secured.ok) return secured;
  const look = await lookOnce(options);
  try {
    writeLook(out, look);
    return { ok: true, look };
  } catch (error) {
    return { ok: false, detail: `${out} cannot be written (${errorCode(error)})` };
  }
}
