import { ApprovalPayload, type Envelope } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Compile } from 'typebox/compile';
import { withTags } from '../agents/host-scope.ts';
import { findAgent } from '../agents/store.ts';
import { type HeldPackage, type HoldInForce, heldIn } from '../holds/hold-rules.ts';
import type { Db } from '../platform/db/engine.ts';

const payloads = Compile(ApprovalPayload);

/** The packages of a signed approval that these holds keep: checked before its host receives it. */
export async function heldByApproval(
  db: Db,
  { payload }: Pick<Envelope, 'payload'>,
  holds: readonly HoldInForce[],
): Promise<HeldPackage[]> {
  if (holds.length === 0) return [];
  const parsed = parseStrictJson(Buffer.from(payload, 'base64'));
  if (!parsed.ok || !payloads.Check(parsed.value)) return [];
  const { agent_id, ecosystem, actions } = parsed.value;
  const agent = await findAgent(db, agent_id);
  if (!agent) return [];
  const scopes = holds.map(({ scope }) => scope);
  const [host] = await withTags(db, [{ id: agent.id, group: agent.group_name }], scopes);
  return host ? heldIn(holds, { ecosystem, host, actions }) : [];
}
