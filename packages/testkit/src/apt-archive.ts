import { chmod, mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AptPackage, controlOf, debFileName } from './apt-packages.ts';
import { runTool } from './run-tool.ts';

/** Packages built of the same words have the same hashes. */
const REPRODUCIBLE = { SOURCE_DATE_EPOCH: '1767225600' };

/** The two archives of a Debian host, as `apt-get -s` names their origin. */
export const ARCHIVES = {
  main: { origin: 'Debian', label: 'Debian', suite: 'stable', codename: 'bookworm', version: '12.9' },
  security: {
    origin: 'Debian',
    label: 'Debian-Security',
    suite: 'stable-security',
    codename: 'bookworm-security',
    version: '12',
  },
} as const;

/** A local package archive under one folder. */
export type AptArchive = {
  readonly folder: string;
  readonly architecture: string;
  /** Builds packages into the pool; one that is there already is replaced. `reindex` makes them known. */
  add(packages: readonly AptPackage[]): Promise<void>;
  reindex(): Promise<void>;
  debPath(pkg: Pick<AptPackage, 'name' | 'version' | 'archive' | 'arch'>): string;
};

/** Makes an empty archive in `folder`, readable by every user whatever the umask is (apt fetches as `_apt`). */
export async function createAptArchive(folder: string, foreign: readonly string[] = []): Promise<AptArchive> {
  const architecture = (await runTool('dpkg', ['--print-architecture'])).trim();
  const architectures = ['all', architecture, ...foreign];
  for (const { codename } of Object.values(ARCHIVES)) {
    await makeReadable(folder, join('pool', codename));
    for (const arch of architectures)
      await makeReadable(folder, join('dists', codename, 'main', `binary-${arch}`));
  }

  const debPath: AptArchive['debPath'] = (pkg) =>
    join(folder, 'pool', ARCHIVES[pkg.archive ?? 'main'].codename, debFileName(pkg));

  async function indexOne({
    origin,
    label,
    suite,
    codename,
    version,
  }: (typeof ARCHIVES)[keyof typeof ARCHIVES]) {
    const dist = join('dists', codename);
    const packages = await runTool('apt-ftparchive', ['packages', join('pool', codename)], { cwd: folder });
    for (const arch of architectures)
      await replace(join(folder, dist, 'main', `binary-${arch}`, 'Packages'), packages);
    const fields = { Origin: origin, Label: label, Suite: suite, Codename: codename, Version: version };
    const described = { ...fields, Components: 'main', Architectures: architectures.join(' ') };
    const options = Object.entries(described).flatMap(([field, value]) => [
      '-o',
      `APT::FTPArchive::Release::${field}=${value}`,
    ]);
    const release = await runTool('apt-ftparchive', [...options, 'release', dist], { cwd: folder });
    await replace(join(folder, dist, 'Release'), release);
  }

  return {
    folder,
    architecture,
    debPath,
    add: async (packages) => {
      for (const pkg of packages)
        await buildDeb(pkg, { target: debPath(pkg), scratch: join(folder, '.build') });
    },
    reindex: async () => {
      for (const archive of Object.values(ARCHIVES)) await indexOne(archive);
    },
  };
}

async function buildDeb(
  pkg: AptPackage,
  { target, scratch }: { target: string; scratch: string },
): Promise<void> {
  await rm(scratch, { recursive: true, force: true });
  await makeReadable(scratch, 'DEBIAN');
  const share = join('usr', 'share', pkg.name);
  await makeReadable(scratch, share);
  await replace(join(scratch, 'DEBIAN', 'control'), controlOf(pkg));
  await replace(join(scratch, share, 'version'), `${pkg.content ?? pkg.version}\n`);
  const conffiles = Object.entries(pkg.conffiles ?? {});
  if (conffiles.length > 0) {
    await makeReadable(scratch, 'etc');
    for (const [name, content] of conffiles) await replace(join(scratch, 'etc', name), content);
    const list = conffiles.map(([name]) => `/etc/${name}\n`).join('');
    await replace(join(scratch, 'DEBIAN', 'conffiles'), list);
  }
  if (pkg.templates !== undefined) {
    await replace(join(scratch, 'DEBIAN', 'templates'), pkg.templates);
  }
  if (pkg.postinst !== undefined) {
    const script = join(scratch, 'DEBIAN', 'postinst');
    await replace(script, `#!/bin/sh\n${pkg.postinst}\n`);
    await chmod(script, 0o755);
  }
  await runTool('dpkg-deb', ['-Znone', '--root-owner-group', '--build', scratch, `${target}.new`], {
    env: REPRODUCIBLE,
  });
  await chmod(`${target}.new`, 0o644);
  await rename(`${target}.new`, target);
  await rm(scratch, { recursive: true });
}

/** Makes `path` below `root`, and opens each step of it to readers. */
async function makeReadable(root: string, path: string): Promise<void> {
  let folder = root;
  await mkdir(join(root, path), { recursive: true });
  await chmod(folder, 0o755);
  for (const step of path.split('/')) {
    folder = join(folder, step);
    await chmod(folder, 0o755);
  }
}

/** Writes a file that every user can read; whoever reads meanwhile sees the old one or the new one. */
async function replace(file: string, content: string): Promise<void> {
  await writeFile(`${file}.new`, content);
  await chmod(`${file}.new`, 0o644);
  await rename(`${file}.new`, file);
}
