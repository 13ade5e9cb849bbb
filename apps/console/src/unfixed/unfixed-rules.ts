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
  if (hosts === 0) return 'There was no host to count.';
  const gaps: string[] = [];
  if (unknown_hosts > 0) {
    const some = unknown_hosts === 1 ? '1 host' : `${unknown_hosts} hosts`;
    gaps.push(
      `${some} of ${hosts} may have more than is listed: packages that nobody could judge, or no complete report.`,
    );
  }
  if (left_out > 0) gaps.push(`${left_out} more vulnerabilities are beyond the limit of this list.`);
  return gaps.length === 0 ? null : gaps.join(' ');
}

export function nameOf({ vulnerability, package: name }: UnfixedItem): string {
  return `${vulnerability} in ${name}`;
}
