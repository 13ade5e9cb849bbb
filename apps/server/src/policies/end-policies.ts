import type { PolicyEnd } from '@tidegate/protocol/policies-api';
import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type AnyPolicyRow, endPolicy, expiredPolicies, policiesOfAuthor } from './store.ts';

/** Policies whose end is recorded in one transaction. */
const BATCH = 100;

/** Revokes a policy, with its event; false when there is none in force. What it has approved keeps its token. */
export async function revokePolicy(
  tx: Tx,
  platform: Platform,
  { policyId, actor }: { policyId: string; actor: string },
): Promise<boolean> {
  const row = await endPolicy(tx, { policyId, by: actor, reason: 'revoked', nowMs: platform.now() });
  if (!row) return false;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'policy_revoked', severity: 'info', component: 'security', actor },
    content: { ...aboutPolicy(row), actor },
  });
  return true;
}

/** Why an operator cannot stand behind a policy any more. */
export type LostRight = Extract<PolicyEnd, `author_${string}`>;

/** Suspends every policy of an operator who has lost the right to approve for the whole fleet; returns how many. */
export async function suspendPoliciesOf(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { authorId, reason, actor }: { authorId: string; reason: LostRight; actor: string },
): Promise<number> {
  const nowMs = platform.now();
  const ids = await policiesOfAuthor(tx, authorId);
  for (const policyId of ids) {
    const row = await endPolicy(tx, { policyId, by: actor, reason, nowMs });
    if (!row) continue;
    await appendEvent(tx, platform, {
      ...{ kind: 'system', type: 'policy_suspended', severity: 'warning', component: 'security', actor },
      content: { ...aboutPolicy(row), reason, actor },
    });
  }
  return ids.length;
}

/** Records that policies have ended. They approve nothing from their very end, whether this has run or not. */
export async function recordEndedPolicies(platform: Platform): Promise<void> {
  const nowMs = platform.now();
  const ids = await expiredPolicies(platform.database.read, { nowMs, limit: BATCH });
  if (ids.length === 0) return;
  await platform.database.transact(async (tx) => {
    for (const policyId of ids) {
      const row = await endPolicy(tx, { policyId, by: 'server', reason: 'expired', nowMs });
      if (!row) continue;
      await appendEvent(tx, platform, {
        ...{ kind: 'system', type: 'policy_expired', severity: 'warning', component: 'security' },
        ...{ actor: 'server', content: aboutPolicy(row) },
      });
    }
  });
}

/** What each event says about a version of a policy. */
export function aboutPolicy({ policy_id, version, sha256, name, author }: AnyPolicyRow) {
  return { policy_id, version, sha256, name, author };
}
