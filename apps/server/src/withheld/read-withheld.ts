import type { HostWithheld } from '@tidegate/protocol/holds-api';
import { hostsInScope, withTags } from '../agents/host-scope.ts';
import { findAgent } from '../agents/store.ts';
import { createFreezes, createThaws } from '../blackouts/blackout-rules.ts';
import { liveBlackouts } from '../blackouts/store.ts';
import { holdsInForce } from '../holds/store.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { heldBackView, heldOfHost } from './held-rules.ts';
import { countInstalled, countUnderWay, ownHoldsOf, pendingOf } from './store.ts';

/** What keeps a host as it is now; null: there is no such host. */
export async function readWithheld(
  db: Db,
  { agentId, nowMs }: { agentId: string; nowMs: number },
): Promise<HostWithheld | null> {
  const agent = await findAgent(db, agentId);
  if (agent === null) return null;
  const inForce = await holdsInForce(db, nowMs);
  const blackouts = await liveBlackouts(db, nowMs);
  const asked = [{ id: agentId, group: agent.group_name }];
  const [host] = await withTags(
    db,
    asked,
    [...inForce, ...blackouts].map(({ scope }) => scope),
  );
  if (!host) throw new Error('a host without its tags');

  const pending = await pendingOf(db, agentId);
  const own = inForce.filter(({ scope }) => hostsInScope(scope)(host));
  const { held, holds } = heldOfHost(own, pending);
  const frozen = createFreezes(blackouts, nowMs).of(host);
  return {
    as_of: rfc3339(nowMs),
    pending: pending.length,
    open: pending.length + (await countUnderWay(db, agentId)),
    installed: await countInstalled(db, agentId),
    held: heldBackView(held),
    holds: holds.map(({ hold: { id, packages, reason, endsAtMs }, updates, securityUpdates }) => ({
      ...{ id, packages, reason, ends_at: rfc3339(endsAtMs), updates },
      security_updates: securityUpdates,
    })),
    own_holds: await ownHoldsOf(db, agentId),
    blackout: frozen && {
      ...{ id: frozen.blackout.id, name: frozen.blackout.name },
      until: rfc3339(createThaws(blackouts, nowMs)(host)),
    },
  };
}
