import type { PlanAction } from '@tidegate/protocol/plan';
import { runProgram } from '../../platform/run-program.ts';
import { type DownloadedFile, downloadIdentity, expectFiles } from '../downloads.ts';
import type { FetchOutcome, HostPaths } from '../ecosystem.ts';
import { reclaimFolder, transferFolder } from '../folder-ownership.ts';
import { keptFirst } from '../kept-first.ts';
import { readArchiveFiles } from './artifacts.ts';
import { archiveFilename } from './parse-uris.ts';
import { aptEnvironment, FIXED_OPTIONS, pin, withAptSession } from './session.ts';

/** Enough for a large transaction over a slow connection. */
const DOWNLOAD_TIMEOUT_MS = 60 * 60_000;
const DOWNLOAD_OUTPUT_MAX_BYTES = 4 * 1024 * 1024;

/**
 * Downloads the files of an approved plan into `directory`, never as root, and hashes each against the plan.
 * Before the first byte the host's signed indexes must name the same sizes and hashes. Files that do not match
 * are removed.
 */
export async function fetchActions(
  paths: HostPaths,
  { actions, directory }: { actions: readonly PlanAction[]; directory: string },
): Promise<FetchOutcome> {
  const incoming = actions.filter(({ action }) => action !== 'remove');
  const needed = await expectFiles({ actions: incoming, directory, expectedFile });
  if (!needed.ok) return needed;
  return keptFirst(paths.kept, { ecosystem: 'apt', files: needed.files, directory }, (rest) =>
    download(paths, rest, directory),
  );
}

async function download(
  paths: HostPaths,
  expected: readonly DownloadedFile[],
  directory: string,
): Promise<FetchOutcome> {
  const identity = await downloadIdentity('_apt');
  const agreed = await withAptSession(paths, (session) => compareIndexes(session, expected), { identity });
  if (!agreed.ok) return agreed;
  await transferFolder(directory, identity);
  try {
    const options = [
      '-o',
      'Acquire::Retries=2',
      '-o',
      'Dir::Cache::pkgcache=',
      '-o',
      'Dir::Cache::srcpkgcache=',
    ];
    const run = await runProgram({
      program: 'apt-get',
      args: [...FIXED_OPTIONS, ...options, '-q', 'download', ...expected.map(pin)],
      timeoutMs: DOWNLOAD_TIMEOUT_MS,
      maxOutputBytes: DOWNLOAD_OUTPUT_MAX_BYTES,
      onOverflow: 'keep_tail',
      env: aptEnvironment(paths),
      identity,
      cwd: directory,
    });
    if (!run.ok) {
      // apt itself found that the file differs from its index.
      const mismatch = run.stderr.split('\n').find((line) => line.includes('Hash Sum mismatch'));
      return { ok: false, reason: mismatch ? `artifact_mismatch: ${mismatch}` : run.detail };
    }
  } finally {
    if (identity !== null) await reclaimFolder(directory);
  }
  return { ok: true };
}

function expectedFile(action: PlanAction): DownloadedFile | null {
  const { name, arch, to_version: version, artifact } = action;
  if (!arch || !version || !artifact?.sha256) return null;
  // apt, run by the executor, finds the file only under its own name for it.
  if (artifact.filename !== archiveFilename({ name, version, arch })) return null;
  return {
    name,
    arch,
    version,
    filename: artifact.filename,
    sizeBytes: artifact.size_bytes,
    sha256: artifact.sha256,
  };
}

async function compareIndexes(
  session: Parameters<typeof readArchiveFiles>[0],
  expected: readonly DownloadedFile[],
): Promise<FetchOutcome> {
  const files = await readArchiveFiles(session, expected);
  if (!files.ok) return files;
  const named = [...files.value.values()];
  for (const { filename, sizeBytes, sha256, name } of expected) {
    const same = named.some(
      (f) => f.filename === filename && f.sizeBytes === sizeBytes && f.sha256 === sha256,
    );
    if (!same) return { ok: false, reason: `artifact_mismatch: ${name}` };
  }
  return { ok: true };
}
