import { execFileSync } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { ReleaseSigner } from './release-signer.ts';
import { filesOf, putText, sha256Of } from './tree.ts';

const SUITE = 'dists/stable';

export interface DebFile {
  name: string;
  /** Debian's name of the processor. */
  arch: string;
}

/** Makes a folder with deb packages an apt repository: `deb [signed-by=…] URL stable main`. */
export async function writeAptRepository(
  folder: string,
  { debs, signer, epochSeconds }: { debs: readonly DebFile[]; signer: ReleaseSigner; epochSeconds: number },
): Promise<void> {
  const archs = [...new Set(debs.map(({ arch }) => arch))].sort();
  for (const arch of archs) {
    const ofArch = debs.filter((deb) => deb.arch === arch);
    const packages = ofArch.map(({ name }) => `${entryOf(folder, name)}\n`).join('');
    const index = `${SUITE}/main/binary-${arch}/Packages`;
    putText(folder, index, packages);
    putText(folder, `${index}.gz`, gzipSync(packages, { level: 9 }));
  }
  const release = Buffer.from(releaseOf(join(folder, SUITE), { archs, epochSeconds }));
  putText(folder, `${SUITE}/Release`, release);
  const sign = async (name: string, form: 'clear' | 'detached') =>
    putText(folder, name, await signer.signatureOf(name, form, release));
  await sign(`${SUITE}/InRelease`, 'clear');
  await sign(`${SUITE}/Release.gpg`, 'detached');
}

/** What the package says of itself, which dpkg has checked, and where its file is. */
function entryOf(folder: string, name: string): string {
  const file = join(folder, name);
  const control = execFileSync('dpkg-deb', ['--field', file], { encoding: 'utf8' }).trimEnd();
  return `${control}\nFilename: ${name}\nSize: ${statSync(file).size}\nSHA256: ${sha256Of(file)}\n`;
}

/**
 * Without Valid-Until: the files are made once and signed offline, so that a date would stop updates, also the one with a later
 * date. Old lists offer old versions only, and no host goes back to those by itself.
 */
function releaseOf(
  suite: string,
  { archs, epochSeconds }: { archs: string[]; epochSeconds: number },
): string {
  const sums = filesOf(suite).map(
    ({ path, sha256 }) => ` ${sha256} ${statSync(join(suite, path)).size} ${path}\n`,
  );
  return `Origin: Tidegate
Label: Tidegate agents
Suite: stable
Codename: stable
Date: ${new Date(epochSeconds * 1_000).toUTCString().replace('GMT', 'UTC')}
Architectures: ${archs.join(' ')}
Components: main
SHA256:
${sums.join('')}`;
}
