import type { PlanAction } from '@tidegate/protocol/plan';
import { checkFiles, type DownloadedFile, downloadIdentity, expectFiles } from '../downloads.ts';
import type { FetchOutcome, HostPaths } from '../ecosystem.ts';
import { reclaimFolder, transferFolder } from '../folder-ownership.ts';
import { copyKept, openKept } from '../kept-files.ts';
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
  const { files } = needed;
  if (files.length === 0) return { ok: true };
  const fetched = await bring(paths, files, directory);
  const checked = await checkFiles(directory, fetched.ok ? files : []);
  return fetched.ok ? checked : fetched;
}

/** From what is kept here, and the rest from the repositories. */
async function bring(
  paths: HostPaths,
  files: readonly DownloadedFile[],
  directory: string,
): Promise<FetchOutcome> {
  const kept = openKept(paths.kept);
  // Each kept file was once named by the metadata of this host's repositories.
  const expected = files.filter(({ name, arch, version, sha256 }) => {
    const wanted = { ecosystem: 'dnf' as const, name, arch, version, sha256 };
    return kept.find(wanted) === null;
  });
  const downloaded = await download(paths, expected, directory);
  if (!downloaded.ok) return downloaded;
  for (const file of files.filter((one) => !expected.includes(one))) {
    if (!copyKept(paths.kept, file, directory))
      return { ok: false, reason: `artifact_mismatch: ${file.name}` };
  }
  return { ok: true };
}

async function download(
  paths: HostPaths,
  expected: readonly DownloadedFile[],
  directory: string,
): Promise<FetchOutcome> {
  if (expected.length === 0) return { ok: true };
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
