import { compareVersions } from '@tidegate/versions';
import { type AdvisoryDetails, fixedIn } from '../advisories/finding-details.ts';
import type { Sum } from './tally.ts';

/** The lowest fixed version that the record names for one of the installed versions. */
export function lowestFix(sum: Sum, { record }: Pick<AdvisoryDetails, 'record'>): string | null {
  const fixes = [...sum.subjects.values()].flatMap(
    (subject) => fixedIn(record, sum.ecosystem, subject) ?? [],
  );
  return lowestOf(fixes, sum.ecosystem);
}

export function lowestOf(versions: readonly string[], ecosystem: Sum['ecosystem']): string | null {
  return versions.reduce<string | null>(
    (lowest, one) => (lowest === null || compareVersions(ecosystem, one, lowest) === -1 ? one : lowest),
    null,
  );
}
