import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { findAgent, lockAgent } from '../agents/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { inTurns } from '../platform/turns.ts';
import { findDistrust } from './distrust-store.ts';
import { identityKey, type Sighting, sightingsOf } from './identity-rules.ts';
import { type Claims, type Ledger, leadingHash, readLedger } from './ledger.ts';
import { type Differing, raiseDivergences } from './raise-divergences.ts';
import { floodOf, setAside } from './set-aside.ts';
import { settleDivergence } from './settle-divergence.ts';
import { insertSightings, type SightingRow } from './sighting-store.ts';
import { QUORUM } from './standing-rules.ts';
import { divergencesOf, insertArtifacts, lockArtifacts, lockDivergence } from './store.ts';
import { boundSightings, dropUnclaimed } from './tidy-store.ts';

/** Hosts recorded per hash: a quorum, and a spare in case one of them stops counting. */
export const HOSTS_PER_HASH = QUORUM + 1;
/** Claims judged per turn of the event loop. */
const CLAIMS_A_TURN = 500;
/** Sightings stored per host; the oldest are dropped. */
export const SIGHTINGS_PER_HOST = 50_000;

/** How often a plan is judged again because hosts that it contradicts were set aside. */
const ROUNDS_MAX = 3;

type Parts = Pick<Platform, 'newId' | 'now'>;

/**
 * Records the artifacts of a host's plan in the fleet's ledger, and raises what it contradicts, in the transaction that
 * stores the plan. Records nothing for a host that is set aside, or that this plan sets aside.
 */
export async function recordArtifacts(
  tx: Tx,
  platform: Parts,
  plan: { agentId: string; ecosystem: Ecosystem; actions: readonly PlanAction[] },
): Promise<void> {
  const agent = await findAgent(tx, plan.agentId);
  if (!agent) return;
  const sightings = sightingsOf({ ...plan, host: { osId: agent.os_id, osArch: agent.os_arch } });
  if (sightings.length === 0) return;
  const distrust = await findDistrust(tx, agent.id);
  if (distrust && distrust.lifted_at === null) return;
  const host = { agentId: agent.id, seenAtMs: platform.now() };
  let news = await newClaims(sightings, await claimedLedger(tx, sightings, host), host);
  if (differingOf(news).length > 0) {
    // Two concurrent plans of one host share its budget.
    await lockAgent(tx, agent.id);
    const sinceMs = distrust?.lifted_at ?? 0;
    for (let round = 1; ; round++) {
      const differing = differingOf(news);
      const flood = await floodOf(tx, platform, { ...host, differing, sinceMs });
      if (!flood) break;
      const excused = round < ROUNDS_MAX ? flood.opponents : [];
      if (!(await setAside(tx, platform, { ...host, differing, flood: { ...flood, opponents: excused } }))) {
        await dropUnclaimed(tx, sightings);
        return;
      }
      // The hosts that it contradicted no longer count: judge the rest again.
      news = await newClaims(sightings, await claimedLedger(tx, sightings, host), host);
    }
  }
  if (news.length > 0) await store(tx, platform, { agentId: agent.id, news });
}

/**
 * Does the same for a plan of a host that an operator trusts again, whatever it contradicts; returns the number of
 * contradicted artifacts. They do not count against the host's limits.
 */
export async function recordTrusted(
  tx: Tx,
  platform: Parts,
  plan: { agentId: string; ecosystem: Ecosystem; actions: readonly PlanAction[] },
): Promise<number> {
  const agent = await findAgent(tx, plan.agentId);
  if (!agent) return 0;
  const sightings = sightingsOf({ ...plan, host: { osId: agent.os_id, osArch: agent.os_arch } });
  const host = { agentId: agent.id, seenAtMs: platform.now() };
  const news = await newClaims(sightings, await claimedLedger(tx, sightings, host), host);
  const differing = differingOf(news);
  if (news.length === 0) return 0;
  const rows = news.map(({ row }) => ({ ...row, differs: 0 }));
  await insertSightings(tx, rows);
  await boundSightings(tx, { agentId: agent.id, most: SIGHTINGS_PER_HOST });
  await raiseDivergences(tx, platform, { agentId: agent.id, differing });
  return differing.length;
}

