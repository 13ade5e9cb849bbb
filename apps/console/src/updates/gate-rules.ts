import type { GateReport } from '@tidegate/protocol/approvals-api';
import { counted } from '@tidegate/protocol/count-words';
import { isolated } from '@tidegate/protocol/isolated';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { UpdatePlan } from '@tidegate/protocol/updates-api';
import { REASONS } from './update-words.ts';

/**
 * `stops`: the gate blocks on it; `found`: present, but it blocks nothing; `unchecked`: nobody looked, and it may pass all
 * the same; `unknown`: never shown as safe.
 */
export type CheckState =
  | 'passes'
  | 'stops'
  | 'vulnerable'
  | 'found'
  | 'unchecked'
  | 'unknown'
  | 'not_judged'
  | 'off';

/** One line of the gate's checklist. */
export interface Check {
  readonly id: 'age' | 'closure' | 'divergence' | 'hashes' | 'registry' | 'hold' | 'vendor' | 'third_party';
  readonly title: string;
  readonly state: CheckState;
  readonly word: string;
  readonly evidence: string;
}

type Plan = Pick<UpdatePlan, 'actions'> | null;

/** The gate's checks in its order, as the server reports them: nothing is judged here. */
export function checklistOf(given: {
  gate: GateReport | null;
  plan: Plan;
  ecosystem: Ecosystem;
}): readonly Check[] {
  const { gate, plan } = given;
  const known = gate !== null && plan !== null ? gate : null;
  return [
    divergenceCheck(known),
    ...registryChecks(known),
    ...holdChecks(known),
    ...vendorChecks(known),
    ...thirdPartyChecks(known),
    ageCheck(known, given.ecosystem),
    closureCheck(known),
    hashCheck(plan),
  ];
}

const NOT_JUDGED = {
  state: 'not_judged',
  word: 'not judged',
  evidence: 'No plan is known yet, so there is nothing to judge.',
} as const;

function divergenceCheck(gate: GateReport | null): Check {
  const head = { id: 'divergence', title: 'Same files as on other hosts' } as const;
  if (gate === null) return { ...head, ...NOT_JUDGED };
  const { divergences } = gate;
  if (divergences.length === 0)
    return {
      ...head,
      ...{
        state: 'passes',
        word: 'passes',
        evidence: 'No file of this update has been seen with another hash.',
      },
    };
  const [first] = divergences;
  const more = divergences.length > 1 ? ` and ${divergences.length - 1} more` : '';
  const evidence = `${isolated(first?.package ?? '')} ${isolated(first?.version ?? '')}${more} was seen with another hash.`;
  return { ...head, ...{ state: 'stops', word: 'stops', evidence } };
}

/** Listed only if it stops the update: a registry that does not object to a hash has not confirmed it. */
function registryChecks(gate: GateReport | null): Check[] {
  const [first, ...more] = gate?.unknown_artifacts ?? [];
  if (!first) return [];
  const others = more.length > 0 ? ` and ${more.length} more` : '';
  const evidence = `${isolated(first.source)} does not have ${isolated(first.package)} ${isolated(first.version)}${others} with the hash of the plan.`;
  return [
    {
      ...{ id: 'registry', title: 'Same file as in the registry' },
      ...{ state: 'stops', word: 'stops', evidence },
    },
  ];
}

/** Listed only if a package of the plan is on hold. */
function holdChecks(gate: GateReport | null): Check[] {
  const [first, ...more] = gate?.held ?? [];
  if (!first) return [];
  const others = more.length > 0 ? ` ${counted(more.length, 'other package')} of the plan too.` : '';
  const evidence = `${isolated(first.package)} is on hold until ${first.ends_at.slice(0, 10)}: ${isolated(first.reason)}${others}`;
  return [{ id: 'hold', title: 'Nothing on hold', state: 'stops', word: 'stops', evidence }];
}

/** Listed only if a package comes from another vendor than before. */
function vendorChecks(gate: GateReport | null): Check[] {
  const [first, ...more] = gate?.origin_changes ?? [];
  if (!first) return [];
  const others = more.length > 0 ? ` ${counted(more.length, 'other package')} moved too.` : '';
  const from =
    first.from === null
      ? 'Nobody knows where the version on the host came from'
      : `The host has it from ${isolated(first.from)}`;
  const evidence = `${isolated(first.package)} comes from ${isolated(first.to)}. ${from}.${others} A name from another vendor may be another program.`;
  return [{ id: 'vendor', title: 'Same vendor as before', state: 'found', word: 'another vendor', evidence }];
}

