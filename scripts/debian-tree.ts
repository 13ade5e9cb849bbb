import { chmod, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findTool, runTool } from '@tidegate/testkit/run-tool';

const SUITE = 'bookworm';
const DEFAULT_MIRROR = 'http://deb.debian.org/debian';
const DEFAULT_SECURITY_MIRROR = 'http://deb.debian.org/debian-security';
/** What this machine's apt needs to reach its archive, and that the tree's apt therefore needs too. */
const CARRIED = [
  'Acquire::http::Proxy',
  'Acquire::https::Proxy',
  'Acquire::Check-Valid-Until',
  'Acquire::Check-Date',
];

export type DebianTree = {
  readonly root: string;
  /** The file to point APT_CONFIG at. */
  readonly aptConfig: string;
  readonly env: Record<string, string>;
};

/** Brings debootstrap when it is not there. Throws with apt's own words when it cannot be had. */
export async function bringDebootstrap(): Promise<void> {
  if (findTool('debootstrap') !== null) return;
  const env = { DEBIAN_FRONTEND: 'noninteractive' };
  await runTool('apt-get', ['-qq', 'update'], { env });
  await runTool('apt-get', ['-qq', '-y', '--no-install-recommends', 'install', 'debootstrap'], { env });
}

/**
 * Makes a real Debian tree in `folder`, from the point release, and lets its apt see the security archive. Its packages
 * are then as outdated as the point release is. Every user must be able to reach `folder`.
 */
export async function makeDebianTree(folder: string): Promise<DebianTree> {
  const root = join(folder, 'tree');
  const mirror = await mirrorOf('Debian', DEFAULT_MIRROR);
  const security = await mirrorOf('Debian-Security', DEFAULT_SECURITY_MIRROR);
  const carried = await carriedSettings();
  const proxy = carried['Acquire::http::Proxy'];
  const options = ['--variant=minbase', '--include=openssl,ca-certificates'];
  await runTool('debootstrap', [...options, SUITE, root, mirror], {
    env: proxy === undefined ? {} : { http_proxy: proxy },
  });
  const lines = [`deb ${mirror} ${SUITE} main`, `deb ${security} ${SUITE}-security main`];
  await writeFile(join(root, 'etc/apt/sources.list'), `${lines.join('\n')}\n`);
  // No service of the tree is to start on this machine.
  const policy = join(root, 'usr/sbin/policy-rc.d');
  await writeFile(policy, '#!/bin/sh\nexit 101\n');
  await chmod(policy, 0o755);
  const aptConfig = join(folder, 'apt.conf');
  await writeFile(aptConfig, configuration(root, carried));
  await chmod(aptConfig, 0o644);
  await mkdir(join(root, 'var/lib/apt/lists/partial'), { recursive: true });
  const env = { APT_CONFIG: aptConfig, DEBIAN_FRONTEND: 'noninteractive' };
  await runTool('apt-get', ['-qq', 'update'], { env });
  return { root, aptConfig, env };
}

/** Turns apt and dpkg to the tree: dpkg enters it for maintainer scripts. */
function configuration(root: string, carried: Record<string, string>): string {
  const set = { Dir: root, 'Dir::State::status': join(root, 'var/lib/dpkg/status'), ...carried };
  const fixed = Object.entries({ ...set, 'Dir::Bin::dpkg': '/usr/bin/dpkg', 'Dpkg::Use-Pty': 'false' });
  const lines = fixed.map(([name, value]) => `${name} "${value}";`);
  return `${[...lines, `Dpkg::Options { "--root=${root}"; };`].join('\n')}\n`;
}

/** The archive of this machine under that label, so that a mirror near it is used. */
async function mirrorOf(label: string, otherwise: string): Promise<string> {
  const format = '$(LABEL)|$(CODENAME)|$(REPO_URI)';
  const targets = await runTool('apt-get', ['indextargets', '--format', format]);
  const fitting = targets.split('\n').map((line) => line.split('|'));
  const found = fitting.find(([name, codename]) => name === label && codename?.startsWith(SUITE));
  return found?.[2]?.replace(/\/$/, '') ?? otherwise;
}

async function carriedSettings(): Promise<Record<string, string>> {
  const names = CARRIED.flatMap((setting, index) => [`V${index}`, setting]);
  const output = await runTool('apt-config', ['shell', ...names]);
  const pairs = output.split('\n').flatMap((line) => {
    const [, index, value] = /^V(\d+)='([^'"]*)'$/.exec(line) ?? [];
    const setting = CARRIED[Number(index)];
    return setting === undefined || value === undefined ? [] : [[setting, value]];
  });
  return Object.fromEntries(pairs);
}
