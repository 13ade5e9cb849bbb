import type { ProbeResult } from '@tidegate/protocol/probes';
import type { PolicyPlace } from '../host-policy/policy-folders.ts';
import { shownText } from '../platform/shown-text.ts';
import type { CheckFile } from './check-folder.ts';
import { type ProbeFile, readProbes } from './probe-file.ts';
import { runProbe } from './run-probe.ts';
import { type Seen, unknown } from './seen.ts';
import type { Units } from './units.ts';

/** Probes that run at one time. */
const AT_ONCE = 8;
/** No probe begins later than this. */
export const BEGIN_MAX_MS = 180_000;
/** The name under which a folder that cannot be used is reported. */
export const FOLDER_PROBE = 'probes.d';

export interface ProbesMeans {
  policy: PolicyPlace;
  units: Units;
  elapsedMs: () => number;
}

/** Runs all probes that root has named, and reports each by its name in order. Never throws for what one of them does. */
export async function runProbes({ policy, units, elapsedMs }: ProbesMeans): Promise<ProbeResult[]> {
  const folder = readProbes(policy);
  if (!folder.ok) return [resultOf(FOLDER_PROBE, unknown(folder.fault))];
  const { files } = folder;
  const beganMs = elapsedMs();
  const results: ProbeResult[] = [];
  let next = 0;

  async function work(): Promise<void> {
    for (let at = next++; at < files.length; at = next++) {
      const file = files[at];
      if (file !== undefined) results[at] = await look(file);
    }
  }

  async function look(file: CheckFile<ProbeFile>): Promise<ProbeResult> {
    if (!file.ok) return resultOf(file.name, unknown(file.fault));
    const { name, value } = file;
    if (elapsedMs() - beganMs > BEGIN_MAX_MS) {
      return resultOf(name, unknown('the probes before it took too long'), value.kind);
    }
    return resultOf(name, await runProbe(value, { place: policy, units }), value.kind);
  }

  await Promise.all(Array.from({ length: AT_ONCE }, work));
  return results;
}

function resultOf(name: string, { state, detail }: Seen, kind?: ProbeFile['kind']): ProbeResult {
  const shown = detail === undefined ? '' : shownText(detail, 200);
  return { name, ...(kind && { kind }), state, ...(shown !== '' && { detail: shown }) };
}
