import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createAptIndexHost, type IndexedPackage } from '@tidegate/testkit/apt-index-host';
import { tmpDir } from '@tidegate/testkit/tmp';
import { benchPlaces } from './plan-places.ts';
import { LOAD_CORE } from './processes.ts';
import type { BenchOptions } from './run.ts';

/** Pending updates of the measured hosts. */
const COUNTS = [120, 400] as const;
/** Packages installed beside them, and packages that the archive has beside those. */
const INSTALLED_BESIDE = 1_000;
const OFFERED_BESIDE = 30_000;
/** Of each source package. */
const BINARIES = 4;

/** Scan, every plan and the joint plan of hosts with many pending apt updates, on one core, before and after. */
export async function benchPlan({ say }: BenchOptions): Promise<Record<string, unknown>> {
  const results: Record<string, unknown> = {};
  for (const count of COUNTS) {
    using folder = tmpDir('tidegate-bench-plan-');
    const { aptConf } = await createAptIndexHost(folder.path, hostOf(count));
    const measured = await measure(aptConf);
    say(`${count} updates: ${JSON.stringify(measured)}`);
    results[count] = measured;
  }
  const places = await benchPlaces();
  say(`npm and PyPI: ${JSON.stringify(places)}`);
  const real = await measure('');
  say(`this machine: ${JSON.stringify(real)}`);
  return { ...results, ...places, thisMachine: real };
}

async function measure(aptConf: string): Promise<unknown> {
  const script = join(import.meta.dirname, 'plan-host.ts');
  const command = ['-c', String(LOAD_CORE), process.execPath, script, aptConf];
  const { stdout } = await promisify(execFile)('taskset', command, { timeout: 30 * 60_000 });
  return JSON.parse(stdout);
}

/** Sources of four packages that need each other's exact version, the first of which needs an unchanged library. */
function hostOf(count: number): { installed: IndexedPackage[]; offered: IndexedPackage[] } {
  const name = (index: number) => `p${Math.floor(index / BINARIES)}-${index % BINARIES}`;
  const updated = (version: string) =>
    Array.from({ length: count }, (_, index): IndexedPackage => {
      const first = index - (index % BINARIES);
      const needs = index === first ? `i${index} (>= 1)` : `${name(first)} (= ${version})`;
      const archive = first % 8 === 0 ? ('security' as const) : ('main' as const);
      return { name: name(index), version, archive, fields: { Source: `s${first}`, Depends: needs } };
    });
  const beside = (prefix: string, length: number) =>
    Array.from({ length }, (_, index): IndexedPackage => {
      const needs = index === 0 ? {} : { Depends: `${prefix}${Math.floor(index / 3)} (>= 1)` };
      return { name: `${prefix}${index}`, version: '1.0-1', fields: needs };
    });
  const installed = beside('i', INSTALLED_BESIDE);
  return {
    installed: [...installed, ...updated('1.0-1')],
    offered: [...installed, ...updated('1.1-1'), ...beside('o', OFFERED_BESIDE)],
  };
}
