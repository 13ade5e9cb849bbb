import { createHash } from 'node:crypto';
import { APPROVAL_TYPE, type ApprovalPayload } from '@tidegate/protocol/documents';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { Database, Db } from '../platform/db/engine.ts';
import type { TestKeyRing } from './slice-app.ts';

export interface TestAgent {
  /** Determines the ids; two agents of one database need two numbers. */
  n: number;
  machineId?: string | null;
  digests?: string;
  group?: string;
  deletedAtMs?: number;
}

/** Writes an active agent with an active family, for tests and benchmarks of the steps after enrolment. */
export async function insertTestAgent(
  database: Database,
  { n, machineId = `machine-${n}`, digests = '{}', group, deletedAtMs }: TestAgent,
): Promise<{ agentId: string; familyId: string }> {
  const agentId = idOf('01900000-0000-7000-8000-', n);
  const familyId = idOf('01900000-0000-7000-9000-', n);
  await database.transact(async (tx) => {
    await tx
      .insertInto('agents')
      .values({
        id: agentId,
        machine_id: machineId,
        status: 'active',
        hostname: `host-${n}`,
        os_family: 'linux',
        os_id: 'debian',
        os_version_id: '12',
        os_arch: 'amd64',
        agent_version: '1.0.0',
        key_set_version: 0,
        next_seq: 1,
        inventory_digests: digests,
        group_name: group ?? null,
        enrolled_at: 1,
        deleted_at: deletedAtMs ?? null,
      })
      .execute();
    await tx
      .insertInto('refresh_families')
      .values({
        id: familyId,
        agent_id: agentId,
        status: 'active',
        cur_seq: 1,
        cur_hash: `hash-${n}`,
        cur_issued_at: 1,
        prev_grace_used: 0,
        displaced_hashes: '[]',
        created_at: 1,
        last_rotated_at: 1,
        expires_at: Number.MAX_SAFE_INTEGER,
      })
      .execute();
  });
  return { agentId, familyId };
}

function idOf(prefix: string, n: number): string {
  return prefix + n.toString(16).padStart(12, '0');
}

export interface TestUpdate {
  agentId: string;
  n: number;
  state: string;
  /** When its approval ends. */
  expiresAtMs: number;
  /** Signs its approval; without one the row has nothing that an agent or a delivery would trust. */
  keyRing?: Pick<TestKeyRing, 'fleetId' | 'signer'> | undefined;
  /** Members of the signed approval that replace the true ones. */
  signed?: Partial<ApprovalPayload>;
  /** False: the update is in no approval. */
  hasApproval?: boolean;
}

/** Writes an update with a plan and an approval; returns the members of an install command for it. */
export async function insertTestUpdate(
  database: Database,
  { agentId, n, state, expiresAtMs, keyRing, signed = {}, hasApproval = true }: TestUpdate,
): Promise<{
  updateId: string;
  approval: { tokenId: string; sha256: string };
  params: { update_ids: string[] };
}> {
  const updateId = idOf('01900000-0000-7000-a000-', n);
  const planId = idOf('01900000-0000-7000-a001-', n);
  const tokenId = idOf('01900000-0000-7000-a002-', n);
  const payload: ApprovalPayload = {
    v: 1,
    token_id: tokenId,
    fleet_id: keyRing?.fleetId ?? idOf('01900000-0000-7000-b000-', 1),
    agent_id: agentId,
    ecosystem: 'apt',
    updates: [{ update_id: updateId, name: `package-${n}`, from_version: '1.0-1', to_version: '1.1-1' }],
    actions: [{ action: 'remove', name: `package-${n}` }],
    plan_sha256: n.toString(16).padStart(64, '0'),
    verdict: {
      vulnerability: 'clear',
      age: 'not_applicable',
      checked_at: null,
      source: null,
      snapshot: null,
    },
    override: null,
    issued_at: '2026-11-21T09:00:00Z',
    expires_at: rfc3339Seconds(expiresAtMs),
    ...signed,
  };
  const bytes = Buffer.from(JSON.stringify(payload));
  const sha256 = createHash('sha256').update(bytes).digest('hex');
  const signer = keyRing?.signer();
  await database.transact(async (tx) => {
    await tx
      .insertInto('updates')
      .values({
        id: updateId,
        agent_id: agentId,
        ecosystem: 'apt',
        name: `package-${n}`,
        arch: 'amd64',
        current_version: '1.0-1',
        available_version: '1.1-1',
        security: 0,
        state,
        out_of_band: 0,
        plan_id: planId,
        approval_id: tokenId,
        discovered_at: 1,
        updated_at: 1,
      })
      .execute();
    await tx
      .insertInto('update_plans')
      .values({
        id: planId,
        agent_id: agentId,
        resolved_at: 1,
        received_at: 1,
        actions: JSON.stringify([{ action: 'remove', name: `package-${n}` }]),
        plan_sha256: payload.plan_sha256,
      })
      .execute();
    if (!hasApproval) return;
    await tx
      .insertInto('approvals')
      .values({
        token_id: tokenId,
        agent_id: agentId,
        plan_id: planId,
        envelope: signer ? JSON.stringify(signer.sign(APPROVAL_TYPE, bytes)) : '{}',
        payload_sha256: sha256,
        key_id: signer?.keyId ?? 'test',
        verdict: '{}',
        approved_by: 'ada',
        issued_at: 1,
        expires_at: expiresAtMs,
      })
      .execute();
    await tx.insertInto('approval_updates').values({ token_id: tokenId, update_id: updateId }).execute();
  });
  return { updateId, approval: { tokenId, sha256 }, params: { update_ids: [updateId] } };
}

/** The approvals that were voided, with the reason. */
export function voidedApprovals(db: Db): Promise<{ update_id: string; void_reason: string | null }[]> {
  return db
    .selectFrom('approvals as a')
    .innerJoin('approval_updates as m', 'm.token_id', 'a.token_id')
    .select(['m.update_id', 'a.void_reason'])
    .where('a.voided_at', 'is not', null)
    .orderBy('a.token_id')
    .execute();
}
