import { APPROVAL_TYPE } from '@tidegate/protocol/documents';
import type { Repair } from '@tidegate/protocol/repairs';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { signersOf, type TrustedKey } from '@tidegate/signing/verify';
import { changeOf, isWithin, type MaxChange } from '@tidegate/versions/change';
import { globOfPackage } from '@tidegate/versions/globs';
import type { TrustedKeySet } from '../identity/config-file.ts';
import type { VerifiedApproval } from '../trust/verify-approval.ts';
import { type Hours, isWithinHours, nextWindowMs } from './hours.ts';

/** The package of the agent, for apt and dnf. */
const AGENT_PACKAGE = 'tidegate-agent';

/** The restrictions set by a host's owner, whatever the server says; absent members restrict nothing. */
export interface HostPolicy {
  ecosystems?: readonly Ecosystem[];
  /** Globs of package names. */
  neverTouch: Partial<Record<Ecosystem, readonly string[]>>;
  /** npm and PyPI: the greatest change of any package of a plan. */
  maxChange?: MaxChange;
  /** Whether approvals may come from policies of the server, which no person looked at. */
  standingApprovals?: 'allow' | 'refuse';
  /** Whether commands may end a boot, and restart services. */
  reboot?: 'allow' | 'never';
  restartServices?: 'allow' | 'never';
  /** Whether the server may change the agent itself. */
  agentUpdates?: 'allow' | 'never';
  /** What blocks a reboot, by name. */
  rebootBlockers?: RebootBlockerNames;
  hours?: readonly Hours[];
  /** How old the signed state of a job may be. */
  stateMaxAgeMinutes?: number;
  secondSignature?: { keys: readonly TrustedKey[]; threshold: number };
}

/** `*` stands for all. */
export interface RebootBlockerNames {
  /** Users whose logins block a reboot even after a warning. */
  users: readonly string[];
  /** Programs whose inhibitors block none. */
  ignoredInhibitors: readonly string[];
}

export type PolicyCheck =
  | 'policy_unusable'
  | 'ecosystem_not_allowed'
  | 'never_touch'
  | 'agent_updates_never'
  | 'change_too_great'
  | 'standing_approval'
  | 'second_signature_missing'
  | 'reboot_never'
  | 'restart_never'
  | 'outside_hours';

export type PolicyRefusal = { ok: false; check: PolicyCheck; detail: string };
export type PolicyVerdict = { ok: true } | PolicyRefusal;

export interface PolicyFacts {
  approval: VerifiedApproval;
  /** The server's keys; none of them counts as a second signer. */
  trusted: TrustedKeySet;
  /** `trustedNow`. */
  nowMs: number;
}

/** Judges a verified approval by the host's policy. Hours come last, as only they change with time. */
export function judgeByPolicy(policy: HostPolicy, facts: PolicyFacts): PolicyVerdict {
  const { ecosystem, actions } = facts.approval.payload;
  return (
    judgeEcosystem(policy, ecosystem) ??
    judgePackages(policy, { ecosystem, touched: actions }) ??
    judgeChanges(policy, facts) ??
    judgeStanding(policy, facts) ??
    judgeSignatures(policy, facts) ??
    judgeHours(policy, facts) ?? { ok: true }
  );
}

export interface RepairFacts {
  /** Of a verified command. */
  repair: Repair;
  /** `trustedNow`. */
  nowMs: number;
}

/** Judges the repair of dpkg's packages likewise. */
export function judgeRepairByPolicy(policy: HostPolicy, { repair, nowMs }: RepairFacts): PolicyVerdict {
  const touched = repair.packages.map(({ name }) => ({ action: 'configure', name }));
  return (
    judgeEcosystem(policy, 'apt') ??
    judgePackages(policy, { ecosystem: 'apt', touched }) ??
    judgeUnsigned(policy) ??
    judgeHours(policy, { nowMs }) ?? { ok: true }
  );
}

/** Judges a reboot at a time. It installs nothing, so the rules of packages and second signatures say nothing of it. */
export function judgeRebootByPolicy(policy: HostPolicy, { nowMs }: { nowMs: number }): PolicyVerdict {
  if (policy.reboot === 'never') return refuse('reboot_never', 'this host is rebooted by hand only');
  return judgeHours(policy, { nowMs }) ?? { ok: true };
}

/** Judges the restart of services likewise. */
export function judgeRestartByPolicy(policy: HostPolicy, { nowMs }: { nowMs: number }): PolicyVerdict {
  if (policy.restartServices === 'never') {
    return refuse('restart_never', 'services of this host are restarted by hand only');
  }
  return judgeHours(policy, { nowMs }) ?? { ok: true };
}

