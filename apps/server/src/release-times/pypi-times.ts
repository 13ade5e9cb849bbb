import { nullish } from '@tidegate/protocol/scalars';
import { compareVersions } from '@tidegate/versions';
import { Type } from 'typebox';
import { parseAs } from '../platform/parse-as.ts';
import type { AgeSubject } from './subjects.ts';
import { CONTRADICTED, type RegistrySays, releaseTimeMs, SAYS_NOTHING } from './time-rules.ts';

const Text = Type.String();

/** The members of the JSON API of one version that matter for times. */
const VersionAnswer = Type.Object({
  urls: Type.Array(
    Type.Object({
      filename: Text,
      upload_time_iso_8601: nullish(Text),
      digests: nullish(Type.Object({ sha256: nullish(Text) })),
    }),
  ),
});

/** The members of a project's simple index (PEP 691, PEP 700) that matter for times. */
const ProjectAnswer = Type.Object({
  files: Type.Array(
    Type.Object({
      filename: Text,
      'upload-time': nullish(Text),
      hashes: nullish(Type.Object({ sha256: nullish(Text) })),
    }),
  ),
});

/** One file of a version. */
export interface IndexFile {
  readonly filename: string;
  readonly sha256: string | null;
  readonly uploadedAt: string | null;
}

/** The files of the requested version; null if the text is not such an answer. */
export function filesOfVersionAnswer(text: string): IndexFile[] | null {
  return (
    parseAs(VersionAnswer, text)?.urls.map((file) => ({
      filename: file.filename,
      sha256: file.digests?.sha256 ?? null,
      uploadedAt: file.upload_time_iso_8601 ?? null,
    })) ?? null
  );
}

/**
 * The files of one version in the index of its project; empty if the project has none of that version. Null
 * if the text is not such an answer; `unknown` if the index has no file of the project at all.
 */
export function filesOfProjectAnswer(text: string, version: string): IndexFile[] | 'unknown' | null {
  const files = parseAs(ProjectAnswer, text)?.files;
  if (!files) return null;
  if (files.length === 0) return 'unknown';
  return files
    .filter(({ filename }) => isOfVersion(filename, version))
    .map((file) => ({
      filename: file.filename,
      sha256: file.hashes?.sha256 ?? null,
      uploadedAt: file['upload-time'] ?? null,
    }));
}

/**
 * The index's facts about the file to install, from all files of its version. The file is found by its hash,
 * or by its name only if the plan or the index has no hash. If the plan names no file, the newest counts.
 */
export function pypiSays(
  files: readonly IndexFile[],
  artifact: AgeSubject['artifact'],
  nowMs: number,
): RegistrySays {
  if (!artifact) return { publishedAtMs: newestOf(files, nowMs), standing: 'unknown' };
  const { sha256 } = artifact;
  const same = files.filter((file) => sha256 && file.sha256?.toLowerCase() === sha256);
  if (same.length > 0) return { publishedAtMs: newestOf(same, nowMs), standing: 'confirmed' };
  const named = files.filter((file) => file.filename === artifact.filename && !(sha256 && file.sha256));
  if (named.length > 0) return { publishedAtMs: newestOf(named, nowMs), standing: 'unknown' };
  // A file without a hash may be this one under another name.
  return sha256 && files.every((file) => file.sha256 !== null) ? CONTRADICTED : SAYS_NOTHING;
}

function newestOf(files: readonly IndexFile[], nowMs: number): number | null {
  const times = files.map(({ uploadedAt }) => releaseTimeMs(uploadedAt, nowMs));
  return times.reduce(newest, times[0] ?? null);
}

/** One unknown time makes the newest unknown. */
function newest(a: number | null, b: number | null): number | null {
  return a === null || b === null ? null : Math.max(a, b);
}

const ARCHIVES = ['.tar.gz', '.zip', '.tar.bz2', '.tgz'] as const;

/** Whether a file is of that version: wheels have it after the first dash, archives after the last. */
export function isOfVersion(filename: string, version: string): boolean {
  if (filename.length > 512) return false;
  const named = filename.endsWith('.whl') ? filename.split('-', 3)[1] : versionOfArchive(filename);
  return named !== undefined && compareVersions('pypi', named, version) === 0;
}

function versionOfArchive(filename: string): string | undefined {
  const archive = ARCHIVES.find((ending) => filename.endsWith(ending));
  if (!archive) return undefined;
  const stem = filename.slice(0, -archive.length);
  return stem.includes('-') ? stem.slice(stem.lastIndexOf('-') + 1) : undefined;
}
