import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { MachineId } from '@tidegate/protocol/scalars';
import { Check } from 'typebox/value';
import { errorCode } from './file-layer.ts';

export const DEFAULT_MACHINE_ID_SOURCE = 'machine-id';
const MACHINE_ID_PATH = '/etc/machine-id';
const FILE_PREFIX = 'file:';

export type MachineIdOutcome =
  | { ok: true; machineId: string; sha256: string }
  | { ok: false; detail: string };

/** Reads this host's machine id (R1) from the source that its configuration names. */
export function readMachineId(source: string): MachineIdOutcome {
  const path = source.startsWith(FILE_PREFIX) ? source.slice(FILE_PREFIX.length) : MACHINE_ID_PATH;
  let text: string;
  try {
    text = readFileSync(path, 'utf8').trim();
  } catch (error) {
    return { ok: false, detail: `the machine id cannot be read from ${path} (${errorCode(error)})` };
  }
  // systemd writes "uninitialized" on the first boot: every image would share that id.
  if (text === 'uninitialized' || !Check(MachineId, text)) {
    return { ok: false, detail: `${path} holds no machine id (1 to 128 visible ASCII characters)` };
  }
  return { ok: true, machineId: text, sha256: createHash('sha256').update(text).digest('hex') };
}
