import { copyFileSync, existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { SIGNATURE_FILE, SUMS_FILE } from '@tidegate/signing/release';
import { loadTrustedKey, publicKeyPem } from '@tidegate/signing/verify';
import { writeAptRepository } from './apt-repository.ts';
import { writeDnfRepository } from './dnf-repository.ts';
import type { ReleaseSigner } from './release-signer.ts';
import { isLinux, TARGETS, type Target } from './targets.ts';
import { filesOf, putText } from './tree.ts';

const EARLIER = 'earlier';

interface AgentsJob {
  /** Where the packages of the agent are, as the release names them. */
  made: string;
  version: string;
  targets: readonly Target[];
  /** Folders with the packages of earlier releases, which hosts go back to. */
  earlier: readonly string[];
  /** null builds a folder without repositories, as apt and dnf take none that nobody signed. */
  signer: ReleaseSigner | null;
  epochSeconds: number;
}

/** Lays out what a server serves to its hosts: the Linux agents, as apt and dnf repository too, and their checksums. */
export async function writeAgentsFolder(folder: string, job: AgentsJob): Promise<void> {
  const { signer, epochSeconds } = job;
  mkdirSync(folder, { recursive: true });
  const targets = job.targets.filter(isLinux);
  const wanted = targets.flatMap((target) =>
    ['tar.gz', 'deb', 'rpm'].map((format) => `tidegate-agent_${job.version}_${target}.${format}`),
  );
  const now = wanted.filter((name) => existsSync(join(job.made, name)));
  for (const name of now) copyFileSync(join(job.made, name), join(folder, name));
  const packages = [...now, ...copyEarlier(folder, job)];
  const debs = packages.flatMap((name) => {
    const target = targets.find((one) => name.endsWith(`_${one}.deb`));
    return target === undefined ? [] : [{ name, arch: TARGETS[target].packageArch }];
  });
  const rpms = packages.filter((name) => name.endsWith('.rpm'));
  if (signer !== null) {
    if (debs.length > 0) await writeAptRepository(folder, { debs, signer, epochSeconds });
    if (rpms.length > 0) await writeDnfRepository(folder, { rpms, signer, epochSeconds });
    const { publicKeyHex, publicAsc } = signer;
    putText(folder, 'release.pem', publicKeyPem(loadTrustedKey({ keyId: 'release', publicKeyHex })));
    putText(folder, 'release.asc', publicAsc);
  }
  const sums = Buffer.from(
    filesOf(folder)
      .map(({ path, sha256 }) => `${sha256}  ${path}\n`)
      .join(''),
  );
  putText(folder, SUMS_FILE, sums);
  if (signer === null) return;
  putText(folder, SIGNATURE_FILE, await signer.signatureOf(SIGNATURE_FILE, 'raw', sums));
}

/** Into a folder of their own, so that the newest packages are those beside the checksums. */
function copyEarlier(folder: string, { version, targets, earlier }: AgentsJob): string[] {
  const endings = targets.filter(isLinux).flatMap((target) => [`_${target}.deb`, `_${target}.rpm`]);
  const isWanted = (name: string) =>
    name.startsWith('tidegate-agent_') &&
    !name.startsWith(`tidegate-agent_${version}_`) &&
    endings.some((ending) => name.endsWith(ending));
  const found = earlier.flatMap((from) =>
    readdirSync(from)
      .filter(isWanted)
      .map((name) => ({ from, name })),
  );
  if (found.length > 0) mkdirSync(join(folder, EARLIER));
  return found.map(({ from, name }) => {
    copyFileSync(join(from, name), join(folder, EARLIER, name));
    return `${EARLIER}/${name}`;
  });
}
