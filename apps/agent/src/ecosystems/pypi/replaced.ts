import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { compareVersions } from '@tidegate/versions';
import type { ReplacedFetch } from '../ecosystem.ts';
import { isIntact, keptVersion, openKept } from '../kept-files.ts';
import { ORIGIN_MAX_CHARS } from './artifacts.ts';
import { fetchActions } from './fetch.ts';
import type { Distribution } from './installed.ts';
import type { IndexFile } from './parse-index-page.ts';
import type { PypiPlace } from './places.ts';
import type { Planner } from './planner.ts';
import { readPlainFile } from './read-file.ts';
import { isFileOf } from './wheel-rules.ts';

const WHEEL_MAX_BYTES = 64 * 1024;

/**
 * Adds the file of each replaced version: as it is kept here, or the one wheel of the index from which it was installed.
 * An index that does not answer leaves a plan without a way back.
 */
export async function addReplaced(
  { index, kept }: Pick<Planner, 'index' | 'kept'>,
  actions: readonly PlanAction[],
  { place, distributions }: { place: PypiPlace; distributions: readonly Distribution[] },
): Promise<PlanAction[]> {
  const store = openKept(kept);
  const complete: PlanAction[] = [];
  for (const action of actions) {
    const { name, arch = '', from_version: version } = action;
    const own = version && store.find({ ecosystem: 'pypi', name, arch, version })?.artifact;
    if (own) {
      complete.push({ ...action, back: { size_bytes: own.size_bytes, sha256: own.sha256 } });
      continue;
    }
    const before = distributions.find((distribution) => distribution.name === name);
    const file = version && before ? await findInstalledFile(index, before, place) : null;
    const size = file ? await index.sizeOf(file) : null;
    const isKnown = file?.sha256 && size?.ok === true;
    complete.push(isKnown ? { ...action, back: { size_bytes: size.value, sha256: file.sha256 } } : action);
  }
  return complete;
}

/** The wheel of the index that an installed distribution came from, if only one can be it. */
async function findInstalledFile(
  index: Planner['index'],
  { name, version, entry }: Distribution,
  { sitePackages }: PypiPlace,
): Promise<(IndexFile & { sha256: string }) | null> {
  const wheel = await readPlainFile(join(sitePackages, entry, 'WHEEL'), WHEEL_MAX_BYTES);
  const offered = await index.files(name);
  if (!wheel.ok || !offered.ok) return null;
  const [file, ...others] = wheelsOf(offered.value, version).filter(({ filename }) =>
    isFileOf(wheel.text, filename),
  );
  return file === undefined || others.length > 0 ? null : file;
}

/** The wheels of a version with a hash. A file that was yanked is no way back: its index says not to install it. */
function wheelsOf(files: readonly IndexFile[], version: string): (IndexFile & { sha256: string })[] {
  return files.flatMap((file) => {
    const { kind, sha256, yanked } = file;
    const isOf = compareVersions('pypi', file.version, version) === 0;
    return kind === 'wheel' && sha256 !== null && !yanked && isOf ? [{ ...file, sha256 }] : [];
  });
}

/** Downloads the wheels of the replaced versions, as far as the index still has exactly the file of `back`. */
export async function fetchReplaced(
  planner: Planner,
  { actions, directory }: { actions: readonly PlanAction[]; directory: string },
): Promise<ReplacedFetch> {
  const listed: PlanAction[] = [];
  let reason: string | null = null;
  for (const { name, arch, from_version: version, back } of actions) {
    if (arch === undefined || version === undefined || back === undefined) continue;
    const offered = await planner.index.files(name);
    if (!offered.ok) reason ??= offered.reason;
    const file = wheelsOf(offered.ok ? offered.value : [], version).find(
      ({ sha256 }) => sha256 === back.sha256,
    );
    if (file === undefined) continue;
    const { filename, url, sha256 } = file;
    const artifact = { filename, url, size_bytes: back.size_bytes, sha256 };
    const origin = planner.index.origin.slice(0, ORIGIN_MAX_CHARS);
    listed.push({ action: 'downgrade', name, arch, to_version: version, origin, artifact });
  }
  const fetched = await fetchActions(planner, { actions: listed, directory });
  const files = listed
    .flatMap((action) => keptVersion('pypi', action))
    .filter((file) => isIntact(file, join(directory, file.artifact.filename)));
  return { files, reason: fetched.ok ? reason : fetched.reason };
}
