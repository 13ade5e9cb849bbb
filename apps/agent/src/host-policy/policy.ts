import { dirname, resolve } from 'node:path';
import { MaxChange } from '@tidegate/protocol/offers';
import { Ecosystem, strict } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { KeyError, loadTrustedKey, type TrustedKey } from '@tidegate/signing/verify';
import { GLOB_PATTERN } from '@tidegate/versions/globs';
import { Type } from 'typebox';
import { Check, Errors } from 'typebox/value';
import { readTrusted } from '../platform/file-layer.ts';
import { STATE_MAX_AGE_MINUTES } from '../trust/agent-state.ts';
import { isTimeZone, nextWindowMs, WEEKDAYS } from './hours.ts';
import { findFault, findLooseFolder, type PolicyPlace } from './policy-folders.ts';
import {
  type HostPolicy,
  judgeByPolicy,
  judgeRebootByPolicy,
  judgeRepairByPolicy,
  judgeRestartByPolicy,
  type PolicyFacts,
  type PolicyVerdict,
  type RebootBlockerNames,
  type RepairFacts,
} from './policy-rules.ts';

export const DEFAULT_POLICY_PATH = '/etc/tidegate/policy.json';
/** Largest policy that is read. */
export const POLICY_MAX_BYTES = 64 * 1024;

/** The policy of this host, at its usual place or where the command line says. */
export function policyPlace(path = DEFAULT_POLICY_PATH): PolicyPlace {
  return { path: resolve(path), ownerUid: process.platform === 'win32' ? null : 0, top: '/' };
}

export type PolicyLoad =
  /** There is no file: nothing is restricted. */
  | { kind: 'none' }
  | { kind: 'policy'; policy: HostPolicy }
  /** The file is unusable: nothing is installed. `detail` says what to fix. */
  | { kind: 'unusable'; detail: string }
  /** This process may not read it. The executor treats this as unusable. */
  | { kind: 'unreadable'; detail: string };

/** Longest age of a signed state that a policy may allow. */
const STATE_MAX_AGE_LIMIT_MINUTES = 24 * 60;
const Clock = Type.String({ pattern: '^([01][0-9]|2[0-3]):[0-5][0-9]$' });
const Globs = Type.Array(Type.String({ minLength: 1, maxLength: 214, pattern: GLOB_PATTERN }), {
  maxItems: 256,
});
/** Of users or programs, each by its whole name; `*` for all. */
const Names = Type.Array(Type.String({ minLength: 1, maxLength: 200 }), { maxItems: 256 });
/** The file format. Strict, because a misspelt restriction would restrict nothing. */
const PolicyFile = strict({
  v: Type.Literal(1),
  ecosystems: Type.Optional(Type.Array(Ecosystem, { maxItems: 4 })),
  never_touch: Type.Optional(
    strict({
      npm: Type.Optional(Globs),
      pypi: Type.Optional(Globs),
      apt: Type.Optional(Globs),
      dnf: Type.Optional(Globs),
    }),
  ),
  max_change: Type.Optional(MaxChange),
  standing_approvals: Type.Optional(Type.Enum(['allow', 'refuse'])),
  reboot: Type.Optional(Type.Enum(['allow', 'never'])),
  restart_services: Type.Optional(Type.Enum(['allow', 'never'])),
  agent_updates: Type.Optional(Type.Enum(['allow', 'never'])),
  reboot_blockers: Type.Optional(
    strict({ users: Type.Optional(Names), ignored_inhibitors: Type.Optional(Names) }),
  ),
  hours: Type.Optional(
    Type.Array(
      strict({
        days: Type.Array(Type.Enum(WEEKDAYS), { minItems: 1, maxItems: 7 }),
        from: Clock,
        to: Type.Union([Clock, Type.Literal('24:00')]),
        time_zone: Type.Optional(Type.String({ minLength: 1, maxLength: 64 })),
      }),
      { minItems: 1, maxItems: 32 },
    ),
  ),
  state_max_age_minutes: Type.Optional(Type.Integer({ minimum: 1, maximum: STATE_MAX_AGE_LIMIT_MINUTES })),
  require_second_signature: Type.Optional(
    strict({
      keys: Type.Array(
        strict({
          key_id: Type.String({ pattern: '^[A-Za-z0-9._@-]{1,64}$' }),
          public_key_hex: Type.String({ pattern: '^[0-9a-f]{64}$' }),
        }),
        { minItems: 1, maxItems: 8 },
      ),
      threshold: Type.Integer({ minimum: 1, maximum: 7 }),
    }),
  ),
});

/** Re-reads the policy: changes apply from the next job, without a restart. */
export function loadHostPolicy(place: PolicyPlace): PolicyLoad {
  const { path, ownerUid } = place;
  const read = readTrusted(path, { maxBytes: POLICY_MAX_BYTES, ownerUid, forbiddenMode: 0o022 });
  if (!read.ok && read.reason === 'unreadable') return { kind: 'unreadable', detail: read.detail };
  // Anyone who can write the folder can remove the file, so its absence proves nothing.
  const fault =
    read.ok || read.reason !== 'absent' ? findLooseFolder(place) : findFault(dirname(path), place);
  if (fault !== null) return unusable(path, fault);
  if (!read.ok) return read.reason === 'absent' ? { kind: 'none' } : unusable(path, read.detail);
  const parsed = parseStrictJson(read.bytes);
  if (!parsed.ok) return unusable(path, `it ${parsed.reason}`);
  const understood = understand(parsed.value);
  return understood.ok ? { kind: 'policy', policy: understood.policy } : unusable(path, understood.detail);
}

