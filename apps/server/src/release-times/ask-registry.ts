import type { Platform } from '../platform/platform.ts';
import type { RegistryClient } from './registry-client.ts';
import { type ReleaseTimeRow, readReleaseTimes, saveReleaseTimes } from './store.ts';
import { type AgeSubject, artifactKey, timeKey } from './subjects.ts';

/**
 * Fetches and stores times and hashes for subjects of one package (for PyPI of one version of it). Returns
 * null, or why the registry gave none. Throws if the database is unavailable.
 */
export async function askRegistry(
  platform: Platform,
  client: RegistryClient,
  subjects: readonly AgeSubject[],
): Promise<string | null> {
  const [first] = subjects;
  if (!first) return null;
  const { ecosystem, name } = first;
  const known = await readReleaseTimes(platform.database.read, { ecosystem, names: [name] });
  const fetched_at = platform.now();
  const answer =
    ecosystem === 'npm'
      ? // One packument has them all, so stored versions are checked again at no cost.
        await client.askNpm(name, [...subjects, ...known.map(subjectOf)])
      : await client.askPypi(first, subjects);
  if (answer.kind === 'failed') return answer.cause;
  const { source } = answer;
  const rows = new Map<string, ReleaseTimeRow>();
  for (const [subject, { publishedAtMs, standing }] of answer.says) {
    const { version } = subject;
    const artifact = artifactKey(subject);
    rows.set(timeKey(subject), {
      ...{ ecosystem, name, version, artifact, source, fetched_at },
      ...{ published_at: publishedAtMs, standing },
    });
  }
  await platform.database.transact((tx) => saveReleaseTimes(tx, [...rows.values()]));
  warnOfChanges(platform, { known, rows: [...rows.values()] });
  return null;
}

function subjectOf({ name, version, artifact }: ReleaseTimeRow): AgeSubject {
  const file = artifact === '' ? null : { filename: '', sha512: artifact };
  return { ecosystem: 'npm', name, version, artifact: file };
}

/** Registries do not publish a version twice: logs a warning if a proxy reports a different time. */
function warnOfChanges(
  { log }: Platform,
  { known, rows }: { known: readonly ReleaseTimeRow[]; rows: readonly ReleaseTimeRow[] },
): void {
  const before = new Map(known.map((row) => [keyOf(row), row.published_at]));
  for (const row of rows) {
    const was = before.get(keyOf(row));
    if (was == null || row.published_at === null || was === row.published_at) continue;
    log.upstreamWarning('package_age time of release changed', {
      ecosystem: row.ecosystem,
      package: row.name,
      version: row.version,
      was: new Date(was).toISOString(),
      now: new Date(row.published_at).toISOString(),
      kept: new Date(Math.max(was, row.published_at)).toISOString(),
    });
  }
}

function keyOf({ version, artifact }: ReleaseTimeRow): string {
  return `${version}\n${artifact}`;
}
