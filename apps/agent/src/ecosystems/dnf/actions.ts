import type { Artifact, PlanAction } from '@tidegate/protocol/plan';
import { compareVersions } from '@tidegate/versions';
import type { KeptFiles } from '../kept-files.ts';
import type { DnfPackage, TransactionAnswer } from './answers.ts';
import { evrOf, rpmFilename, sourceOf } from './names-rules.ts';
import type { Parsed } from './places.ts';

const SHA256_HEX_CHARS = 64;
const URL_MAX_CHARS = 2_048;

type Coming = TransactionAnswer['coming'][number];
type Going = TransactionAnswer['going'][number];

/**
 * Translates a transaction into the sorted actions of a plan, without artifacts. Planning and the executor's
 * simulation share it, so they differ only where dnf does. An installation and a removal of one name and
 * architecture are one action; of a package installed in several versions, the oldest one is replaced.
 */
export function toActions({
  coming,
  going,
}: {
  coming: readonly DnfPackage[];
  going: readonly DnfPackage[];
}): Parsed<PlanAction[]> {
  const left = new Map<string, DnfPackage>();
  for (const pkg of going) {
    if (left.has(keyOf(pkg))) return { ok: false, reason: `two versions of ${pkg.name} would be removed` };
    left.set(keyOf(pkg), pkg);
  }
  const actions: PlanAction[] = [];
  for (const pkg of coming) {
    const before = left.get(keyOf(pkg));
    left.delete(keyOf(pkg));
    const action = kindOf(pkg, before);
    if (action === null)
      return { ok: false, reason: `${pkg.name} would be installed again or cannot be ordered` };
    actions.push({
      ...{ action, name: pkg.name, arch: pkg.arch },
      ...(before !== undefined && { from_version: evrOf(before) }),
      to_version: evrOf(pkg),
    });
  }
  for (const pkg of left.values()) {
    actions.push({ action: 'remove', name: pkg.name, arch: pkg.arch, from_version: evrOf(pkg) });
  }
  return { ok: true, value: actions.sort(byNameAndArch) };
}

/** Adds source, origin and file hash from the repository to each action. */
export function addArtifacts(
  actions: readonly PlanAction[],
  coming: readonly Coming[],
): Parsed<PlanAction[]> {
  const packages = new Map(coming.map((pkg) => [keyOf(pkg), pkg]));
  const complete: PlanAction[] = [];
  for (const action of actions) {
    const pkg = packages.get(`${action.name}.${action.arch}`);
    if (action.action === 'remove' || pkg === undefined) {
      complete.push(action);
      continue;
    }
    const artifact = artifactOf(pkg);
    if (!artifact.ok) return artifact;
    const source = sourceOf(pkg);
    complete.push({
      ...action,
      ...(source !== null && { source_name: source.name, source_version: source.version }),
      ...(pkg.repository !== null && { origin: pkg.repository }),
      artifact: artifact.value,
    });
  }
  return { ok: true, value: complete };
}

/**
 * Adds the file of each replaced version, as it is kept here or as the repositories name it. Two different files of one
 * version are as good as none: nobody knows which is installed.
 */
export function addReplaced(
  actions: readonly PlanAction[],
  going: readonly Going[],
  kept: KeptFiles,
): PlanAction[] {
  return actions.map((action) => {
    const { name, arch, from_version: version } = action;
    if (arch === undefined || version === undefined) return action;
    const own = kept.find({ ecosystem: 'dnf', name, arch, version })?.artifact;
    if (own) return { ...action, back: { size_bytes: own.size_bytes, sha256: own.sha256 } };
    const listed = going.find(
      (pkg) => pkg.name === name && pkg.arch === arch && evrOf(pkg) === version,
    )?.listed;
    const [file, ...others] = listed ?? [];
    if (file?.checksum.length !== SHA256_HEX_CHARS || others.length > 0) return action;
    return { ...action, back: { size_bytes: file.size, sha256: file.checksum } };
  });
}

/** The length identifies the algorithm: dnf's numbers for algorithms differ between releases. */
function artifactOf(pkg: Coming): Parsed<Artifact> {
  const { checksum: sha256, size, url } = pkg;
  if (sha256?.length !== SHA256_HEX_CHARS) {
    return { ok: false, reason: `the metadata of ${pkg.repository} lack the SHA-256 of ${pkg.name}` };
  }
  const address = url === null ? null : withoutCredentials(url);
  if (address === null) return { ok: false, reason: `the address of ${pkg.name} cannot be read` };
  const filename = rpmFilename({ name: pkg.name, evr: evrOf(pkg), arch: pkg.arch });
  return { ok: true, value: { filename, url: address, size_bytes: size, sha256 } };
}

/** A repository URL may contain a user name and a password, which must stay on this host. */
function withoutCredentials(text: string): string | null {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:', 'file:', 'ftp:'].includes(url.protocol)) return null;
  url.username = '';
  url.password = '';
  url.search = ''; // may hold entitlement tokens
  url.hash = '';
  return url.href.length <= URL_MAX_CHARS ? url.href : null;
}

function kindOf(to: DnfPackage, from: DnfPackage | undefined): 'install' | 'upgrade' | 'downgrade' | null {
  if (from === undefined) return 'install';
  switch (compareVersions('dnf', evrOf(from), evrOf(to))) {
    case -1:
      return 'upgrade';
    case 1:
      return 'downgrade';
    case 0:
    case 'undecidable':
      return null;
  }
}

function keyOf({ name, arch }: { name: string; arch: string }): string {
  return `${name}.${arch}`;
}

function byNameAndArch(a: PlanAction, b: PlanAction): number {
  const [left, right] = [`${a.name}:${a.arch}`, `${b.name}:${b.arch}`];
  return left < right ? -1 : left > right ? 1 : 0;
}
