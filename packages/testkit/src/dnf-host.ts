import { chmod, mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { DNF_DEMO, DNF_REPOSITORIES, type DnfPackage, type DnfSet, evrOf } from './dnf-packages.ts';
import { createDnfRepositories, type DnfRepositories } from './dnf-repository.ts';
import { createDnfSigner, type DnfSigner } from './dnf-signer.ts';
import { keepOriginal } from './keep-original.ts';
import { findTool, runTool } from './run-tool.ts';
import { serveFolder } from './serve-folder.ts';

/** Where Red Hat's rpm has its database; Debian's would have it in the home directory. */
const DATABASE = '/var/lib/rpm';

/** Why no dnf host can be made here, or null when one can. */
export function dnfHostMissing(): string | null {
  const needed = {
    ...{ 'dnf-3': 'dnf', createrepo_c: 'createrepo-c', modifyrepo_c: 'createrepo-c' },
    ...{ rpmbuild: 'rpm', rpmsign: 'rpm', gpg: 'gnupg' },
  };
  const missing = Object.entries(needed).filter(([tool]) => findTool(tool) === null);
  if (missing.length > 0) {
    return missing.map(([tool, brings]) => `${tool} is not installed (package ${brings})`).join('; ');
  }
  return process.getuid?.() === 0 ? null : 'rpm enters the root of a host, which needs root';
}

export type DnfHostOptions = {
  /** What is installed and offered; several sets are put together. `DNF_DEMO` unless given. */
  packages?: readonly DnfSet[];
  /** How dnf reaches the repositories; `http` is a real download, from a loopback server in this process. */
  transport?: 'file' | 'http';
};

/** A throw-away install root with signed repositories; nothing of the real host is read or changed. */
export type DnfHost = {
  /** The install root: what the agent is given as `--dnf-root`. */
  readonly root: string;
  readonly repositories: DnfRepositories;
  readonly signer: DnfSigner;
  /** Name and version of what is installed, `name epoch:version-release`, sorted. */
  installed(): Promise<string[]>;
  /** Runs dnf on this host, as a person on it would. */
  dnf(...args: string[]): Promise<string>;
  /** Builds packages into the repositories and makes them known. */
  publish(...packages: DnfPackage[]): Promise<void>;
  /** Takes versions away from the repositories, which then do not know them any more. */
  withdraw(...versions: { name: string; evr: string }[]): Promise<void>;
  /** Brings back the root as it was made; the repositories stay as they are. */
  rollBack(): Promise<void>;
  /** The file of a package. Throws where none was published. */
  rpmPath(name: string, evr: string): string;
  /** Paths that were fetched over http, in order. */
  readonly fetched: string[];
  /** Ends the http server and gpg's agent. The folder stays. */
  stop(): Promise<void>;
};

/** Makes the host in `dir`, which is opened to every user: who scans and downloads is not root. */
export async function createDnfHost(dir: string, options: DnfHostOptions = {}): Promise<DnfHost> {
  const base = await realpath(dir);
  await chmod(base, 0o755);
  const root = join(base, 'root');
  let rollBack: () => Promise<void>;
  const sets = options.packages ?? [DNF_DEMO];
  const original = sets.flatMap((set) => set.installed);
  const published = [...original, ...sets.flatMap((set) => set.offered)];
  const signer = await createDnfSigner(base);
  const repositories = await createDnfRepositories(join(base, 'repositories'), signer);
  const fetched: string[] = [];
  const server = options.transport === 'http' ? await serveFolder(repositories.folder, fetched) : null;
  const stop = async () => {
    await server?.stop();
    await signer.stop();
  };

  const find = (name: string, evr: string) => {
    const pkg = published.findLast((candidate) => candidate.name === name && evrOf(candidate) === evr);
    if (pkg === undefined) throw new RangeError(`${name} ${evr} was never published`);
    return pkg;
  };
  const rpm = (...args: string[]) => runTool('rpm', ['--root', root, '--dbpath', DATABASE, ...args]);

  try {
    await repositories.add(published);
    await repositories.reindex();
    await writeRootFiles(root, { uri: server?.url ?? `file://${repositories.folder}`, signer });
    await rpm('--import', signer.keyFile);
    await installWithDnf(base, root, original);
    await runTool('chmod', ['-R', 'a+rX', root]);
    rollBack = await keepOriginal(root);
  } catch (error) {
    await stop();
    throw error;
  }

  return {
    root,
    repositories,
    signer,
    installed: async () => {
      const lines = await rpm('-qa', '--qf', '%{NAME} %{EPOCHNUM}:%{VERSION}-%{RELEASE}\\n');
      return lines
        .split('\n')
        .filter((line) => line !== '' && !line.startsWith('gpg-pubkey '))
        .sort();
    },
    dnf: (...args) => runDnf(base, root, args),
    publish: async (...packages) => {
      await repositories.add(packages);
      published.push(...packages);
      await repositories.reindex();
    },
    withdraw: async (...versions) => {
      await repositories.remove(versions.map(({ name, evr }) => find(name, evr)));
      await repositories.reindex();
    },
    rollBack,
    rpmPath: (name, evr) => repositories.rpmPath(find(name, evr)),
    fetched,
    stop,
  };
}

/** The configuration that dnf finds below the root, as a distribution would bring it. */
async function writeRootFiles(
  root: string,
  { uri, signer }: { uri: string; signer: DnfSigner },
): Promise<void> {
  for (const folder of [
    'etc/dnf/vars',
    'etc/dnf/plugins',
    'etc/yum.repos.d',
    'var/lib/rpm',
    'var/lib/dnf',
    'var/log',
  ]) {
    await mkdir(join(root, folder), { recursive: true });
  }
  const main = [
    '[main]',
    'gpgcheck=1',
    'installonly_limit=3',
    'clean_requirements_on_remove=True',
    'best=True',
  ];
  await writeFile(join(root, 'etc/dnf/dnf.conf'), `${main.join('\n')}\n`);
  const repositories = DNF_REPOSITORIES.map((id) =>
    [
      ...[`[${id}]`, `name=${id}`, `baseurl=${uri}/${id}`, 'enabled=1', 'gpgcheck=1', 'repo_gpgcheck=1'],
      ...[`gpgkey=file://${signer.keyFile}`, 'metadata_expire=0', 'proxy=_none_', ''],
    ].join('\n'),
  );
  await writeFile(join(root, 'etc/yum.repos.d/test.repo'), repositories.join('\n'));
  const release = 'NAME="AlmaLinux"\nID="almalinux"\nID_LIKE="rhel centos fedora"\nVERSION_ID="9.4"\n';
  await writeFile(join(root, 'etc/os-release'), release);
}

/** By dnf itself, so that its history knows the repository of each package. */
async function installWithDnf(base: string, root: string, packages: readonly DnfPackage[]): Promise<void> {
  const named = packages.map((pkg) => `${pkg.name}-${evrOf(pkg)}.${pkg.arch ?? 'noarch'}`);
  await runDnf(base, root, ['install', ...named]);
}

async function runDnf(base: string, root: string, args: readonly string[]): Promise<string> {
  const home = join(base, 'home');
  await mkdir(home, { recursive: true });
  await writeFile(join(home, '.rpmmacros'), `%_dbpath ${DATABASE}\n`);
  const settings = { cachedir: join(base, 'cache'), plugins: '0' };
  const options = Object.entries(settings).map(([name, value]) => `--setopt=${name}=${value}`);
  const words = ['-y', '-q', `--installroot=${root}`, '--releasever=9', ...options, ...args];
  return runTool('dnf-3', words, { env: { HOME: home } });
}
