import type { PlanAction } from '@tidegate/protocol/plan';
import { type DownloadedFile, downloadIdentity, expectFiles } from '../downloads.ts';
import type { FetchOutcome, HostPaths } from '../ecosystem.ts';
import { reclaimFolder, transferFolder } from '../folder-ownership.ts';
import { keptFirst } from '../kept-first.ts';
import { FetchAnswer, parseAnswer } from './answers.ts';
import { isSafeArgument, rpmFilename } from './names-rules.ts';
import { findDnfPlaces } from './places.ts';
import { withDnfSession } from './session.ts';

/** Enough for a large transaction over a slow connection. */
const DOWNLOAD_TIMEOUT_MS = 60 * 60_000;

/**
 * Downloads the files of an approved plan into `directory`, never as root, and hashes each against the plan.
 * Before the first byte the host's repositories must name the same sizes and hashes. Files that do not match are
 * removed.
 */
export async function fetchActions(
  paths: HostPaths,
  { actions, directory }: { actions: readonly PlanAction[]; directory: string },
): Promise<FetchOutcome> {
  const incoming = actions.filter(({ action }) => action !== 'remove');
  const needed = await expectFiles({ actions: incoming, directory, expectedFile });
  if (!needed.ok) return needed;
  return keptFirst(paths.kept, { ecosystem: 'dnf', files: needed.files, directory }, (rest) =>
    download(paths, rest, directory),
  );
}

async function download(
  paths: HostPaths,
  expected: readonly DownloadedFile[],
  directory: string,
): Promise<FetchOutcome> {
  const places = await findDnfPlaces(paths);
  if (!places.ok) return places;

  const identity = await downloadIdentity(null);
  await transferFolder(directory, identity);
  try {
    return await withDnfSession(places.value, identity, async (session) => {
      const files = expected.map(({ name, arch, version: evr, filename, sizeBytes: size, sha256 }) => ({
        ...{ name, arch, evr, filename, size, sha256 },
      }));
      const run = await session.ask('fetch', { directory, files }, { timeoutMs: DOWNLOAD_TIMEOUT_MS });
      const answer = parseAnswer(run, FetchAnswer);
      return answer.ok ? { ok: true } : answer;
    });
  } finally {
    if (identity !== null) await reclaimFolder(directory);
  }
}

function expectedFile(action: PlanAction): DownloadedFile | null {
  const { name, arch, to_version: version, artifact } = action;
  if (!arch || !version || !artifact?.sha256 || !isSafeArgument({ name, arch, evr: version })) return null;
  // The executor expects the package under this name.
  if (artifact.filename !== rpmFilename({ name, evr: version, arch })) return null;
  const { filename, size_bytes: sizeBytes, sha256 } = artifact;
  return { name, arch, version, filename, sizeBytes, sha256 };
}
