import { withTags } from '../agents/host-scope.ts';
import { findAgent } from '../agents/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { createFreezes } from './blackout-rules.ts';
import { liveBlackouts } from './store.ts';

/** What blackouts mean for one host now. */
export interface HostFreeze {
  /** The name of the blackout that withholds its changes; null: none does. */
  readonly by: string | null;
  /** When a change may begin at the latest, because a blackout comes; Infinity: none comes. */
  readonly notAfterMs: number;
}

export const NO_FREEZE: HostFreeze = { by: null, notAfterMs: Infinity };

export async function freezeOfHost(
  db: Db,
  { agentId, nowMs }: { agentId: string; nowMs: number },
): Promise<HostFreeze> {
  const blackouts = await liveBlackouts(db, nowMs);
  const agent = blackouts.length > 0 ? await findAgent(db, agentId) : null;
  if (!agent) return NO_FREEZE;
  const freezes = createFreezes(blackouts, nowMs);
  const scopes = blackouts.map(({ scope }) => scope);
  const [host] = await withTags(db, [{ id: agentId, group: agent.group_name }], scopes);
  if (!host) return NO_FREEZE;
  return { by: freezes.of(host)?.blackout.name ?? null, notAfterMs: freezes.notAfterMs(host) };
}
