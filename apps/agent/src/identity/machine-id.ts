import { createHash } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { MachineId } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { type Static, Type } from 'typebox';
import { Check } from 'typebox/value';
import { errorCode } from '../platform/file-layer.ts';
import { readInstanceId, readProductUuid } from './hardware-id-rules.ts';

const MACHINE_ID_PATH = '/etc/machine-id';
/** Only root can read it, so the agent's unit leaves a copy at start. */
const PRODUCT_UUID_PATHS = ['/sys/class/dmi/id/product_uuid', '/run/tidegate/product_uuid'];
/** This boot's file first: the other one is copied with the disk. */
const INSTANCE_DATA_PATH = '/run/cloud-init/instance-data.json';
const INSTANCE_ID_PATH = '/var/lib/cloud/data/instance-id';
const FILE_PREFIX = 'file:';
/** Largest file that is read for an id; the instance data of cloud-init is a few KiB. */
const SOURCE_MAX_BYTES = 1024 * 1024;

const NamedSource = Type.Enum(['machine-id', 'dmi', 'cloud', 'machine-id+dmi']);
const FileSource = Type.String({ pattern: `^${FILE_PREFIX}/.`, maxLength: 4_096 });
/** Where the id of this machine comes from, as config.json names it (docs/operator-guide.md says which to choose). */
export const MachineIdSource = Type.Union([NamedSource, FileSource]);
export type MachineIdSource = Static<typeof MachineIdSource>;

export type MachineIdOutcome =
  | { ok: true; machineId: string; sha256: string }
  | { ok: false; detail: string };

/** Reads this host's machine id (R1) from the source that its configuration names. `root` is `/` but in tests. */
export function readMachineId(source: MachineIdSource, root = '/'): MachineIdOutcome {
  const read = readSource(source, root);
  if (!read.ok) return read;
  if (!Check(MachineId, read.id)) {
    return { ok: false, detail: `${source} contains no machine id (1 to 128 visible ASCII characters)` };
  }
  return { ok: true, machineId: read.id, sha256: createHash('sha256').update(read.id).digest('hex') };
}

type Read = { ok: true; id: string } | { ok: false; detail: string };

function readSource(source: MachineIdSource, root: string): Read {
  if (!Check(NamedSource, source)) return readIdFile(join(root, source.slice(FILE_PREFIX.length)));
  switch (source) {
    case 'machine-id':
      return readIdFile(join(root, MACHINE_ID_PATH));
    case 'dmi':
      return readDmi(root);
    case 'cloud':
      return readCloud(root);
    case 'machine-id+dmi': {
      const machine = readIdFile(join(root, MACHINE_ID_PATH));
      if (!machine.ok) return machine;
      const board = readDmi(root);
      if (!board.ok) return board;
      // T3: a disk that is copied to other hardware has another id there.
      return { ok: true, id: createHash('sha256').update(`${machine.id}\n${board.id}`).digest('hex') };
    }
  }
}

function readIdFile(path: string): Read {
  const file = readSmallFile(path);
  if (!file.ok) return { ok: false, detail: `the machine id cannot be read from ${path} (${file.code})` };
  const id = file.text.trim();
  // systemd writes "uninitialized" on the first boot: every image would share that id.
  if (id === '' || id === 'uninitialized') return { ok: false, detail: `${path} contains no machine id` };
  return { ok: true, id };
}

function readDmi(root: string): Read {
  let code = '';
  for (const path of PRODUCT_UUID_PATHS.map((name) => join(root, name))) {
    const file = readSmallFile(path);
    if (!file.ok) {
      code ||= `${path}: ${file.code}`;
      continue;
    }
    const uuid = readProductUuid(file.text);
    if (uuid !== null) return { ok: true, id: uuid };
    return { ok: false, detail: `${path} holds a placeholder that many machines share` };
  }
  const advice = 'only root may read it, and the unit of the agent leaves a copy in /run/tidegate';
  return { ok: false, detail: `the firmware's id of this machine cannot be read (${code}); ${advice}` };
}

const InstanceData = Type.Object({ v1: Type.Object({ instance_id: Type.String() }) });

/** The id of this instance as cloud-init left it; nothing is asked over the network. */
function readCloud(root: string): Read {
  const path = join(root, INSTANCE_DATA_PATH);
  const data = readSmallFile(path);
  const parsed = data.ok ? parseStrictJson(data.text) : null;
  if (parsed?.ok && Check(InstanceData, parsed.value))
    return judgeInstance(path, parsed.value.v1.instance_id);
  const plain = readSmallFile(join(root, INSTANCE_ID_PATH));
  if (plain.ok) return judgeInstance(join(root, INSTANCE_ID_PATH), plain.text);
  return { ok: false, detail: `cloud-init left no instance id (${INSTANCE_ID_PATH}: ${plain.code})` };
}

function judgeInstance(path: string, text: string): Read {
  const id = readInstanceId(text);
  return id === null ? { ok: false, detail: `${path} names no cloud instance` } : { ok: true, id };
}

/** Links are followed: some systems have /etc/machine-id elsewhere. */
function readSmallFile(path: string): { ok: true; text: string } | { ok: false; code: string } {
  let fd: number;
  try {
    fd = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    return { ok: false, code: errorCode(error) };
  }
  try {
    const stat = fstatSync(fd);
    if (!stat.isFile()) return { ok: false, code: 'not a regular file' };
    if (stat.size > SOURCE_MAX_BYTES) return { ok: false, code: `larger than ${SOURCE_MAX_BYTES} bytes` };
    return { ok: true, text: readFileSync(fd, 'utf8') };
  } catch (error) {
    return { ok: false, code: errorCode(error) };
  } finally {
    closeSync(fd);
  }
}
