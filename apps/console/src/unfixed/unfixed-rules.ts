import { isolated } from '@tidegate/protocol/isolated';
import type { UnfixedCoverage, UnfixedItem } from '@tidegate/protocol/unfixed-api';

export const UNFIXED = '/api/v1/unfixed';

export const EXPLOITED_WORDS: Readonly<Record<'true' | 'false' | 'unknown', string>> = {
  true: 'exploited',
  false: 'no report',
  unknown: 'not known',
};

export const MITIGATED_WORDS: Readonly<Record<'true' | 'false', string>> = {
  true: 'noted',
  false: 'not noted',
};

/** What is known of a fix. */
export function fixText({ fixed_in, fix_offered_at }: UnfixedItem): string {
  if (fixed_in !== null) return `in ${fixed_in}`;
  return fix_offered_at === null ? 'none known' : 'offered to some hosts';
}

/** What the list does not know; null when it knows all of every host. */
export function gapText({ at, hosts, unknown_hosts, left_out }: UnfixedCoverage): string | null {
  if (at === null) return 'The hosts have not been counted yet.';
  if (hosts === 0) return 'No host has reported its packages yet, so nothing is known.';
  const gaps: string[] = [];
  if (unknown_hosts > 0) {
    const some = unknown_hosts === 1 ? '1 host' : `${unknown_hosts} hosts`;
    gaps.push(
      `${some} of ${hosts} may have more than is listed: packages that could not be checked, or no complete report.`,
    );
  }
  if (left_out > 0) gaps.push(`${left_out} more vulnerabilities are beyond the limit of this list.`);
  return gaps.length === 0 ? null : gaps.join(' ');
}

type Named = Pick<UnfixedItem, 'vulnerability' | 'cves'>;

/**
 * The name by which people know a vulnerability: its CVE, also where the database lists it by the id of an advisory. An
 * advisory about several, or about none, keeps its own id.
 */
export function knownAs({ vulnerability, cves }: Named): string {
  return (cves.length === 1 && cves[0]) || vulnerability;
}

/** The CVE that is shown of an advisory about several, and how many more there are: the one that was searched for. */
export function shownOf({ vulnerability, cves }: Named, searched = ''): { id: string; more: number } {
  const found = cves.find((cve) => cve.toLowerCase().includes(searched.toLowerCase()));
  const own = cves.find((cve) => cve === vulnerability);
  const id = (searched !== '' && found) || own || cves[0];
  return id === undefined ? { id: vulnerability, more: 0 } : { id, more: cves.length - 1 };
}

/** The records that tell of it, other than the id that is shown, with those about it alone first. */
export function recordsBelow(
  { vulnerability, names, cves, records }: Pick<UnfixedItem, 'vulnerability' | 'names' | 'cves' | 'records'>,
  shown: string,
): { id: string; isOfSeveral: boolean }[] {
  const isOfSeveral = (id: string) =>
    id === vulnerability ? cves.some((cve) => !names.includes(cve)) : !names.includes(id);
  return [...new Set([vulnerability, ...records])]
    .filter((id) => id !== shown)
    .map((id) => ({ id, isOfSeveral: isOfSeveral(id) }))
    .sort((a, b) => Number(a.isOfSeveral) - Number(b.isOfSeveral));
}

export function nameOf(item: Named & Pick<UnfixedItem, 'package'>): string {
  return `${knownAs(item)} in ${isolated(item.package)}`;
}
