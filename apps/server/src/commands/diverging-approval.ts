import { ApprovalPayload, type Envelope } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Compile } from 'typebox/compile';
import { findAgent } from '../agents/store.ts';
import { hasDoubts } from '../artifacts/distrust-store.ts';
import type { BoundDivergence } from '../artifacts/divergence-rules.ts';
import { sightingsOf } from '../artifacts/identity-rules.ts';
import { readBoundDivergences } from '../artifacts/read-divergences.ts';
import type { Db } from '../platform/db/engine.ts';

const payloads = Compile(ApprovalPayload);

/**
 * The artifacts of a signed approval that diverge now: the last check before its host receives it. Others
 * check the signature. Without divergences in the fleet it costs one read.
 */
export async function divergencesOfApproval(db: Db, { payload }: Envelope): Promise<BoundDivergence[]> {
  if (!(await hasDoubts(db))) return [];
  const parsed = parseStrictJson(Buffer.from(payload, 'base64'));
  if (!parsed.ok || !payloads.Check(parsed.value)) return [];
  const { agent_id, ecosystem, actions } = parsed.value;
  const agent = await findAgent(db, agent_id);
  if (!agent) return [];
  const host = { osId: agent.os_id, osArch: agent.os_arch };
  const sightings = () => sightingsOf({ ecosystem, host, actions });
  const [bound = []] = await readBoundDivergences(db, [{ agentId: agent.id, sightings }]);
  return bound;
}
