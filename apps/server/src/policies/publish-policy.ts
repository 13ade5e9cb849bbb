import {
  POLICIES_MAX,
  POLICY_MAX_DAYS,
  POLICY_TYPE,
  type PolicyPayload,
  type PolicyRequest,
} from '@tidegate/protocol/policies-api';
import type { Ring } from '@tidegate/protocol/rings';
import { scopeFault } from '../agents/host-scope.ts';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { sha256Hex } from '../platform/sha256.ts';
import type { KeyRing } from '../signing-keys/key-ring.ts';
import { aboutPolicy } from './end-policies.ts';
import { windowsFault } from './policy-windows.ts';
import { ringsFault } from './rings-fault.ts';
import { type AnyPolicyRow, endPolicy, insertPolicy, policiesInForce, versionsOf } from './store.ts';
import { followUpsOf, type Windowed } from './window-actions.ts';

const DAY_MS = 86_400_000;

export interface PolicyDeps {
  readonly platform: Platform;
  readonly keyRing: Pick<KeyRing, 'fleetId' | 'signer'>;
}

/** Where a request is wrong, as a JSON pointer, and what is allowed. */
export interface Fault {
  readonly path: string;
  readonly message: string;
}

/** In whose name a policy approves. */
export interface Author {
  readonly id: string;
  readonly username: string;
}

/** What is published, for whom, and by whom: an author publishes for itself, the command line for an operator. */
export interface Publishing {
  readonly request: PolicyRequest;
  readonly author: Author;
  readonly actor: string;
}

/** What is wrong with a request of the right form, and where; null if nothing is. */
export async function policyFault(db: Db, request: PolicyRequest, nowMs: number): Promise<Fault | null> {
  const fault = await draftFault(db, request);
  if (fault) return fault;
  const endsAtMs = Date.parse(request.ends_at);
  if (endsAtMs > nowMs && endsAtMs <= nowMs + POLICY_MAX_DAYS * DAY_MS) return null;
  return { path: '/ends_at', message: `must be a time in the next ${POLICY_MAX_DAYS} days` };
}

/** The same for what a preview needs. */
export async function draftFault(
  db: Db,
  { scope, rings, ...policy }: Windowed & Pick<PolicyRequest, 'scope' | 'rings'>,
): Promise<Fault | null> {
  return (await scopeFault(db, scope)) ?? windowsFault(policy) ?? (await membersFault(db, rings ?? []));
}

/** Of rings: their order, and the hosts and tags that they name. */
async function membersFault(db: Db, rings: readonly Ring[]): Promise<Fault | null> {
  if (rings.length === 0) return null;
  for (const [i, { members }] of rings.entries()) {
    const fault = members.kind === 'some' ? await scopeFault(db, members) : null;
    if (fault) return { ...fault, path: `/rings/${i}/members${fault.path.replace(/^\/scope/u, '')}` };
  }
  return ringsFault(rings);
}

/** Signs and stores the first version of a policy, with its event. Throws a Refusal where the name is taken. */
export async function publishPolicy(tx: Tx, deps: PolicyDeps, publishing: Publishing): Promise<AnyPolicyRow> {
  const nowMs = deps.platform.now();
  const inForce = await policiesInForce(tx, { nowMs, limit: POLICIES_MAX });
  if (inForce.length >= POLICIES_MAX) {
    throw new Refusal('conflict', {
      detail: `At most ${POLICIES_MAX} policies may be in force. Revoke some first.`,
    });
  }
  const policyId = deps.platform.newId();
  return store(tx, deps, { ...publishing, policyId, version: 1, replaced: null });
}

/**
 * Replaces the newest version of a policy by a new one of another author; one that has ended comes into force again. Null
 * when there is no such policy. Throws a Refusal unless `replaces` is the digest of the newest version.
 */
export async function changePolicy(
  tx: Tx,
  deps: PolicyDeps,
  change: Publishing & { policyId: string; replaces: string },
): Promise<AnyPolicyRow | null> {
  const { policyId, request, replaces, author, actor } = change;
  const [newest] = await versionsOf(tx, policyId);
  if (!newest) return null;
  if (newest.sha256 !== replaces) {
    const detail = `The newest version of this policy is ${newest.sha256}. Read it and decide again.`;
    throw new Refusal('conflict', { detail });
  }
  const nowMs = deps.platform.now();
  await endPolicy(tx, { policyId, by: actor, reason: 'replaced', nowMs });
  const version = newest.version + 1;
  return store(tx, deps, { request, author, actor, policyId, version, replaced: newest.sha256 });
}

async function store(
  tx: Tx,
  { platform, keyRing }: PolicyDeps,
  given: Publishing & { policyId: string; version: number; replaced: string | null },
): Promise<AnyPolicyRow> {
  const { request, author, actor, policyId, version, replaced } = given;
  const nowMs = platform.now();
  const taken = (await policiesInForce(tx, { nowMs, limit: POLICIES_MAX })).some(
    ({ name }) => name === request.name,
  );
  if (taken) throw new Refusal('conflict', { detail: 'A policy with this name is in force already.' });
  const payload: PolicyPayload = {
    ...{ v: 1, fleet_id: keyRing.fleetId, policy_id: policyId, version, ...request },
    ...{ author: author.username, created_at: rfc3339(nowMs) },
  };
  const document = JSON.stringify(payload);
  const bytes = Buffer.from(document);
  const row = {
    ...{ sha256: sha256Hex(bytes), policy_id: policyId, version, name: request.name, document },
    envelope: JSON.stringify(keyRing.signer().sign(POLICY_TYPE, bytes)),
    ...{ author_id: author.id, author: author.username, created_at: nowMs },
    ends_at: Date.parse(request.ends_at),
    ...{ ended_at: null, end_reason: null, ended_by: null },
  };
  await insertPolicy(tx, row);
  const { scope, terms, windows, text, ends_at, rings } = request;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'policy_published', severity: 'warning', component: 'security' },
    actor,
    content: {
      ...{ ...aboutPolicy(row), replaced, scope, terms, windows, text, ends_at, actor },
      ...followUpsOf(request),
      ...(rings && { rings }),
    },
  });
  return row;
}
