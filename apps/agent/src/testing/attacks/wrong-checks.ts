import { chmodSync, chownSync, renameSync, symlinkSync } from 'node:fs';
import { join } from 'node:path';
import type { ProbeReport } from '@tidegate/protocol/probes';
import { ownUid } from '../../platform/file-layer.ts';
import { writeLook } from '../../probes/look-file.ts';
import { checksIn } from '../checks-world.ts';
import { NOW_MS } from '../fleet.ts';
import type { JobWorld } from '../job-world.ts';
import type { Attack } from './attack.ts';

const LOOK = 'look.json';
const green: ProbeReport['probes'] = [{ name: 'web', kind: 'tcp', state: 'green' }];

/** A host with a probe, and a look in which it is green. */
function probed(
  spoil: (world: JobWorld) => void,
  { probes = green, ageMs = 0 }: { probes?: ProbeReport['probes']; ageMs?: number } = {},
) {
  return (world: JobWorld) => {
    checksIn(world.folder).probe('web', { kind: 'tcp', port: 80 });
    const at = new Date(NOW_MS - ageMs).toISOString();
    writeLook(join(world.folder, LOOK), { v: 1, report: { at, probes }, failed_units: null });
    spoil(world);
  };
}

/** A host with a hook before each installation, whose program would succeed. */
function hooked(spoil: (world: JobWorld) => void) {
  return (world: JobWorld) => {
    const checks = checksIn(world.folder);
    checks.hook('before/10-backup', { program: checks.script('backup', 'exit 0') });
    spoil(world);
  };
}

const at =
  (...parts: string[]) =>
  (world: JobWorld) =>
    join(world.folder, ...parts);
const open = (path: (world: JobWorld) => string, mode: number) => (world: JobWorld) =>
  chmodSync(path(world), mode);
const linked = (path: (world: JobWorld) => string) => (world: JobWorld) => {
  renameSync(path(world), `${path(world)}.real`);
  symlinkSync(`${path(world)}.real`, path(world));
};
const owned = (path: (world: JobWorld) => string) => (world: JobWorld) => {
  // Only root can give a file away; without that right the row shows the same by its mode.
  if (ownUid() === 0) chownSync(path(world), 12_345, 12_345);
  else chmodSync(path(world), 0o666);
};

const unfit = { agent: 'ok', executor: 'unfit', learns: 'accepted' as const };
const failed = { agent: 'ok', executor: 'hook_failed', learns: 'accepted' as const };

/** Whoever is the agent's user cannot make a sick host look sound, nor choose what root runs. */
export const WRONG_CHECKS: Attack[] = [
  {
    name: 'probes that are red',
    before: probed(() => {}, { probes: [{ name: 'web', state: 'red' }] }),
    ...unfit,
  },
  {
    name: 'probes that nobody could tell',
    before: probed(() => {}, { probes: [{ name: 'web', state: 'unknown' }] }),
    ...unfit,
  },
  { name: 'a look without the probe', before: probed(() => {}, { probes: [] }), ...unfit },
  { name: 'an old look', before: probed(() => {}, { ageMs: 600_001 }), ...unfit },
  { name: 'a look from the future', before: probed(() => {}, { ageMs: -600_001 }), ...unfit },
  { name: 'a look that another user wrote', before: probed(owned(at(LOOK))), ...unfit },
  { name: 'a look that others can write', before: probed(open(at(LOOK), 0o666)), ...unfit },
  { name: 'a link in the place of the look', before: probed(linked(at(LOOK))), ...unfit },
  { name: 'a folder of probes that others can write', before: probed(open(at('probes.d'), 0o777)), ...unfit },
  { name: 'a hook of another user', before: hooked(owned(at('hooks.d/before/10-backup.json'))), ...failed },
  {
    name: 'a hook that others can write',
    before: hooked(open(at('hooks.d/before/10-backup.json'), 0o666)),
    ...failed,
  },
  {
    name: 'a link in the place of a hook',
    before: hooked(linked(at('hooks.d/before/10-backup.json'))),
    ...failed,
  },
  {
    name: 'a folder of hooks that others can write',
    before: hooked(open(at('hooks.d/before'), 0o777)),
    ...failed,
  },
  { name: 'a program of another user', before: hooked(owned(at('programs/backup'))), ...failed },
  { name: 'a program that others can write', before: hooked(open(at('programs/backup'), 0o757)), ...failed },
  { name: 'a link in the place of a program', before: hooked(linked(at('programs/backup'))), ...failed },
  {
    name: 'a program in a folder that others can write',
    before: hooked(open(at('programs'), 0o777)),
    ...failed,
  },
];
