import { chmod, copyFile, lstat, mkdir, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { giveAway, readDistributions } from './pypi-host.ts';
import { buildPypiFile, type PypiPackage } from './pypi-packages.ts';
import { runTool } from './run-tool.ts';

const PYTHON = '/usr/bin/python3';
/** What a throw-away interpreter does not take over: who manages the machine's own, and what is installed there. */
const NOT_TAKEN = new Set(['EXTERNALLY-MANAGED', 'site-packages', 'dist-packages']);

/** What one user installed for himself. */
export type PypiUser = {
  readonly home: string;
  readonly sitePackages: string;
  installed(): Promise<Record<string, string>>;
};

/** A throw-away interpreter of the machine's version with a system of its own, which nobody manages (PEP 668). */
export type PypiPython = {
  readonly prefix: string;
  readonly python: string;
  /** `3.11` */
  readonly version: string;
  /** The folder of its system's packages. */
  readonly systemPackages: string;
  /** Installs into its system, without an index. */
  installSystem(...packages: PypiPackage[]): Promise<void>;
  systemInstalled(): Promise<Record<string, string>>;
  /** Makes a home whose user has these installed for himself (`pip install --user`). */
  createUser(
    home: string,
    options: { installed: readonly PypiPackage[]; owner?: { uid: number; gid: number } },
  ): Promise<PypiUser>;
};

/** Makes an interpreter in `prefix`: its program is a copy, its standard library are links to the machine's. */
export async function createPypiPython(prefix: string): Promise<PypiPython> {
  const program = await realpath(PYTHON);
  const version = basename(program).replace(/^python/, '');
  const python = join(prefix, 'bin', basename(program));
  await makeOpen(join(prefix, 'bin'));
  await copyFile(program, python);
  await chmod(python, 0o755);
  for (const lib of ['lib', 'lib64']) {
    const from = join('/usr', lib, `python${version}`);
    if ((await lstat(from).catch(() => null)) === null) continue;
    const to = join(prefix, lib, `python${version}`);
    await makeOpen(to);
    const entries = (await readdir(from)).filter((name) => !NOT_TAKEN.has(name));
    for (const name of entries) await symlink(join(from, name), join(to, name));
  }
  const [pip = ''] = (await runTool(PYTHON, ['-I', '-c', 'import pip; print(pip.__path__[0])'])).split('\n');
  const ask = 'import site; print(site.getsitepackages()[0])';
  const [systemPackages = ''] = (await runTool(python, ['-I', '-S', '-c', ask])).split('\n');
  await makeOpen(systemPackages);

  async function install(packages: readonly PypiPackage[], where: readonly string[], base: string) {
    const wheels = join(prefix, 'wheels');
    await mkdir(wheels);
    for (const { filename, bytes } of packages.map(buildPypiFile))
      await writeFile(join(wheels, filename), bytes);
    const names = packages.map(({ name, version }) => `${name}==${version}`);
    const options = ['--isolated', '--no-index', '--no-deps', '-q', '--no-cache-dir', '--find-links', wheels];
    const quiet = ['--disable-pip-version-check', '--no-warn-script-location', '--ignore-installed'];
    const env = { PIP_CONFIG_FILE: '/dev/null', HOME: base, PYTHONUSERBASE: base };
    await runTool(python, [pip, 'install', ...options, ...quiet, ...where, ...names], { env });
    await rm(wheels, { recursive: true });
  }

  return {
    ...{ prefix, python, version, systemPackages },
    installSystem: (...packages) => install(packages, ['--target', systemPackages], prefix),
    systemInstalled: () => readDistributions(systemPackages),
    createUser: async (home, { installed, owner }) => {
      await makeOpen(home);
      const base = join(home, '.local');
      await install(installed, ['--user'], base);
      if (owner !== undefined) await giveAway(home, owner);
      const sitePackages = join(base, 'lib', `python${version}`, 'site-packages');
      return { home, sitePackages, installed: () => readDistributions(sitePackages) };
    },
  };
}

async function makeOpen(folder: string): Promise<void> {
  await mkdir(folder, { recursive: true });
  await chmod(folder, 0o755);
}