/** Origins that the evidence describes; of further ones it has the number. */
const ORIGINS_SHOWN = 3;

/** Listed only if packages come from third parties: each origin with what an admin registered for it. */
function thirdPartyChecks(gate: GateReport | null): Check[] {
  const packages = gate?.third_party ?? [];
  if (packages.length === 0) return [];
  const told = [...new Set(packages.map(originText))];
  const more = told.length - ORIGINS_SHOWN;
  const evidence = [
    ...told.slice(0, ORIGINS_SHOWN),
    ...(more > 0 ? [`And ${counted(more, 'more origin')}.`] : []),
  ];
  const isAllowed = packages.every(({ standing }) => standing === 'allowed');
  const stops = gate?.blocked_by === 'unchecked';
  return [
    {
      ...{ id: 'third_party', title: 'Third-party repositories', evidence: evidence.join(' ') },
      ...(isAllowed
        ? ({ state: 'found', word: 'registered' } as const)
        : ({ state: stops ? 'stops' : 'unchecked', word: stops ? 'stops' : 'not checked' } as const)),
    },
  ];
}

const STANDINGS: Readonly<Record<GateReport['third_party'][number]['standing'], string>> = {
  allowed: 'it may pass',
  asks: 'an operator has to override each update',
  too_young: 'the server has not known this file for long enough',
  disputed: 'other hosts have this file from somewhere else',
  not_registered: 'it is not registered',
  key_unknown: 'the host does not say which key signed it',
};

function originText({ origin, key, standing, registration }: GateReport['third_party'][number]): string {
  const signed = key === null ? origin : `${isolated(origin)}, signed by ${key}`;
  if (registration === null) return `${signed}: ${STANDINGS[standing]}.`;
  const { rule, min_age_days: days, reason, ends_at: end } = registration;
  const words = rule === 'allow_older_than' ? `allow when older than ${days} days` : rule;
  const since = key === null ? '' : ',';
  return `${signed}${since} is registered until ${end.slice(0, 10)} (rule: ${words}; reason: ${isolated(reason)}): ${STANDINGS[standing]}.`;
}

/** A7. */
function ageCheck(gate: GateReport | null, ecosystem: Ecosystem): Check {
  const head = { id: 'age', title: 'Age of every new version' } as const;
  if (ecosystem === 'apt' || ecosystem === 'dnf') {
    const evidence = `${ecosystem} has no release times. The server knows only when the fleet first saw a version.`;
    return { ...head, ...{ state: 'off', word: 'does not apply', evidence } };
  }
  if (gate === null) return { ...head, ...NOT_JUDGED };
  const { age } = gate;
  if (age === null)
    return { ...head, ...{ state: 'off', word: 'off', evidence: 'This server requires no minimum age.' } };
  const { violations, times, minimum_hours: hours } = age;
  if (violations.length > 0) return { ...head, ...ageViolation(gate, violations, hours) };
  if (times.length === 0) {
    const evidence = 'No release time is known: nothing is new to the host, or no registry has answered yet.';
    return { ...head, ...{ state: 'unknown', word: 'not known', evidence } };
  }
  const evidence = `${counted(times.length, 'new version')}, each at least ${hours} h old.`;
  return { ...head, ...{ state: 'passes', word: 'passes', evidence } };
}

type Violations = NonNullable<GateReport['age']>['violations'];

function ageViolation(
  gate: GateReport,
  violations: Violations,
  hours: number,
): Pick<Check, 'state' | 'word' | 'evidence'> {
  const young = violations.filter(({ age_hours }) => age_hours !== null).length;
  const parts = [
    young > 0 ? `${counted(young, 'version')} younger than ${hours} h` : '',
    violations.length > young ? `${counted(violations.length - young, 'version')} of unknown age` : '',
  ].filter(Boolean);
  const evidence = `${parts.join(', ')}.`;
  if (gate.blocked_by === 'age') return { state: 'stops', word: 'stops', evidence };
  return young > 0
    ? { state: 'found', word: 'too young', evidence }
    : { state: 'unknown', word: 'not known', evidence };
}

