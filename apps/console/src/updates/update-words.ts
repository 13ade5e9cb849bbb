import type { GateFinding, GateReport } from '@tidegate/protocol/approvals-api';
import { counted } from '@tidegate/protocol/count-words';
import type { Offer } from '@tidegate/protocol/offers';
import type { UpdateState } from '@tidegate/protocol/states';
import type { UpdateItem } from '@tidegate/protocol/updates-api';

type Stop = NonNullable<GateReport['blocked_by']>;
type Reason = NonNullable<GateReport['reason']>;

/** What blocked an update, as a heading. */
export const STOP_TITLES: Readonly<Record<Stop, string>> = {
  divergence: 'A file differs from what other hosts reported',
  registry: 'A file differs from that of its registry',
  hold: 'A package is on hold',
  age: 'A version is too young, or its age is not known',
  policy: 'The policy leaves this update to people',
  vulnerability: 'A package has a known vulnerability',
  unchecked: 'The packages could not be checked',
};

/** Why, as a sentence. */
export const REASONS: Readonly<Record<Reason, string>> = {
  artifact_divergence: 'The fleet reported another file under this name and version.',
  artifact_unknown_to_registry:
    'The registry has another file under this name and version, or does not have the version.',
  held: 'An operator keeps a package of this update as it is.',
  known_vulnerability: 'A package that this update installs or keeps has a known vulnerability.',
  too_young: 'A version was released more recently than the minimum age allows.',
  unknown_age: 'The release time of a version is not known.',
  unreachable: 'The vulnerability source did not answer.',
  uncovered: 'No vulnerability database covers the distribution of this host, or the origin of a package.',
  undecidable: 'The version of a package cannot be compared with the vulnerability database.',
  not_chosen: 'The policy names other versions.',
  ecosystem: 'The policy does not name this ecosystem.',
  package: 'The policy does not name this package.',
  excepted: 'The policy leaves this package out.',
  origin: 'The package does not come from an origin of the policy, or its origin is not known.',
  not_security: 'The policy is for security updates, and this is not known to be one.',
  severity: 'It fixes no known vulnerability of the severity that the policy asks for.',
  change: 'The change of version is greater than the policy allows, or not known.',
  policy_age: 'A version is younger than the policy asks.',
  policy_age_unknown: 'The age of a version is not known.',
  ring_not_entered: 'The rollout has not entered the ring of this host.',
  unproven: 'No host of an inner ring has installed a package of this update.',
  age_exception: 'It passes the minimum age only by an exception.',
};

const VENDOR_NAMES = { debian: 'Debian', ubuntu: 'Ubuntu', redhat: 'Red Hat' } as const;
type VendorWord = NonNullable<GateFinding['vendor']>;
const VENDOR_STATUSES: Readonly<Record<VendorWord['status'], string>> = {
  unimportant: 'calls it unimportant: no impact on security.',
  negligible: 'calls its priority negligible.',
  not_affected: 'says that this package is not affected.',
  ignored: 'will not fix it in this release.',
  postponed: 'will fix it later.',
  deferred: 'will fix it later.',
  no_dsa: 'issues no advisory for it.',
  will_not_fix: 'will not fix it.',
  under_investigation: 'is still investigating it.',
  end_of_life: 'no longer supports this package.',
  out_of_support: 'no longer supports this product.',
};

/** What the distribution says itself, as a sentence. */
export function vendorText({ by, status }: VendorWord): string {
  return `${VENDOR_NAMES[by]} ${VENDOR_STATUSES[status]}`;
}

/** Why a bulk request left an update out. */
export const SKIP_REASONS: Readonly<Record<string, string>> = {
  conflict: 'is no longer pending, or another version of the package is',
  not_found: 'no longer exists',
  verdict_pending: 'is not judged yet: try again in a moment',
};

/** The states of an update in words. */
export const STATE_WORDS: Readonly<Record<UpdateState, string>> = {
  pending: 'pending',
  awaiting_plan: 'awaiting plan',
  approved: 'approved',
  installing: 'installing',
  installed: 'installed',
  failed: 'failed',
  rejected: 'rejected',
  superseded: 'superseded',
};

/** Why a version of an npm or PyPI package is offered. */
export const OFFER_WORDS: Readonly<Record<Offer, string>> = {
  series: 'newest of its series',
  newest: 'newest',
  smallest_fix: 'smallest fix',
};

export const CHANGE_WORDS: Readonly<Record<NonNullable<UpdateItem['change']>, string>> = {
  patch: 'a patch',
  minor: 'a minor change',
  major: 'a major change',
};

/** `the newest of its series and the smallest fix`. */
export function offersText({ offers }: Pick<UpdateItem, 'offers'>): string {
  return listed(offers.map((offer) => `the ${OFFER_WORDS[offer]}`));
}

/** `a, b and c`. */
export function listed(words: readonly string[]): string {
  const last = words.at(-1) ?? '';
  return words.length < 2 ? last : `${words.slice(0, -1).join(', ')} and ${last}`;
}

/** `One transaction brings this update and 7 others`. */
export function siblingsText(siblings: number): string {
  return `One transaction brings this update and ${counted(siblings, 'other')}`;
}

/** What may be done with an update in each state; the server judges again. */
export const STATE_VERBS: Readonly<
  Record<UpdateState, { approve: boolean; reject: boolean; reopen: string | null }>
> = {
  pending: { approve: true, reject: true, reopen: null },
  awaiting_plan: { approve: true, reject: true, reopen: 'Withdraw the approval' },
  approved: { approve: false, reject: false, reopen: 'Withdraw the approval' },
  installing: { approve: false, reject: false, reopen: null },
  installed: { approve: false, reject: false, reopen: null },
  failed: { approve: false, reject: false, reopen: 'Reopen' },
  rejected: { approve: false, reject: false, reopen: 'Reopen' },
  superseded: { approve: false, reject: false, reopen: null },
};

/** `0.9 %`, `under 0.1 %`. */
export function percent(share: number): string {
  const value = share * 100;
  return value < 0.1 ? 'under 0.1 %' : `${value < 10 ? value.toFixed(1) : value.toFixed(0)} %`;
}

const KIB = 1_024;

/** `812 B`, `20.3 KiB`, `1.2 MiB`. */
export function bytesText(bytes: number): string {
  if (bytes < KIB) return `${bytes} B`;
  if (bytes < KIB * KIB) return `${(bytes / KIB).toFixed(1)} KiB`;
  return `${(bytes / KIB / KIB).toFixed(1)} MiB`;
}

/** What excuses a finding, in words. */
export const STATUSES = {
  not_affected: 'not affected',
  accepted: 'risk accepted',
  unimportant: 'unimportant',
} as const;
