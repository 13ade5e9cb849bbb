import { createHash } from 'node:crypto';
import { mkdir, realpath, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ARCHIVES } from './apt-archive.ts';
import { openToReaders, writeAptHostFiles } from './apt-host-files.ts';
import { runTool, SYSTEM_PATH } from './run-tool.ts';

/** A package as an index describes it. */
export type IndexedPackage = {
  name: string;
  version: string;
  /** `all` unless given. */
  arch?: string;
  archive?: 'main' | 'security';
  /** Other fields, such as `Depends` or `Multi-Arch`. */
  fields?: Readonly<Record<string, string>>;
  /** Of an installed package. */
  held?: boolean;
};

/**
 * A host whose apt resolves and lists files, but that can download and install nothing: indexes and package database
 * are written as text, so that thousands of packages cost no more than their lines.
 */
export type AptIndexHost = { readonly aptConf: string; readonly env: Record<string, string> };

/** Makes the host in `dir`; needs neither root nor network. `foreign` are its other architectures. */
export async function createAptIndexHost(
  dir: string,
  set: {
    installed: readonly IndexedPackage[];
    offered: readonly IndexedPackage[];
    foreign?: readonly string[];
  },
): Promise<AptIndexHost> {
  const base = await realpath(dir);
  const archive = join(base, 'archive');
  const root = join(base, 'host');
  const aptConf = join(base, 'apt.conf');
  const native = (await runTool('dpkg', ['--print-architecture'])).trim();
  const architectures = [native, ...(set.foreign ?? [])];
  for (const [kind, { codename, ...release }] of Object.entries(ARCHIVES)) {
    const offered = set.offered.filter((pkg) => (pkg.archive ?? 'main') === kind);
    const dist = join(archive, 'dists', codename);
    const sums: string[] = [];
    for (const arch of architectures) {
      const visible = offered.filter((pkg) => ['all', arch].includes(pkg.arch ?? 'all'));
      const text = visible.map(offeredParagraph).join('\n');
      await mkdir(join(dist, 'main', `binary-${arch}`), { recursive: true });
      await writeFile(join(dist, 'main', `binary-${arch}`, 'Packages'), text);
      sums.push(` ${sha256(text)} ${Buffer.byteLength(text)} main/binary-${arch}/Packages`);
    }
    const { origin, label, suite, version } = release;
    const head = `Origin: ${origin}\nLabel: ${label}\nSuite: ${suite}\nCodename: ${codename}\nVersion: ${version}\n`;
    const lists = `Components: main\nArchitectures: all ${architectures.join(' ')}\nDate: Thu, 01 Jan 2026 00:00:00 UTC\n`;
    await writeFile(join(dist, 'Release'), `${head}${lists}SHA256:\n${sums.join('\n')}\n`);
  }
  const adminDir = join(root, 'var/lib/dpkg');
  await writeAptHostFiles(
    { root, adminDir, aptConf, uri: `file:${archive}`, architecture: native },
    architectures,
  );
  await writeFile(join(adminDir, 'status'), set.installed.map((pkg) => installedParagraph(pkg)).join('\n'));
  const env = { APT_CONFIG: aptConf, DPKG_ADMINDIR: adminDir, LC_ALL: 'C', PATH: SYSTEM_PATH };
  await runTool('apt-get', ['-qq', 'update'], { env });
  await openToReaders(base);
  return { aptConf, env };
}

function offeredParagraph(pkg: IndexedPackage): string {
  const arch = pkg.arch ?? 'all';
  const place = { Filename: `pool/${pkg.name}_${pkg.version}_${arch}.deb`, Size: '1000' };
  return paragraph({ ...head(pkg), ...place, SHA256: sha256(`${pkg.name} ${pkg.version} ${arch}`) });
}

function installedParagraph(pkg: IndexedPackage): string {
  return paragraph({ ...head(pkg), Status: `${pkg.held ? 'hold' : 'install'} ok installed` });
}

function head({ name, version, arch = 'all', fields = {} }: IndexedPackage): Record<string, string> {
  return {
    ...{ Package: name, Version: version, Architecture: arch, Maintainer: 'Test <test@example.invalid>' },
    ...fields,
    Description: `package ${name} of a test`,
  };
}

function paragraph(fields: Record<string, string>): string {
  return Object.entries(fields)
    .map(([field, value]) => `${field}: ${value}\n`)
    .join('');
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
