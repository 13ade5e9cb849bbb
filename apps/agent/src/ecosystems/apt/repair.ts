import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import {
  REPAIR_PACKAGES_MAX,
  REPAIR_SCRIPTS,
  REPAIR_STATES,
  Repair,
  type RepairPackage,
} from '@tidegate/protocol/repairs';
import { Check } from 'typebox/value';
import { readTrusted } from '../../platform/file-layer.ts';
import { type AptPlaces, type BrokenPackage, type InstalledState, isInterrupted } from './installed.ts';
import type { Parsed } from './parse-transaction.ts';

/** The largest of Debian 12 has 60 KB. */
const SCRIPT_MAX_BYTES = 4 * 1024 * 1024;

/**
 * What `dpkg --configure` would finish on this host at this moment, and the scripts that would run. Fails where not
 * all of that can be said: then nothing is offered, and nothing is run.
 */
export function findRepair(places: AptPlaces, { broken }: Pick<InstalledState, 'broken'>): Parsed<Repair> {
  const unfinished = broken.flatMap((found) => {
    const state = REPAIR_STATES.find((each) => each === found.state);
    return state === undefined ? [] : [{ ...found, state }];
  });
  if (unfinished.length > REPAIR_PACKAGES_MAX) {
    return { ok: false, reason: `${unfinished.length} packages are unfinished` };
  }
  const packages: RepairPackage[] = [];
  for (const found of unfinished) {
    const scripts = readScripts(places, found);
    if (!scripts.ok) return scripts;
    const { name, arch, version, state } = found;
    packages.push({ name, arch, version, state, scripts: scripts.value });
  }
  const repair = { packages: packages.sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1)) };
  return Check(Repair, repair) ? { ok: true, value: repair } : { ok: false, reason: 'a name is not dpkg’s' };
}

/** What a report offers: null where there is nothing to finish, or where it cannot be told. */
export async function offeredRepair(
  places: AptPlaces,
  installed: Pick<InstalledState, 'broken'>,
): Promise<Repair | null> {
  const found = findRepair(places, installed);
  if (!found.ok) return null;
  return found.value.packages.length > 0 || (await isInterrupted(places)) ? found.value : null;
}

export function keyOf({ name, arch }: { name: string; arch: string }): string {
  return `${name}:${arch}`;
}

/** The digests of the scripts in dpkg's own folder, to which only root can write. */
function readScripts(
  { adminDir }: AptPlaces,
  { name, arch }: BrokenPackage,
): Parsed<RepairPackage['scripts']> {
  // dpkg names the files with the architecture if the package may be installed for several; all have such a list.
  const withArch = join(adminDir, 'info', `${name}:${arch}`);
  const base = existsSync(`${withArch}.list`) ? withArch : join(adminDir, 'info', name);
  const scripts: RepairPackage['scripts'] = {};
  for (const script of REPAIR_SCRIPTS) {
    const trust = { maxBytes: SCRIPT_MAX_BYTES, ownerUid: null, forbiddenMode: 0 };
    const read = readTrusted(`${base}.${script}`, trust);
    if (read.ok) scripts[script] = createHash('sha256').update(read.bytes).digest('hex');
    else if (read.reason !== 'absent') return { ok: false, reason: read.detail };
  }
  return { ok: true, value: scripts };
}
