import { join } from 'node:path';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { ownUid } from '../platform/file-layer.ts';
import { type Fitness, judgeFitness } from '../probes/fitness-rules.ts';
import { FAILED_BEFORE_NAME, readLook, writeFailedBefore } from '../probes/look-file.ts';
import { readProbes } from '../probes/probe-file.ts';

export interface FitnessMeans {
  policy: PolicyPlace;
  /** Where root's probes leave what they saw. The agent has them run; it cannot write it. */
  lookFile: string;
  /** The executor's own folder. */
  state: string;
}

/**
 * Whether the probes that root has named find this host sound. `begin` keeps what had failed by now, to compare with
 * after the installation.
 */
export function examineFitness(
  { policy, lookFile, state }: FitnessMeans,
  nowMs: number,
): Fitness & { begin: () => void } {
  const folder = readProbes(policy);
  const look = readLook(lookFile, ownUid());
  const names = folder.ok ? folder.files.map(({ name }) => name) : null;
  const fitness = judgeFitness({ names, report: look?.report ?? null, nowMs });
  const detail = folder.ok || fitness.ok ? {} : { detail: `${fitness.detail}: ${folder.fault}` };
  const failed = fitness.ok && fitness.report !== null ? (look?.failed_units ?? null) : null;
  return {
    ...{ ...fitness, ...detail },
    begin: () => {
      if (failed !== null) writeFailedBefore(join(state, FAILED_BEFORE_NAME), failed);
    },
  };
}
