import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type {
  Policy,
  PolicyEnd,
  PolicyPreview,
  PolicyReboot,
  PolicyRestarts,
  PolicyScope,
  PolicyTerms,
} from '@tidegate/protocol/policies-api';
import { MANAGERS } from '../hosts/package-managers.ts';
import { listed, REASONS } from '../updates/update-words.ts';
import { windowText } from './schedule-rules.ts';

export const POLICIES = '/api/v1/policies';

export const STATES: Readonly<Record<Policy['state'], string>> = {
  in_force: 'in force',
  suspended: 'suspended',
  expired: 'expired',
  revoked: 'revoked',
  replaced: 'replaced',
};

/** Why a version is not in force any more, as the rest of a sentence. */
export const ENDS: Readonly<Record<PolicyEnd, string>> = {
  replaced: 'replaced by a newer version',
  revoked: 'revoked',
  expired: 'its end has come',
  author_disabled: 'its author is disabled',
  author_demoted: 'its author may no longer approve',
  author_bound: 'its author may no longer approve for the whole fleet',
  author_deleted: 'its author is deleted',
};

export const CHANGES: Readonly<Record<PolicyTerms['max_change'], string>> = {
  patch: 'a patch, such as 1.4.2 to 1.4.3',
  minor: 'a minor change, such as 1.4.2 to 1.5.0',
  any: 'any change',
};

export const SEVERITIES: Readonly<Record<NonNullable<PolicyTerms['minimum_severity']>, string>> = {
  low: 'low or higher',
  medium: 'medium or higher',
  high: 'high or critical',
  critical: 'critical',
};

export const SEVERITY_KEYS = ['low', 'medium', 'high', 'critical'] as const;

export const REBOOTS: Readonly<Record<PolicyReboot['when'], string>> = {
  never: 'ask for none',
  needed: 'of hosts that need it after its updates',
  always: 'of hosts after each of its updates',
};
export const REBOOT_KEYS = ['never', 'needed', 'always'] as const satisfies readonly PolicyReboot['when'][];

export const RESTARTS: Readonly<Record<PolicyRestarts, string>> = {
  never: 'ask for none',
  needed: 'on hosts that need it after its updates',
};
export const RESTART_KEYS = ['never', 'needed'] as const satisfies readonly PolicyRestarts[];

export const REMAINING: Readonly<Record<PolicyTerms['remaining_vulnerabilities'], string>> = {
  ask: 'a person decides',
  approve: 'approve, where a person may without an override',
};

/** Versions of a chosen set that its terms name. */
const CHOSEN_SHOWN = 20;

/** Reasons that only policies have, or that read otherwise of them. */
const LEFT = {
  taken_back: 'A person took back an approval of this update, and decides again.',
  other_version: 'The policy prefers another offered version of the package.',
  not_judged_here: 'A preview judges 2,000 updates; the policy itself judges all.',
  blackout: 'A blackout withholds changes of its host now.',
  verdict_pending: 'It is not judged yet. Refresh in a moment.',
  conflict: 'It changed while it was judged. Refresh to see what holds now.',
  not_found: 'It no longer exists.',
} as const;

const SENTENCES: ReadonlyMap<string, string> = new Map(Object.entries({ ...REASONS, ...LEFT }));

/** Why a policy leaves an update to people, as a sentence; the server may have more reasons than this console. */
export function reasonText(reason: string): string {
  return SENTENCES.get(reason) ?? reason;
}

/** `all hosts`, `the groups db and web, and 2 hosts`. */
export function scopeText(scope: PolicyScope): string {
  if (scope.kind === 'all') return 'all hosts';
  const { groups, hosts, tags = [] } = scope;
  const plural = (list: readonly string[]) => (list.length === 1 ? '' : 's');
  const parts = [
    ...(groups.length > 0 ? [`the group${plural(groups)} ${isolated(listed(groups))}`] : []),
    ...(tags.length > 0 ? [`the tag${plural(tags)} ${isolated(listed(tags))}`] : []),
    ...(hosts.length > 0 ? [counted(hosts.length, 'host')] : []),
  ];
  return parts.join(', and ');
}