/** The executor's verdict on an approval by host policy; an unreadable file is a refusal too. */
export function judgeByHost(loaded: PolicyLoad, facts: PolicyFacts): PolicyVerdict {
  return judgeLoaded(loaded, (policy) => judgeByPolicy(policy, facts));
}

/** The same for a repair. */
export function judgeRepairByHost(loaded: PolicyLoad, facts: RepairFacts): PolicyVerdict {
  return judgeLoaded(loaded, (policy) => judgeRepairByPolicy(policy, facts));
}

/** The same for a reboot, and for the restart of services. */
export function judgeRebootByHost(loaded: PolicyLoad, facts: { nowMs: number }): PolicyVerdict {
  return judgeLoaded(loaded, (policy) => judgeRebootByPolicy(policy, facts));
}

export function judgeRestartByHost(loaded: PolicyLoad, facts: { nowMs: number }): PolicyVerdict {
  return judgeLoaded(loaded, (policy) => judgeRestartByPolicy(policy, facts));
}

function judgeLoaded(loaded: PolicyLoad, judge: (policy: HostPolicy) => PolicyVerdict): PolicyVerdict {
  switch (loaded.kind) {
    case 'none':
      return { ok: true };
    case 'policy':
      return judge(loaded.policy);
    case 'unusable':
    case 'unreadable':
      return { ok: false, check: 'policy_unusable', detail: loaded.detail };
  }
}

/** Maximum age of a job's signed state on this host. An unusable policy allows nothing anyway. */
export function stateMaxAgeMinutes(loaded: PolicyLoad): number {
  const named = loaded.kind === 'policy' ? loaded.policy.stateMaxAgeMinutes : undefined;
  return named ?? STATE_MAX_AGE_MINUTES;
}

/** Whose logins and inhibitors matter to a reboot on this host. */
export function rebootBlockerNames(loaded: PolicyLoad): RebootBlockerNames {
  const named = loaded.kind === 'policy' ? loaded.policy.rebootBlockers : undefined;
  return named ?? { users: [], ignoredInhibitors: [] };
}

/** When this host's next hours begin; null where it has none. */
export function retryMs(loaded: PolicyLoad, nowMs: number): number | null {
  const hours = loaded.kind === 'policy' ? loaded.policy.hours : undefined;
  return hours === undefined ? null : nextWindowMs(hours, nowMs);
}

type Understood = { ok: true; policy: HostPolicy } | { ok: false; detail: string };

function understand(value: unknown): Understood {
  if (!Check(PolicyFile, value)) {
    return { ok: false, detail: firstFault(value) };
  }
  const { ecosystems, never_touch: neverTouch = {}, hours, require_second_signature: second } = value;
  const { state_max_age_minutes: stateMaxAgeMinutes, max_change: maxChange } = value;
  const { standing_approvals: standingApprovals, reboot, restart_services: restartServices } = value;
  const { reboot_blockers: blockers, agent_updates: agentUpdates } = value;
  for (const [index, { from, to, time_zone: zone }] of (hours ?? []).entries()) {
    if (from === to) return { ok: false, detail: `/hours/${index} begins and ends at ${from}` };
    if (zone !== undefined && !isTimeZone(zone)) {
      return { ok: false, detail: `/hours/${index}/time_zone ${JSON.stringify(zone)} is no time zone` };
    }
  }
  const policy = {
    neverTouch,
    ...(ecosystems && { ecosystems }),
    ...(maxChange && { maxChange }),
    ...(standingApprovals && { standingApprovals }),
    ...(reboot && { reboot }),
    ...(restartServices && { restartServices }),
    ...(agentUpdates && { agentUpdates }),
    ...(blockers && {
      rebootBlockers: {
        users: blockers.users ?? [],
        ignoredInhibitors: blockers.ignored_inhibitors ?? [],
      },
    }),
    ...(hours && { hours }),
    ...(stateMaxAgeMinutes !== undefined && { stateMaxAgeMinutes }),
  };
  if (second === undefined) return { ok: true, policy };
  const keys: TrustedKey[] = [];
  for (const [index, { key_id, public_key_hex }] of second.keys.entries()) {
    const where = `/require_second_signature/keys/${index}`;
    const key = loadKey(key_id, public_key_hex);
    if (key === null) return { ok: false, detail: `${where} is not a key that can be trusted` };
    if (keys.some((other) => other.keyId === key.keyId || other.publicKeyHex === key.publicKeyHex)) {
      return { ok: false, detail: `${where} names a key twice` };
    }
    keys.push(key);
  }
  if (second.threshold > keys.length) {
    return {
      ok: false,
      detail: `/require_second_signature/threshold is more than the ${keys.length} key(s)`,
    };
  }
  return { ok: true, policy: { ...policy, secondSignature: { keys, threshold: second.threshold } } };
}

/** The first schema violation as a sentence: the schema reports an unknown field only as `false`. */
function firstFault(value: unknown): string {
  const [fault] = Errors(PolicyFile, value);
  const where = fault?.instancePath || '/';
  return fault?.keyword === 'boolean'
    ? `${where} is no field of a policy`
    : `${where} ${fault?.message ?? ''}`;
}

function loadKey(keyId: string, publicKeyHex: string): TrustedKey | null {
  try {
    return loadTrustedKey({ keyId, publicKeyHex });
  } catch (error) {
    if (error instanceof KeyError) return null;
    throw error;
  }
}

function unusable(path: string, fault: string): PolicyLoad {
  const cure = 'Nothing is installed on this host until root has mended or removed it';
  return { kind: 'unusable', detail: `the policy ${path} cannot be followed: ${fault}. ${cure}` };
}
