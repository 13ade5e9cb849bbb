import type { Ring } from '@tidegate/protocol/rings';
import type { Db } from '../platform/db/engine.ts';
import { latestProbes } from '../probes/store.ts';
import { offerEndMs, type RingFacts } from '../rollouts/gate-rules.ts';
import { enteredOf, type RolloutRow } from '../rollouts/store.ts';
import { countRings, NO_HOSTS, openDivergences, type RingCounts, soakedHosts } from './watch-store.ts';

const MINUTE_MS = 60_000;

/** What is known of a rollout's rings now. */
export interface RolloutFacts {
  readonly counts: ReadonlyMap<number, RingCounts>;
  readonly divergences: number;
  /** Of a ring; hosts that have to look at their probes again are in `unasked`. */
  readonly of: (ring: number) => Promise<RingFacts & { readonly unasked: readonly string[] }>;
}

/** @param couldReport Whether the server has listened for so long that hosts could report; before, no deadline is over. */
export async function rolloutFacts(
  db: Db,
  {
    rollout,
    rings,
    nowMs,
    couldReport,
  }: { rollout: RolloutRow; rings: readonly Ring[]; nowMs: number; couldReport: boolean },
): Promise<RolloutFacts> {
  const counts = await countRings(db, rollout.id);
  const divergences = await openDivergences(db, rollout.id);
  return {
    ...{ counts, divergences },
    async of(ring) {
      const { outcomes, hosts, excused } = counts.get(ring) ?? NO_HOSTS;
      const gate = rings[ring]?.gate ?? null;
      const soakMs = gate === null || rollout.lane === 'emergency' ? 0 : gate.soak_minutes * MINUTE_MS;
      const soaked =
        gate === null ? [] : await soakedHosts(db, { rolloutId: rollout.id, ring, untilMs: nowMs - soakMs });
      const isLooked = gate?.probes === 'green';
      const probes = await latestProbes(db, isLooked ? soaked.map(({ agent_id: id }) => id) : []);
      // Both times are of the host's own clock.
      const hasLooked = ({ agent_id: id, ended_there_at: at }: (typeof soaked)[number]) =>
        at !== null && (probes.get(id)?.atMs ?? -1) >= at + soakMs;
      const green = soaked.filter((host) => hasLooked(host) && probes.get(host.agent_id)?.state === 'green');
      return {
        ...{ hosts, outcomes, excused, divergences, soaked: soaked.length, green: green.length },
        isApproved: rollout.approved_ring === ring,
        hadTime: couldReport && nowMs >= (offerEndOf(rollout, { ring, rings }) ?? nowMs),
        unasked: isLooked
          ? soaked.flatMap((host) => (host.probes_asked === 0 && !hasLooked(host) ? host.agent_id : []))
          : [],
      };
    },
  };
}

/** When a ring that was entered waits no longer for a host that offers its versions; null: it was not entered. */
export function offerEndOf(
  rollout: RolloutRow,
  { ring, rings }: { ring: number; rings: readonly Ring[] },
): number | null {
  const [enteredAtMs, own] = [enteredOf(rollout)[ring], rings[ring]];
  if (enteredAtMs === undefined || !own) return null;
  const isAsked = rollout.lane === 'emergency' && rollout.asked_ring === ring;
  return offerEndMs(own, { enteredAtMs, askedAtMs: isAsked ? rollout.asked_at : null });
}
