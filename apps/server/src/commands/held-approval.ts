import { ApprovalPayload, type Envelope } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Compile } from 'typebox/compile';
import { findAgent } from '../agents/store.ts';
import { type HeldPackage, heldIn } from '../holds/hold-rules.ts';
import { holdsInForce } from '../holds/store.ts';
import type { Db } from '../platform/db/engine.ts';

const payloads = Compile(ApprovalPayload);

/** The packages of a signed approval that are held now: checked before its host receives it. Without holds it costs one read. */
export async function heldByApproval(
  db: Db,
  { payload }: Pick<Envelope, 'payload'>,
  nowMs: number,
): Promise<HeldPackage[]> {
  const holds = await holdsInForce(db, nowMs);
  if (holds.length === 0) return [];
  const parsed = parseStrictJson(Buffer.from(payload, 'base64'));
  if (!parsed.ok || !payloads.Check(parsed.value)) return [];
  const { agent_id, ecosystem, actions } = parsed.value;
  const agent = await findAgent(db, agent_id);
  if (!agent) return [];
  return heldIn(holds, { ecosystem, host: { id: agent.id, group: agent.group_name }, actions });
}