/** A repair is one document of the server alone: where others must sign, it is done by hand (decision 0044). */
function judgeUnsigned({ secondSignature }: HostPolicy): PolicyVerdict | null {
  if (secondSignature === undefined) return null;
  return refuse(
    'second_signature_missing',
    'this host demands second signatures, and a repair has none: finish the packages by hand',
  );
}

function judgeEcosystem({ ecosystems }: HostPolicy, ecosystem: Ecosystem): PolicyVerdict | null {
  if (ecosystems === undefined || ecosystems.includes(ecosystem)) return null;
  const allowed = ecosystems.length === 0 ? 'nothing' : ecosystems.join(', ');
  return refuse('ecosystem_not_allowed', `this host allows ${allowed}, not ${ecosystem}`);
}

/** Checks every action: a dependency or a removal touches a package as much as the update itself. */
function judgePackages(
  { neverTouch, agentUpdates }: HostPolicy,
  { ecosystem, touched }: { ecosystem: Ecosystem; touched: readonly { action: string; name: string }[] },
): PolicyVerdict | null {
  const globs = neverTouch[ecosystem] ?? [];
  const isSystem = ecosystem === 'apt' || ecosystem === 'dnf' || ecosystem === 'tidegate';
  for (const { action, name } of touched) {
    if (agentUpdates === 'never' && isSystem && globOfPackage([AGENT_PACKAGE], { ecosystem, name })) {
      return refuse(
        'agent_updates_never',
        `it would ${action} ${name}, and the agent of this host is updated by hand only`,
      );
    }
    const glob = globOfPackage(globs, { ecosystem, name });
    if (glob === undefined) continue;
    return refuse('never_touch', `it would ${action} ${name}, and this host never touches "${glob}"`);
  }
  return null;
}

/** Checks every action, because dependencies change in the same transaction. apt and dnf have no such versions. */
function judgeChanges({ maxChange }: HostPolicy, { approval }: PolicyFacts): PolicyVerdict | null {
  const { ecosystem, actions } = approval.payload;
  if (maxChange === undefined || (ecosystem !== 'npm' && ecosystem !== 'pypi')) return null;
  for (const { name, from_version: from, to_version: to } of actions) {
    if (from === undefined || to === undefined) continue; // nothing is replaced
    const change = changeOf(ecosystem, { from, to });
    if (isWithin(maxChange, change)) continue;
    const what = change === null ? 'a change that cannot be told' : `a ${change} change`;
    return refuse(
      'change_too_great',
      `${name} ${from} to ${to} is ${what}, and this host allows at most ${maxChange}`,
    );
  }
  return null;
}

function judgeStanding({ standingApprovals }: HostPolicy, { approval }: PolicyFacts): PolicyVerdict | null {
  const { policy } = approval.payload;
  if (standingApprovals !== 'refuse' || policy === undefined) return null;
  return refuse(
    'standing_approval',
    `policy ${policy.policy_id} approved it, and this host takes approvals of people only`,
  );
}

function judgeSignatures(
  { secondSignature }: HostPolicy,
  { approval, trusted }: PolicyFacts,
): PolicyVerdict | null {
  if (secondSignature === undefined) return null;
  const { keys, threshold } = secondSignature;
  // A server that lists such a key as its own could sign twice: adding keys must not fill the quorum.
  const own = new Set(trusted.keys.map((key) => key.public_key_hex));
  const others = keys.filter((key) => !own.has(key.publicKeyHex));
  const signers = signersOf(approval.envelope, others, APPROVAL_TYPE);
  if (signers.length >= threshold) return null;
  const named = signers.length === 0 ? 'none' : signers.map((key) => key.keyId).join(', ');
  return refuse(
    'second_signature_missing',
    `the approval needs signatures by ${threshold} of the ${keys.length} key(s) that this host lists, and has ${named}`,
  );
}

function judgeHours({ hours }: HostPolicy, { nowMs }: Pick<PolicyFacts, 'nowMs'>): PolicyVerdict | null {
  return hours === undefined || isWithinHours(hours, nowMs) ? null : outsideHours(hours, nowMs);
}

export function outsideHours(hours: readonly Hours[], nowMs: number): PolicyRefusal {
  const opens = new Date(nextWindowMs(hours, nowMs)).toISOString().slice(0, 16);
  return refuse(
    'outside_hours',
    `this host is changed only in its maintenance hours; the next begin at ${opens}Z`,
  );
}

function refuse(check: PolicyCheck, detail: string): PolicyRefusal {
  return { ok: false, check, detail };
}