const differingOf = (news: readonly Differing[]) => news.filter(({ row }) => row.differs === 1);

async function store(
  tx: Tx,
  platform: Parts,
  { agentId, news }: { agentId: string; news: readonly Differing[] },
): Promise<void> {
  await insertSightings(
    tx,
    news.map(({ row }) => row),
  );
  await boundSightings(tx, { agentId, most: SIGHTINGS_PER_HOST });
  await raiseDivergences(tx, platform, { agentId, differing: differingOf(news) });
  const supported = news.flatMap(({ row, sighting, claims }) =>
    row.differs === 0 && claims.size > 1 ? [sighting] : [],
  );
  await settleSupported(tx, platform, supported);
}

/** The ledger of these artifacts, after this host has claimed those without a claim. */
async function claimedLedger(
  tx: Tx,
  sightings: readonly Sighting[],
  host: { agentId: string; seenAtMs: number },
): Promise<Ledger> {
  const ledger = await readLedger(tx, sightings);
  const unclaimed = new Map<string, Sighting>();
  await inTurns(sightings, {
    size: CLAIMS_A_TURN,
    work: (part) => {
      for (const sighting of part) {
        const key = identityKey(sighting);
        if (ledger.get(key)?.size === 0 && !unclaimed.has(key)) unclaimed.set(key, sighting);
      }
    },
  });
  if (unclaimed.size === 0) return ledger;
  // Sorted by key: two concurrent plans lock the rows in the same order.
  const first = [...unclaimed].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, sighting]) => sighting);
  const rows = first.map(({ ecosystem: _, ...sighting }) => ({
    ...{ ...sighting, agent_id: host.agentId, seen_at: host.seenAtMs },
  }));
  if ((await insertArtifacts(tx, rows)) === rows.length) return ledger;
  // Another host claimed some of them before or concurrently: read its claims once they are committed.
  await lockArtifacts(tx, first);
  for (const [key, claims] of await readLedger(tx, first)) ledger.set(key, claims);
  return ledger;
}

/** The claims of a plan to record; they join the ledger, so that two hashes within one plan diverge too. */
async function newClaims(
  sightings: readonly Sighting[],
  ledger: Ledger,
  host: { agentId: string; seenAtMs: number },
): Promise<Differing[]> {
  const news: Differing[] = [];
  await inTurns(sightings, {
    size: CLAIMS_A_TURN,
    work: (part) => {
      for (const sighting of part) {
        const claim = newClaim(sighting, ledger, host);
        if (claim !== null) news.push(claim);
      }
    },
  });
  return news;
}

function newClaim(
  sighting: Sighting,
  ledger: Ledger,
  { agentId, seenAtMs }: { agentId: string; seenAtMs: number },
): Differing | null {
  const claims: Claims = ledger.get(identityKey(sighting)) ?? new Map();
  const told = claims.get(sighting.hash) ?? [];
  if (told.some(({ agent_id }) => agent_id === agentId) || told.length >= HOSTS_PER_HASH) return null;
  const leading = leadingHash(claims);
  const { ecosystem: _, ...rest } = sighting;
  const differs = leading === null || leading === sighting.hash ? 0 : 1;
  const row: SightingRow = { ...rest, agent_id: agentId, differs, seen_at: seenAtMs };
  const before = new Map(claims);
  claims.set(sighting.hash, [...told, row]);
  return { sighting, row, claims: before };
}

/** Another host's support may settle a divergence. */
async function settleSupported(tx: Tx, platform: Parts, sightings: readonly Sighting[]): Promise<void> {
  const keys = new Set(sightings.map(identityKey));
  for (const row of await divergencesOf(tx, sightings)) {
    const algorithm = row.algorithm === 'sha512' ? 'sha512' : 'sha256';
    if (!keys.has(identityKey({ ...row, algorithm }))) continue;
    const taken = await lockDivergence(tx, row.id);
    if (taken) await settleDivergence(tx, platform, taken);
  }
}
