import { chmod, chown, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { buildPypiFile, type PypiPackage } from './pypi-packages.ts';
import { findTool, runTool } from './run-tool.ts';

const PYTHON = '/usr/bin/python3';

/** Why no virtual environment can be made here, or null when one can. */
export function pypiHostMissing(): string | null {
  if (findTool('python3') === null) return 'python3 is not installed (package python3)';
  if (findTool('pip3') === null) return 'pip is not installed (package python3-pip)';
  return null;
}

export type PypiHostOptions = {
  installed?: readonly PypiPackage[];
  /** Whether the environment gets a pip of its own; it has none unless asked for. */
  withPip?: boolean;
  /** Whether it sees the packages of its interpreter's system too. */
  withSystemPackages?: boolean;
  /** The interpreter that it is made with; the machine's own unless given. */
  interpreter?: string;
  /** Whom the environment belongs to; only root can choose. */
  owner?: { uid: number; gid: number };
};

/** A throw-away virtual environment of the machine's own Python. */
export type PypiHost = {
  readonly path: string;
  readonly sitePackages: string;
  readonly python: string;
  /** Names (as their folders spell them) and versions of what is installed. */
  installed(): Promise<Record<string, string>>;
  /** Installs files built from these words, without an index. */
  install(...packages: PypiPackage[]): Promise<void>;
};

/** Makes an environment at `path`. What is installed comes from files, without network. */
export async function createPypiHost(path: string, options: PypiHostOptions = {}): Promise<PypiHost> {
  const kind = [
    ...(options.withPip ? [] : ['--without-pip']),
    ...(options.withSystemPackages ? ['--system-site-packages'] : []),
  ];
  await runTool(options.interpreter ?? PYTHON, ['-m', 'venv', ...kind, path]);
  await chmod(path, 0o755);
  const lib = join(path, 'lib');
  const version = (await readdir(lib)).find((name) => name.startsWith('python3.'));
  if (version === undefined) throw new Error(`${lib} has no Python`);
  const sitePackages = join(lib, version, 'site-packages');
  const python = join(path, 'bin', 'python');

  async function install(...packages: PypiPackage[]): Promise<void> {
    const wheels = join(path, '.wheels');
    await mkdir(wheels);
    for (const { filename, bytes } of packages.map(buildPypiFile))
      await writeFile(join(wheels, filename), bytes);
    // By name out of a folder: given as paths they would count as not being of an index (PEP 610).
    const names = packages.map(({ name, version }) => `${name}==${version}`);
    const pip = ['-m', 'pip', '--python', python, 'install', '--isolated', '--no-index', '--no-deps', '-q'];
    const options = ['--no-cache-dir', '--disable-pip-version-check', '--find-links', wheels];
    const env = { PIP_CONFIG_FILE: '/dev/null', HOME: path };
    await runTool(PYTHON, [...pip, ...options, ...names], { env });
    await rm(wheels, { recursive: true });
  }

  if (options.installed !== undefined) await install(...options.installed);
  if (options.owner !== undefined) await giveAway(path, options.owner);
  return {
    ...{ path, sitePackages, python, install },
    installed: () => readDistributions(sitePackages),
  };
}

/** Names (as their folders spell them) and versions of what lies in a folder of packages. */
export async function readDistributions(folder: string): Promise<Record<string, string>> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.dist-info'));
  const found = names.map(async (info): Promise<[string, string]> => {
    const metadata = await readFile(join(folder, info, 'METADATA'), 'utf8');
    const [, name = ''] = /^Name: (.+)$/m.exec(metadata) ?? [];
    const [, version = ''] = /^Version: (.+)$/m.exec(metadata) ?? [];
    return [name, version];
  });
  return Object.fromEntries((await Promise.all(found)).sort());
}

/** Gives a folder and all in it to a user. */
export async function giveAway(path: string, { uid, gid }: { uid: number; gid: number }): Promise<void> {
  await runTool('chown', ['-hR', `${uid}:${gid}`, path]);
  await chown(path, uid, gid);
}