/** A1, A2. */
function closureCheck(gate: GateReport | null): Check {
  const head = { id: 'closure', title: 'Known vulnerabilities in its packages' } as const;
  if (gate === null) return { ...head, ...NOT_JUDGED };
  const { verdict, blocked_by: by, reason } = gate;
  switch (verdict) {
    case 'clear': {
      const fixes = fixesText(gate);
      const evidence = `None of its packages has a known vulnerability after the update; ${fixes}.`;
      return { ...head, ...{ state: 'passes', word: 'clear', evidence } };
    }
    case 'vulnerable': {
      const { introduces, stays } = gate;
      const isPartial = gate.unchecked !== null;
      const also = isPartial ? ' Other packages were not checked.' : '';
      const evidence = `Introduces ${countOf(introduces)}, keeps ${countOf(stays)} that the host has already; ${fixesText(gate)}.${also}`;
      if (by === 'vulnerability')
        return { ...head, ...{ state: 'stops', word: 'vulnerable: stops', evidence } };
      const state = isPartial ? 'unchecked' : 'vulnerable';
      return {
        ...head,
        ...{ state, word: isPartial ? 'vulnerable, not all checked' : 'vulnerable', evidence },
      };
    }
    case 'unchecked': {
      if (by === 'unchecked' && reason !== null)
        return { ...head, ...{ state: 'stops', word: 'unchecked: stops', evidence: REASONS[reason] } };
      return { ...head, ...{ state: 'unchecked', word: 'not checked', evidence: NOT_CHECKED } };
    }
  }
}

const NOT_CHECKED = 'Its packages have not been checked for known vulnerabilities.';

/** What the page says in red beside the decision, before it and after it; null if all packages were checked. */
export function uncheckedNotice({
  gate,
  plan,
  isOpen,
}: {
  gate: Pick<GateReport, 'verdict' | 'unchecked' | 'blocked_by'> | null;
  plan: Plan;
  isOpen: boolean;
}): string | null {
  if (gate === null || plan === null || gate.blocked_by !== null) return null;
  if (gate.verdict !== 'unchecked' && gate.unchecked === null) return null;
  const which = gate.verdict === 'unchecked' ? 'Its packages' : 'Some of its packages';
  const then = isOpen ? ' Approving it installs what nobody has checked.' : '';
  return `${which} have not been checked for known vulnerabilities.${then}`;
}

/** How many vulnerabilities the update fixes; never 0 when packages were not checked. */
function fixesText({ fixes, fixes_complete: isComplete }: GateReport): string {
  const count = countOf(fixes);
  if (isComplete) return `fixes ${count}`;
  return count > 0 ? `fixes at least ${count}` : 'what it fixes is not known';
}

/** How many vulnerabilities are listed: one that several packages have counts once, as in lists of updates. */
export function countOf(listed: readonly { readonly id: string }[]): number {
  return new Set(listed.map(({ id }) => id)).size;
}

/** A4: the host's own check; without it the host installs nothing, whatever the gate decided. */
function hashCheck(plan: Plan): Check {
  const head = { id: 'hashes', title: 'Signature and hashes' } as const;
  if (plan === null) return { ...head, ...NOT_JUDGED };
  const brought = plan.actions.filter(({ action }) => action !== 'remove');
  const bare = brought.filter(({ artifact }) => !artifact?.sha256 && !artifact?.sha512).length;
  if (bare > 0)
    return {
      ...head,
      ...{ state: 'stops', word: 'stops', evidence: `${counted(bare, 'file')} without a hash.` },
    };
  const evidence = `${counted(brought.length, 'file')} bound by hash: the host checks the signature and every hash again before it installs. Nothing overrides this.`;
  return { ...head, ...{ state: 'passes', word: 'always checked', evidence } };
}

/** The label of the button, which states its effect. */
export function approveLabel({ plan, hostname }: { plan: Plan; hostname: string }): string {
  if (plan === null) return `Approve: asks ${isolated(hostname)} for a plan first`;
  const removed = plan.actions.filter(({ action }) => action === 'remove').length;
  const brought = plan.actions.length - removed;
  const also = removed > 0 ? ` and removes ${removed}` : '';
  return `Approve: installs ${counted(brought, 'package')}${also} on ${isolated(hostname)}`;
}
