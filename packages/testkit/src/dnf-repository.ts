import { chmod, mkdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import {
  DNF_REPOSITORIES,
  type DnfPackage,
  type DnfRepositoryId,
  evrOf,
  rpmFileName,
} from './dnf-packages.ts';
import { type DnfSigner, signRpms } from './dnf-signer.ts';
import { runTool } from './run-tool.ts';

/** Packages built of the same words have the same hashes, as long as they are not signed. */
const REPRODUCIBLE = { SOURCE_DATE_EPOCH: '1767225600' };
const BUILD_MACROS = {
  debug_package: '%{nil}',
  _build_name_fmt: '%%{NAME}-%%{VERSION}-%%{RELEASE}.%%{ARCH}.rpm',
  _buildhost: 'testkit.invalid',
  use_source_date_epoch_as_buildtime: '1',
  source_date_epoch_from_changelog: '0',
};

/** Signed repositories under one folder. */
export type DnfRepositories = {
  readonly folder: string;
  /** Builds and signs packages; one that is there already is replaced. `reindex` makes them known. */
  add(packages: readonly DnfPackage[], options?: { isSigned?: boolean }): Promise<void>;
  /** Takes packages away; `reindex` makes it known. */
  remove(packages: readonly DnfPackage[]): Promise<void>;
  /** Writes and signs the metadata anew, with an advisory for each package that names one. */
  reindex(): Promise<void>;
  rpmPath(pkg: DnfPackage): string;
};

/** Makes empty repositories in `folder`, readable by every user. */
export async function createDnfRepositories(folder: string, signer: DnfSigner): Promise<DnfRepositories> {
  const published = new Map<string, DnfPackage>();
  const folderOf = (id: DnfRepositoryId) => join(folder, id);
  const rpmPath: DnfRepositories['rpmPath'] = (pkg) =>
    join(folderOf(pkg.repository ?? 'baseos'), rpmFileName(pkg));
  for (const id of DNF_REPOSITORIES) await mkdir(folderOf(id), { recursive: true });

  async function indexOne(id: DnfRepositoryId): Promise<void> {
    const packages = [...published.values()].filter(({ repository = 'baseos' }) => repository === id);
    const repodata = join(folderOf(id), 'repodata');
    await runTool('createrepo_c', [
      '--quiet',
      '--checksum=sha256',
      '--general-compress-type=gz',
      folderOf(id),
    ]);
    const advisories = packages.filter(({ advisory }) => advisory !== undefined);
    if (advisories.length > 0) {
      const updateinfo = join(folder, 'updateinfo.xml');
      await writeFile(updateinfo, updateinfoOf(advisories));
      await runTool('modifyrepo_c', ['--mdtype=updateinfo', updateinfo, repodata]);
    }
    await signer.signDetached(join(repodata, 'repomd.xml'));
  }

  return {
    folder,
    rpmPath,
    add: async (packages, { isSigned = true } = {}) => {
      for (const pkg of packages) {
        await buildRpm(pkg, { target: rpmPath(pkg), scratch: join(folder, '.build') });
        published.set(rpmPath(pkg), pkg);
      }
      if (isSigned) await signRpms(signer, packages.map(rpmPath));
    },
    remove: async (packages) => {
      for (const pkg of packages) {
        await rm(rpmPath(pkg));
        published.delete(rpmPath(pkg));
      }
    },
    reindex: async () => {
      for (const id of DNF_REPOSITORIES) await indexOne(id);
      await runTool('chmod', ['-R', 'a+rX', folder]);
    },
  };
}

async function buildRpm(
  pkg: DnfPackage,
  { target, scratch }: { target: string; scratch: string },
): Promise<void> {
  await rm(scratch, { recursive: true, force: true });
  await mkdir(scratch, { recursive: true });
  const spec = join(scratch, 'package.spec');
  await writeFile(spec, specOf(pkg));
  const folders = { _topdir: scratch, _rpmdir: join(scratch, 'out'), _dbpath: join(scratch, 'db') };
  const macros = Object.entries({ ...BUILD_MACROS, ...folders }).flatMap(([name, value]) => [
    '--define',
    `${name} ${value}`,
  ]);
  await runTool('rpmbuild', ['-bb', '--quiet', '--target', pkg.arch ?? 'noarch', ...macros, spec], {
    env: { HOME: scratch, ...REPRODUCIBLE },
  });
  await writeFile(target, await readFile(join(scratch, 'out', rpmFileName(pkg))));
  await chmod(target, 0o644);
  await rm(scratch, { recursive: true });
}

/** A subpackage where the source bears another name: it alone has the epoch then. */
function specOf(pkg: DnfPackage): string {
  const { name, version, release, epoch, arch = 'noarch', source = name } = pkg;
  const own = source === name ? '' : ` -n ${name}`;
  const relations = [
    ...(pkg.requires ?? []).map((need) => `Requires: ${need}`),
    ...(pkg.conflicts ?? []).map((other) => `Conflicts: ${other}`),
    ...(pkg.obsoletes ?? []).map((other) => `Obsoletes: ${other}`),
    ...(pkg.provides ?? []).map((name) => `Provides: ${name}`),
    ...(epoch === undefined ? [] : [`Epoch: ${epoch}`]),
  ];
  const about = ['Summary: a package for tests', 'License: none'];
  const file = `/usr/share/${name}/version-${version}`;
  const bulk = `/usr/share/${name}/bulk`;
  const config = Object.entries(pkg.config ?? {});
  return [
    ...[`Name: ${source}`, `Version: ${version}`, `Release: ${release}`, ...about],
    ...(arch === 'noarch' ? ['BuildArch: noarch'] : []),
    ...(source === name ? relations : []),
    ...['%description', 'for tests'],
    ...(source === name ? [] : [`%package -n ${name}`, ...about.slice(0, 1), ...relations]),
    ...(source === name ? [] : [`%description -n ${name}`, 'for tests']),
    ...['%install', `mkdir -p %{buildroot}/usr/share/${name}`],
    `echo '${pkg.content ?? evrOf(pkg)}' > %{buildroot}${file}`,
    ...(pkg.bulkMib === undefined ? [] : [`head -c ${pkg.bulkMib}M /dev/zero > %{buildroot}${bulk}`]),
    ...(config.length > 0 ? ['mkdir -p %{buildroot}/etc'] : []),
    ...config.map(([path, content]) => `echo '${content}' > %{buildroot}/etc/${path}`),
    ...(pkg.pre === undefined ? [] : [`%pre${own} -p <lua>`, pkg.pre]),
    ...(pkg.post === undefined ? [] : [`%post${own} -p <lua>`, pkg.post]),
    ...[`%files${own}`, file, ...(pkg.bulkMib === undefined ? [] : [bulk])],
    ...[...config.map(([path]) => `%config(noreplace) /etc/${path}`), ''],
  ].join('\n');
}

function updateinfoOf(packages: readonly DnfPackage[]): string {
  const updates = packages.map((pkg) => {
    const { name, epoch = 0, version, release, arch = 'noarch', advisory } = pkg;
    return [
      '<update from="packages@example.invalid" status="final" type="security" version="1">',
      `<id>${advisory}</id><title>${name}</title><severity>Important</severity><issued date="2026-01-01 00:00:00"/>`,
      '<pkglist><collection short="test"><name>test</name>',
      `<package name="${name}" epoch="${epoch}" version="${version}" release="${release}" arch="${arch}">`,
      `<filename>${rpmFileName(pkg)}</filename></package></collection></pkglist></update>`,
    ].join('');
  });
  return `<?xml version="1.0" encoding="UTF-8"?>\n<updates>${updates.join('')}</updates>\n`;
}