/** The terms in plain words, by name. Scope and end are shown beside them. */
export function termFacts({
  terms,
  windows,
}: Pick<Policy, 'terms' | 'windows'>): (readonly [string, string])[] {
  const { ecosystems, packages, except_packages: excepted, origins } = terms;
  const { minimum_severity: severity, min_age_hours: hours, max_change: change } = terms;
  const hasChanges = ecosystems.includes('npm') || ecosystems.includes('pypi');
  return [
    ['Package managers', listed(ecosystems.map((one) => MANAGERS[one]))],
    ['Packages', packages.includes('*') ? 'all' : packages.join(', ')],
    ...(terms.only ? [['Chosen versions', chosenText(terms.only)] as const] : []),
    ['Except', excepted.length === 0 ? 'none' : excepted.join(', ')],
    ['Origins', origins.length === 0 ? 'any' : origins.join(', ')],
    [
      'Updates',
      terms.security_only ? 'security updates, and what fixes a known vulnerability' : 'security and others',
    ],
    [
      'Severity',
      severity === null ? 'any' : `only what fixes a vulnerability that is ${SEVERITIES[severity]}`,
    ],
    ...(hasChanges ? [['Greatest change', `${CHANGES[change]} (npm and PyPI)`] as const] : []),
    ['Minimum age', hours === null ? 'none' : ageText(hours)],
    ['If vulnerabilities remain', REMAINING[terms.remaining_vulnerabilities]],
    ['When', windows.length === 0 ? 'at any time' : windows.map(windowText).join('; ')],
  ];
}

/** `only curl 8.0-1, and 3 more`. */
function chosenText(only: NonNullable<PolicyTerms['only']>): string {
  const shown = only
    .slice(0, CHOSEN_SHOWN)
    .map(({ name, version }) => `${isolated(name)} ${isolated(version)}`);
  const more = only.length - shown.length;
  return `only ${shown.join(', ')}${more > 0 ? `, and ${more.toLocaleString('en')} more` : ''}`;
}

/** `2 days`, `36 hours`. */
export function ageText(hours: number): string {
  return hours % 24 === 0 ? counted(hours / 24, 'day') : counted(hours, 'hour');
}

/** `3 hosts fetched nothing of what was approved for them in the last window, and are caught up.` */
export function missedText({
  hosts,
  catch_up_until: until,
}: Pick<NonNullable<PolicyPreview['missed']>, 'hosts' | 'catch_up_until'>): string {
  const end = hosts === 1 ? ['it is caught up', 'it waits'] : ['they are caught up', 'they wait'];
  const subject = `${counted(hosts, 'host')} fetched nothing of what was approved in the last window`;
  return `${isolated(subject)}: ${until === null ? `${end[1]} for the next one` : end[0]}.`;
}

/** `It reaches 12 hosts and would approve 3 updates now; 1 more once its host has sent a plan; 5 are left to people`. */
export function previewText(
  { approves, unplanned, leaves, hosts, open_window: open, rings }: PolicyPreview,
  windows: Policy['windows'],
): string {
  const when = windows.length > 0 && open === null ? 'if a window were open' : 'now';
  const later =
    unplanned === 1
      ? ['1 more once its host has sent a plan']
      : [`${unplanned.toLocaleString('en')} more once their hosts have sent a plan`];
  const left = leaves === 0 ? 'none are' : leaves === 1 ? '1 is' : `${leaves.toLocaleString('en')} are`;
  return [
    `It reaches ${counted(hosts, 'host')} and would approve ${counted(approves, 'update')} ${when}${rings ? ', ring by ring' : ''}`,
    ...(unplanned === 0 ? [] : later),
    `${left} left to people`,
  ].join('; ');
}

/** `2 approved, 1 waiting for a plan, 3 stopped`. */
export function runText(run: NonNullable<Policy['last_run']>): string {
  return shortRunText(run).replace('waiting', 'waiting for a plan');
}

/** `2 approved, 1 waiting, 3 stopped`. */
export function shortRunText(run: NonNullable<Policy['last_run']>): string {
  const { approved, awaiting_plan: waiting, stopped } = run;
  const number = (count: number) => count.toLocaleString('en');
  return `${number(approved)} approved, ${number(waiting)} waiting, ${number(stopped)} stopped`;
}
