import type { PlanAction } from '@tidegate/protocol/plan';
import { type DownloadedFile, expectFiles } from '../downloads.ts';
import type { FetchOutcome } from '../ecosystem.ts';
import { reclaimFolder, transferFolder } from '../folder-ownership.ts';
import { keptFirst } from '../kept-first.ts';
import { findInterpreter, type Interpreter } from './interpreter.ts';
import { isName, isVersion, parseFilename } from './names-rules.ts';
import type { Planner } from './planner.ts';
import { PIP_OPTIONS, withShadow } from './shadow.ts';

/** Enough for a large transaction over a slow connection. */
const DOWNLOAD_TIMEOUT_MS = 60 * 60_000;

/**
 * Downloads the wheels of an approved plan into `directory`, never as root, each by its approved hash, and checks
 * name, size and hash again. Files that do not match are removed.
 */
export async function fetchActions(
  planner: Planner,
  { actions, directory }: { actions: readonly PlanAction[]; directory: string },
): Promise<FetchOutcome> {
  const incoming = actions.filter(({ action }) => action !== 'remove');
  const needed = await expectFiles({ actions: incoming, directory, expectedFile });
  if (!needed.ok) return needed;
  return keptFirst(planner.kept, { ecosystem: 'pypi', files: needed.files, directory }, (rest) =>
    downloadFor(planner, rest, directory),
  );
}

async function downloadFor(
  planner: Planner,
  expected: readonly DownloadedFile[],
  directory: string,
): Promise<FetchOutcome> {
  const [first] = expected;
  if (first === undefined) return { ok: true };
  const place = planner.found.places.find(({ path }) => path === first.arch);
  if (place === undefined || expected.some(({ arch }) => arch !== place.path)) {
    return { ok: false, reason: `there is no place ${first.arch} with Python packages that can be read` };
  }
  const interpreter = await findInterpreter(place, planner.uids);
  if (!interpreter.ok) return interpreter;
  return download(planner, { interpreter: interpreter.value, expected, directory });
}

function expectedFile({ name, arch, to_version: version, artifact }: PlanAction): DownloadedFile | null {
  if (!arch || !version || !artifact?.sha256) return null;
  if (!isName(name) || !isVersion(version) || parseFilename(artifact.filename, name)?.kind !== 'wheel')
    return null;
  const { filename, size_bytes: sizeBytes, sha256 } = artifact;
  return { name, arch, version, filename, sizeBytes, sha256 };
}

interface Download {
  interpreter: Interpreter;
  expected: readonly DownloadedFile[];
  directory: string;
}

async function download(
  { index, identity }: Planner,
  { interpreter, expected, directory }: Download,
): Promise<FetchOutcome> {
  const pins = expected.map(({ name, version, sha256 }) => `${name}==${version} --hash=sha256:${sha256}\n`);
  return withShadow({ interpreter, distributions: [], identity }, async (shadow) => {
    const requirements = await shadow.addRequirements(`--index-url ${index.url}\n${pins.join('')}`);
    await transferFolder(directory, identity);
    try {
      const run = await shadow.run(
        [
          ...['download', ...PIP_OPTIONS, '--quiet', '--no-deps', '--require-hashes', '--only-binary=:all:'],
          ...['--progress-bar=off', '--dest', directory, '-r', requirements],
        ],
        { timeoutMs: DOWNLOAD_TIMEOUT_MS },
      );
      if (run.ok) return { ok: true };
      // pip itself found that no file of the index has an approved hash.
      const isMismatch = run.stderr.includes('DO NOT MATCH THE HASHES');
      return {
        ok: false,
        reason: isMismatch ? `artifact_mismatch: ${namedIn(run.stderr, expected)}` : run.detail,
      };
    } finally {
      if (identity !== null) await reclaimFolder(directory);
    }
  });
}

function namedIn(output: string, expected: readonly DownloadedFile[]): string {
  const told = output.toLowerCase();
  const named = expected.filter(({ name, sha256 }) => told.includes(name) && told.includes(sha256));
  return (named.length > 0 ? named : expected)
    .map(({ name }) => name)
    .join(', ')
    .slice(0, 500);
}
