import { chmod, mkdir, readdir, readFile, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isObject, parseJson } from './json-shape.ts';
import { keepOriginal } from './keep-original.ts';
import { NPM_DEMO, type NpmSet } from './npm-packages.ts';
import { type NpmRegistry, startNpmRegistry } from './npm-registry.ts';
import { findTool, runTool, SYSTEM_PATH } from './run-tool.ts';

const FOLDERS = `/usr/local/bin:${SYSTEM_PATH}`;

/** Why no npm host can be made here, or null when one can. */
export function npmHostMissing(): string | null {
  if (findTool('npm', FOLDERS) === null) return 'npm is not installed (package npm)';
  return findTool('node', FOLDERS) === null ? 'node is not installed (package nodejs)' : null;
}

export type NpmHostOptions = {
  packages?: NpmSet;
  /** Who owns prefix and project; only root can choose, and gives them away unless told otherwise. */
  owner?: { uid: number; gid: number };
};

/** A throw-away prefix with old global packages, and a project folder with an old lockfile and what it names. */
export type NpmHost = {
  readonly prefix: string;
  readonly project: string;
  readonly registry: NpmRegistry;
  /** Name and version of the packages below a folder's node_modules, by location, as they lie on the disk. */
  tree(folder: string): Promise<Record<string, string>>;
  /** What lies in the prefix, by location below `lib`. */
  globals(): Promise<Record<string, string>>;
  /** What lies in the project. */
  modules(): Promise<Record<string, string>>;
  npm(args: readonly string[], cwd?: string): Promise<string>;
  /** Brings back prefix and project as they were made, and the registry's answers; what it offers stays. */
  rollBack(): Promise<void>;
  stop(): Promise<void>;
};

/** Makes the host in `dir`, which every user must be able to reach (`dir` itself is opened). */
export async function createNpmHost(dir: string, options: NpmHostOptions = {}): Promise<NpmHost> {
  const base = await realpath(dir);
  await chmod(base, 0o755);
  const set = options.packages ?? NPM_DEMO;
  const owner = options.owner ?? (process.getuid?.() === 0 ? { uid: 20_001, gid: 20_001 } : undefined);
  const [prefix, project, home] = [join(base, 'prefix'), join(base, 'project'), join(base, 'home')];
  for (const folder of [prefix, project, home]) await mkdir(folder);
  await writeFile(join(home, 'empty'), '');
  const manifest = {
    name: 'story',
    version: '0.0.1',
    private: true,
    license: 'MIT',
    dependencies: set.project,
  };
  await writeFile(join(project, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  if (owner !== undefined) await runTool('chown', ['-R', `${owner.uid}:${owner.gid}`, prefix, project, home]);
  const registry = await startNpmRegistry({ packages: set.installed });

  const fixed = [
    `--registry=${registry.url}/`,
    `--cache=${join(home, 'cache')}`,
    `--userconfig=${join(home, 'empty')}`,
    `--globalconfig=${join(home, 'empty-too')}`,
    ...['--no-audit', '--no-fund', '--no-update-notifier', '--ignore-scripts'],
  ];
  const npm = (args: readonly string[], cwd = home) =>
    runTool(findTool('npm', FOLDERS) ?? 'npm', [...args, ...fixed], {
      cwd,
      env: { PATH: FOLDERS, HOME: home },
      ...(owner !== undefined && { owner }),
    });

  try {
    for (const { name, version } of set.global) {
      await npm(['install', '-g', `--prefix=${prefix}`, `${name}@${version}`]);
    }
    await npm(['install'], project);
  } catch (error) {
    await registry.stop();
    throw error;
  }
  registry.publish(...set.offered);
  registry.fetched.length = 0;
  const restore = await Promise.all([prefix, project].map(keepOriginal));

  return {
    prefix,
    project,
    registry,
    tree: (folder) => readModules(folder, ''),
    globals: () => readModules(join(prefix, 'lib'), ''),
    modules: () => readModules(project, ''),
    npm,
    rollBack: async () => {
      await Promise.all(restore.map((bringBack) => bringBack()));
      registry.mode = 'up';
      registry.fetched.length = 0;
    },
    stop: () => registry.stop(),
  };
}

async function readModules(folder: string, location: string): Promise<Record<string, string>> {
  const below = join(location, 'node_modules');
  const found: Record<string, string> = {};
  for (const name of await list(join(folder, below))) {
    const names = name.startsWith('@')
      ? (await list(join(folder, below, name))).map((one) => `${name}/${one}`)
      : [name];
    for (const one of names) {
      const text = await readFile(join(folder, below, one, 'package.json'), 'utf8');
      const manifest = parseJson(text);
      found[join(below, one)] = isObject(manifest) ? `${manifest.name} ${manifest.version}` : 'unreadable';
      Object.assign(found, await readModules(folder, join(below, one)));
    }
  }
  return found;
}

async function list(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => []);
  return names.filter((name) => !name.startsWith('.')).sort();
}
