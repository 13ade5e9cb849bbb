import { createHash, generateKeyPairSync, randomUUID, sign } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { APPROVAL_TYPE, type ApprovalPayload } from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { type VerifiedApproval, verifyApproval } from '../trust/verify-approval.ts';

const AT = '2026-01-01T00:00:00Z';
const LATER = '2026-01-08T00:00:00Z';

/** Signs an approval of these actions, and has it verified: there is no other way to get one (A4). */
export function approvalOf({
  name,
  toVersion,
  ...approved
}: {
  ecosystem: Ecosystem;
  name: string;
  toVersion: string;
  actions: readonly PlanAction[];
}): VerifiedApproval {
  return approvalOfSet({ ...approved, updates: [{ name, toVersion }] });
}

/** The same for several updates that are approved together. */
export function approvalOfSet(approved: {
  ecosystem: Ecosystem;
  updates: readonly { name: string; arch?: string; toVersion: string }[];
  actions: readonly PlanAction[];
}): VerifiedApproval {
  const { ecosystem } = approved;
  const actions = [...approved.actions];
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const [keyId, fleetId, agentId, tokenId] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const updates = approved.updates
    .map(({ name, arch, toVersion }) => ({
      ...{ update_id: randomUUID(), name, from_version: null, to_version: toVersion },
      ...(arch !== undefined && { arch }),
    }))
    .sort((a, b) => (a.update_id < b.update_id ? -1 : 1));
  const payload: ApprovalPayload = {
    ...{ v: 1, token_id: tokenId, fleet_id: fleetId, agent_id: agentId, ecosystem },
    updates,
    actions,
    plan_sha256: createHash('sha256').update(canonicalJson(actions)).digest('hex'),
    verdict: { vulnerability: 'clear', age: 'not_applicable', checked_at: AT, source: null, snapshot: null },
    ...{ override: null, issued_at: AT, expires_at: LATER },
  };
  const body = Buffer.from(JSON.stringify(payload));
  const head = Buffer.from(`DSSEv1 ${APPROVAL_TYPE.length} ${APPROVAL_TYPE} ${body.length} `);
  const sig = sign(null, Buffer.concat([head, body]), privateKey).toString('base64');
  const envelope = {
    ...{ payloadType: APPROVAL_TYPE, payload: body.toString('base64') },
    signatures: [{ keyid: keyId, sig }],
  };
  const hex = Buffer.from(publicKey.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex');
  const key = { key_id: keyId, version: 1, public_key_hex: hex, status: 'active' as const };
  const outcome = verifyApproval(envelope, {
    trusted: {
      ...{ fleet_id: fleetId, version: 1, expires_at: LATER },
      keys: [{ ...key, created_at: AT, revoked_at: null }],
    },
    ...{ agentId, updateIds: updates.map(({ update_id: id }) => id), nowMs: Date.parse(AT) },
    reference: { token_id: tokenId, sha256: createHash('sha256').update(body).digest('hex') },
  });
  if (!outcome.ok) throw new Error(outcome.reason);
  return outcome.approval;
}
