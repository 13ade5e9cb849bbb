import { execFile } from 'node:child_process';
import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { createNpmHost, npmHostMissing } from '@tidegate/testkit/npm-host';
import { createPypiHost, pypiHostMissing } from '@tidegate/testkit/pypi-host';
import { startPypiIndex } from '@tidegate/testkit/pypi-index';
import { tmpDir } from '@tidegate/testkit/tmp';
import { LOAD_CORE } from './processes.ts';

const PYPI_UPDATES = 17;
const NPM_UPDATES = 10;
/** Reports the largest peak memory of the process and of what it runs, npm and pip among them. */
const WITH_PEAK =
  'import resource, subprocess, sys; code = subprocess.call(sys.argv[1:]); ' +
  'sys.stderr.write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); sys.exit(code)';

/** The updates of one place, one by one as before, and as one transaction, from a registry on this machine. */
export async function benchPlaces(): Promise<Record<string, unknown>> {
  return {
    ...(npmHostMissing() === null && { npm: await benchNpm() }),
    ...(pypiHostMissing() === null && { pypi: await benchPypi() }),
  };
}

async function benchNpm(): Promise<unknown> {
  using folder = tmpDir('tidegate-bench-npm-');
  const names = namesOf(NPM_UPDATES);
  const versions = (version: string) =>
    names.map((name, index) => ({ name, version, dependencies: needsOf(names, index, `^${version}`) }));
  const host = await createNpmHost(folder.path, {
    packages: {
      global: [],
      project: Object.fromEntries(names.map((name) => [name, '^1.0.0'])),
      installed: versions('1.0.0'),
      offered: versions('1.1.0'),
    },
  });
  try {
    const config = { npm_prefix: host.prefix, npm_projects: [host.project], npm_registry: host.registry.url };
    return await measure('npm', { config, arch: host.project, toVersion: '1.1.0', names });
  } finally {
    await host.stop();
  }
}

async function benchPypi(): Promise<unknown> {
  using folder = tmpDir('tidegate-bench-pypi-');
  await chmod(folder.path, 0o755);
  const names = namesOf(PYPI_UPDATES);
  const versions = (version: string) =>
    names.map((name, index) => {
      const needs = Object.keys(needsOf(names, index, version));
      return { name, version, requires: needs.map((need) => `${need}>=${version}`) };
    });
  const index = await startPypiIndex([...versions('1.0'), ...versions('2.0')]);
  try {
    const { path } = await createPypiHost(join(folder.path, 'env'), { installed: versions('1.0') });
    const config = { pypi_environments: [path], pypi_index: index.url };
    return await measure('pypi', { config, arch: path, toVersion: '2.0', names });
  } finally {
    await index.stop();
  }
}

interface Measured {
  config: Record<string, unknown>;
  arch: string;
  toVersion: string;
  names: readonly string[];
}

async function measure(ecosystem: string, { names, ...given }: Measured): Promise<Record<string, unknown>> {
  const run = async (joint: boolean) => {
    const script = join(import.meta.dirname, 'plan-place.ts');
    const request = JSON.stringify({ ecosystem, joint, names, ...given });
    const command = ['-c', String(LOAD_CORE), '/usr/bin/python3', '-c', WITH_PEAK, process.execPath, script];
    const limits = { timeout: 30 * 60_000 };
    const { stdout, stderr } = await promisify(execFile)('taskset', [...command, request], limits);
    const peakMb = Math.round(Number(stderr.trim().split('\n').at(-1)) / 1_024);
    return { ...JSON.parse(stdout), peakMb };
  };
  return { updates: names.length, alone: await run(false), joint: await run(true) };
}

function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `measured-${index}`);
}

/** Each package but the first needs the one before. */
function needsOf(names: readonly string[], index: number, range: string): Record<string, string> {
  const before = names[index - 1];
  return before === undefined ? {} : { [before]: range };
}
