import type { ThirdPartyPackage } from '@tidegate/protocol/approvals-api';
import type { OriginRequest, OriginRule } from '@tidegate/protocol/origins-api';

export const ORIGINS = '/api/v1/admin/origins';

export const RULES: Readonly<Record<OriginRule, string>> = {
  ask: 'ask each time',
  allow_older_than: 'allow what is old enough',
  allow: 'allow',
};

/** What each rule does, as a sentence. */
export const RULE_HINTS: Readonly<Record<OriginRule, string>> = {
  ask: 'Each update stops as before; its page names the registration.',
  allow_older_than: 'Updates pass once the server has known exactly their file for this long.',
  allow: 'Updates pass although no database knows their vulnerabilities.',
};

/** What a link proposes for a registration. */
export type Prefill = Pick<OriginRequest, 'ecosystem' | 'key' | 'suites'>;

/** What the address proposes; null unless it names a key and suites. */
export function prefillOf(search: Readonly<Record<string, unknown>>): Prefill | null {
  const { ecosystem, key, suites } = search;
  if (typeof suites !== 'string' || suites === '') return null;
  if (typeof key !== 'string' && typeof key !== 'number') return null;
  return { ecosystem: ecosystem === 'dnf' ? 'dnf' : 'apt', key: `${key}`, suites: suitesOf(suites) };
}

/** The address that proposes to register the origin of a package; null if its key is not known. */
export function searchOf(
  { key, suites }: Pick<ThirdPartyPackage, 'key' | 'suites'>,
  ecosystem: string,
): Readonly<Record<string, string>> | null {
  return key === null ? null : { ecosystem, key, suites: suites.join('\n') };
}

/** One suite in a line. */
export function suitesOf(text: string): string[] {
  const lines = text.split('\n').map((line) => line.trim());
  return [...new Set(lines.filter((line) => line !== ''))];
}

/** Fingerprints are shown in groups and with capitals; the server takes neither. */
export function keyOf(text: string): string {
  return text.replaceAll(/\s|^0x/g, '').toLowerCase();
}

/** `allow what is older than 7 days`. */
export function ruleText({ rule, min_age_days: days }: Pick<OriginRequest, 'rule' | 'min_age_days'>): string {
  if (rule !== 'allow_older_than') return RULES[rule];
  return days === 1 ? 'allow what is older than a day' : `allow what is older than ${days} days`;
}
