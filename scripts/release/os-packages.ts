import { execFileSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { packagingTool } from './packaging-tools.ts';
import type { TreeFile } from './tree.ts';

const ROOT = join(import.meta.dirname, '../..');
const PACKAGING = join(ROOT, 'packaging');

export type Format = 'deb' | 'rpm';
export type Product = 'tidegate' | 'tidegate-agent';
type PackageName = Product | 'tidegate-agents';

const ABOUT = {
  tidegate: {
    folder: 'server',
    description: `Judges, approves, signs and records software updates of a fleet
The server and its console. Every approval passes a supply-chain gate and is signed over the hashes of its files.`,
    deb: ['libc6 (>= 2.28)', 'libstdc++6', 'libgcc-s1', 'libatomic1', 'util-linux', 'passwd'],
    rpm: ['glibc >= 2.28', 'libstdc++', 'libgcc', 'libatomic', 'util-linux', 'shadow-utils'],
    settings: ['etc/tidegate/server.env'],
    recommends: ['tidegate-agents'],
  },
  'tidegate-agent': {
    folder: 'agent',
    description: `Reports and installs the approved software updates of this host
The agent of Tidegate, and its executor, which installs as root, without network, what a signed token lists.`,
    deb: ['libc6 (>= 2.17)', 'passwd'],
    rpm: ['glibc >= 2.17', 'shadow-utils'],
    settings: [],
    recommends: [],
  },
  'tidegate-agents': {
    folder: null,
    description: `Lets a Tidegate server offer its agent to hosts
The packages of the agent, as signed apt and dnf repository, which the server serves to its hosts.`,
    deb: [],
    rpm: [],
    settings: [],
    recommends: [],
  },
} as const satisfies Record<PackageName, object>;

export interface PackageJob {
  product: PackageName;
  version: string;
  /** Debian's name of the processor; nfpm translates it for rpm. */
  arch: 'amd64' | 'arm64' | 'all';
  tree: string;
  files: readonly TreeFile[];
  epochSeconds: number;
  /** Whether to compress little: for tests, and for what is compressed already. */
  isFast: boolean;
  out: string;
}

/** Builds a deb or rpm of a tree with nfpm: the same bytes for the same tree. */
export function buildPackage(format: Format, job: PackageJob): void {
  const { product, epochSeconds, out } = job;
  const { folder } = ABOUT[product];
  const config = `${out}.nfpm.json`;
  writeFileSync(config, JSON.stringify(configOf(format, job)));
  try {
    execFileSync(
      packagingTool('nfpm'),
      ['package', '--config', config, '--packager', format, '--target', out],
      {
        cwd: join(PACKAGING, folder ?? '.'),
        env: { ...process.env, SOURCE_DATE_EPOCH: String(epochSeconds) },
        stdio: ['ignore', 'ignore', 'inherit'],
      },
    );
  } finally {
    rmSync(config);
  }
}

function configOf(format: Format, { product, version, arch, tree, files, epochSeconds, isFast }: PackageJob) {
  const about = ABOUT[product];
  const mtime = new Date(epochSeconds * 1_000).toISOString();
  const settings: readonly string[] = about.settings;
  return {
    name: product,
    version,
    arch,
    platform: 'linux',
    section: 'admin',
    priority: 'optional',
    maintainer: 'Tidegate <packages@tidegate.invalid>',
    description: about.description,
    license: 'Apache-2.0',
    mtime,
    depends: about[format],
    recommends: about.recommends,
    contents: files.map(({ path, mode }) => ({
      src: join(tree, path),
      dst: `/${path}`,
      type: settings.includes(path) ? 'config|noreplace' : 'file',
      file_info: { mode, owner: 'root', group: 'root', mtime },
    })),
    ...(about.folder !== null && {
      scripts: {
        postinstall: 'scripts/postinstall.sh',
        preremove: 'scripts/preremove.sh',
        postremove: 'scripts/postremove.sh',
      },
    }),
    deb: { compression: isFast ? 'none' : 'xz' },
    rpm: { compression: isFast ? 'gzip:1' : 'xz', buildhost: 'tidegate' },
  };
}
