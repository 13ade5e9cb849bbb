import { ecosystemCovers } from '@tidegate/versions/osv-ecosystems';
import type { OsvRecord } from './osv-schema.ts';
import type { Subject } from './subjects.ts';

/** What a distribution says itself about a vulnerability of one of its packages. */
export interface VendorWord {
  readonly by: Vendor;
  readonly status: VendorStatus;
}

export type Vendor = 'debian' | 'ubuntu' | 'redhat';
export type VendorStatus =
  | ('unimportant' | 'negligible' | 'not_affected' | 'ignored' | 'postponed' | 'deferred' | 'no_dsa')
  | ('will_not_fix' | 'under_investigation' | 'end_of_life' | 'out_of_support');

const VENDORS: ReadonlyMap<string, Vendor> = new Map([
  ['Debian', 'debian'],
  ['Ubuntu', 'ubuntu'],
  ['Red Hat', 'redhat'],
]);

/**
 * Debian's security tracker (urgency, and the reason for no advisory), Ubuntu's CVE tracker and Red Hat's CVE pages.
 * Words that say only that the package is affected are left out.
 */
const STATUSES: ReadonlyMap<string, VendorStatus> = new Map([
  ['unimportant', 'unimportant'],
  ['negligible', 'negligible'],
  ['not affected', 'not_affected'],
  ['ignored', 'ignored'],
  ['postponed', 'postponed'],
  ['deferred', 'deferred'],
  ['fix deferred', 'deferred'],
  ['no dsa', 'no_dsa'],
  ['will not fix', 'will_not_fix'],
  ['under investigation', 'under_investigation'],
  ['end of life', 'end_of_life'],
  ['out of support scope', 'out_of_support'],
]);

/** Members that carry such a word, the one that decides first. */
export const WORD_FIELDS = [
  ...['urgency', 'status', 'state', 'fix_state', 'nodsa_reason', 'ubuntu_priority'],
] as const;
export const WORD_MAX_CHARS = 64;

/**
 * The vendor's word about exactly this package in exactly this release; null when there is none. Every member of the
 * record that applies must say the same: a word about another package or release says nothing about this one.
 */
export function vendorWord(record: OsvRecord | null, subject: Subject): VendorWord | null {
  const by = VENDORS.get(baseOf(subject.ecosystem));
  if (!record || !by) return null;
  const applying = (record.affected ?? []).filter(
    ({ package: target }) =>
      target?.name === subject.name &&
      ecosystemCovers({ record: target.ecosystem, host: subject.ecosystem }) !== 'no',
  );
  const priority = (record.severity ?? []).find(({ type }) => type.toLowerCase() === by)?.score;
  const said = new Set(
    applying.map(
      (one) => wordOf(one.ecosystem_specific) ?? wordOf(one.database_specific) ?? wordIn(priority),
    ),
  );
  const [status] = said;
  return said.size === 1 && status ? { by, status } : null;
}

/** The words of one member of `affected`, for a stored record. */
export function wordsOf(specific: unknown): Record<string, string> {
  if (typeof specific !== 'object' || specific === null) return {};
  return Object.fromEntries(
    WORD_FIELDS.flatMap((field) => {
      const word: unknown = Reflect.get(specific, field);
      return typeof word === 'string' ? [[field, word.slice(0, WORD_MAX_CHARS)]] : [];
    }),
  );
}

/** The word on which all agree; null unless each has one. */
export function sharedWord(words: readonly (VendorWord | null)[]): VendorWord | null {
  const [first = null] = words;
  return words.every((word) => word?.by === first?.by && word?.status === first?.status) ? first : null;
}

function wordOf(specific: unknown): VendorStatus | null {
  const words = wordsOf(specific);
  return WORD_FIELDS.map((field) => wordIn(words[field])).find((status) => status !== null) ?? null;
}

function wordIn(text: string | undefined): VendorStatus | null {
  return text === undefined
    ? null
    : (STATUSES.get(
        text
          .trim()
          .toLowerCase()
          .replace(/[-_ ]+/g, ' '),
      ) ?? null);
}

function baseOf(ecosystem: string): string {
  return ecosystem.split(':', 1)[0] ?? '';
}
