import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findTool, runTool } from '@tidegate/testkit/run-tool';

const SUITE = 'bookworm';
const DEFAULT_MIRROR = 'http://deb.debian.org/debian';
const DEFAULT_SECURITY_MIRROR = 'http://deb.debian.org/debian-security';
/** Settings that this machine's apt needs to reach its archive, and the tree's apt therefore too. */
const COPIED_SETTINGS = [
  'Acquire::http::Proxy',
  'Acquire::https::Proxy',
  'Acquire::Check-Valid-Until',
  'Acquire::Check-Date',
];

export type DebianTree = {
  readonly root: string;
  /** The file for APT_CONFIG. */
  readonly aptConfig: string;
  readonly env: Record<string, string>;
};

/** Installs debootstrap if it is missing. Throws with the message of apt if that fails. */
export async function installDebootstrap(): Promise<void> {
  if (findTool('debootstrap') !== null) return;
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await runTool('apt-get', ['-qq', 'update'], { env });
  await runTool('apt-get', ['-qq', '-y', '--no-install-recommends', 'install', 'debootstrap'], { env });
}

/**
 * Creates a real Debian tree of the suite in `folder` from the point release, and adds the security archive to its apt sources. Its
 * packages are then as outdated as the point release. Every user must have access to `folder`.
 */
export async function makeDebianTree(folder: string, suite = SUITE): Promise<DebianTree> {
  const root = join(folder, 'tree');
  const mirror = await mirrorOf('Debian', DEFAULT_MIRROR);
  const security = await mirrorOf('Debian-Security', DEFAULT_SECURITY_MIRROR);
  const copied = await readCopiedSettings();
  const proxy = copied['Acquire::http::Proxy'];
  const options = ['--variant=minbase', '--include=openssl,ca-certificates'];
  await runTool('debootstrap', [...options, suite, root, mirror], {
    env: proxy === undefined ? {} : { http_proxy: proxy },
  });
  const lines = [`deb ${mirror} ${suite} main`, `deb ${security} ${suite}-security main`];
  await writeFile(join(root, 'etc/apt/sources.list'), `${lines.join('\n')}\n`);
  await writeFile(join(root, 'etc/apt/apt.conf.d/90machine'), settingLines(copied).join(''));
  // Keeps the services of the tree from starting on this machine.
  const policy = join(root, 'usr/sbin/policy-rc.d');
  await writeFile(policy, '#!/bin/sh\nexit 101\n');
  await chmod(policy, 0o755);
  const aptConfig = join(folder, 'apt.conf');
  await writeFile(aptConfig, configuration(root, copied));
  await chmod(aptConfig, 0o644);
  await mkdir(join(root, 'var/lib/apt/lists/partial'), { recursive: true });
  const env = { APT_CONFIG: aptConfig, DEBIAN_FRONTEND: 'noninteractive' };
  await runTool('apt-get', ['-qq', 'update'], { env });
  return { root, aptConfig, env };
}

/** A copy of this machine, which is an overlay over it: nothing of the machine itself is changed. */
export type DebianCopy = DebianTree & {
  /** For the copy and what belongs to it. */
  readonly folder: string;
  /** Name, architecture, version and state of each package. */
  installed(): Promise<Set<string>>;
  unmount(): Promise<void>;
};

/** Mounts a copy of this Debian machine below `folder`, with what its archives offer today. Needs root. */
export async function copyDebianHost(folder: string): Promise<DebianCopy> {
  const [root, upper, scratch] = [join(folder, 'tree'), join(folder, 'upper'), join(folder, 'scratch')];
  for (const path of [root, upper, scratch]) await mkdir(path, { recursive: true });
  const layers = `lowerdir=/,upperdir=${upper},workdir=${scratch}`;
  await runTool('mount', ['-t', 'overlay', 'overlay', '-o', layers, root]);
  await runTool('mount', ['--bind', '/dev', join(root, 'dev')]);
  await runTool('mount', ['-t', 'proc', 'proc', join(root, 'proc')]);
  const policy = join(root, 'usr/sbin/policy-rc.d');
  await writeFile(policy, '#!/bin/sh\nexit 101\n');
  await chmod(policy, 0o755);
  const aptConfig = join(folder, 'apt.conf');
  await writeFile(aptConfig, configuration(root, await readCopiedSettings()));
  await chmod(aptConfig, 0o644);
  const env = { APT_CONFIG: aptConfig, DEBIAN_FRONTEND: 'noninteractive' };
  await runTool('apt-get', ['-qq', 'update'], { env });
  return {
    ...{ root, aptConfig, env, folder },
    installed: async () => {
      const format = `\${Package}:\${Architecture} \${Version} \${db:Status-Abbrev}\n`;
      const lines = await runTool('dpkg-query', [
        `--admindir=${join(root, 'var/lib/dpkg')}`,
        '-W',
        '-f',
        format,
      ]);
      return new Set(lines.split('\n').filter((line) => line !== ''));
    },
    unmount: async () => {
      for (const path of ['proc', 'dev', '']) await runTool('umount', ['--lazy', join(root, path)]);
    },
  };
}

/** Makes apt and dpkg work on the tree; dpkg runs maintainer scripts inside it. */
function configuration(root: string, copied: Record<string, string>): string {
  const set = { Dir: root, 'Dir::State::status': join(root, 'var/lib/dpkg/status'), ...copied };
  const lines = settingLines({ ...set, 'Dir::Bin::dpkg': '/usr/bin/dpkg', 'Dpkg::Use-Pty': 'false' });
  return `${lines.join('')}Dpkg::Options { "--root=${root}"; };\n`;
}

function settingLines(settings: Record<string, string>): string[] {
  return Object.entries(settings).map(([name, value]) => `${name} "${value}";\n`);
}

/** The archive with this label that the machine itself uses, which may be a mirror close to it. */
async function mirrorOf(label: string, otherwise: string): Promise<string> {
  const format = '$(LABEL)|$(CODENAME)|$(REPO_URI)';
  const targets = await runTool('apt-get', ['indextargets', '--format', format]);
  const fitting = targets.split('\n').map((line) => line.split('|'));
  const found = fitting.find(([name, codename]) => name === label && codename?.startsWith(SUITE));
  return found?.[2]?.replace(/\/$/, '') ?? otherwise;
}

async function readCopiedSettings(): Promise<Record<string, string>> {
  const names = COPIED_SETTINGS.flatMap((setting, index) => [`V${index}`, setting]);
  const output = await runTool('apt-config', ['shell', ...names]);
  const pairs = output.split('\n').flatMap((line) => {
    const [, index, value] = /^V(\d+)='([^'"]*)'$/.exec(line) ?? [];
    const setting = COPIED_SETTINGS[Number(index)];
    return setting === undefined || value === undefined ? [] : [[setting, value]];
  });
  return Object.fromEntries(pairs);
}
