import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import {
  contestedBy,
  distrustsOf,
  insertContests,
  insertDistrust,
  liftDistrust,
  newcomersAgainst,
  opponentsOfNewcomer,
} from './distrust-store.ts';
import { queueEnforcement } from './enforcement-store.ts';
import {
  DIFFERING_PER_30_DAYS,
  DIFFERING_PER_DAY,
  type DifferingClaim,
  type FloodVerdict,
  judgeFlood,
  WINDOW_MS,
} from './flood-rules.ts';
import { algorithmOf, identityKey, type Sighting } from './identity-rules.ts';
import type { Differing } from './raise-divergences.ts';
import { type Doubts, readDoubts, settleDivergence } from './settle-divergence.ts';
import { divergencesOfHost, type SightingRow, unprovenClaims } from './sighting-store.ts';
import { QUORUM } from './standing-rules.ts';
import { divergencesOf, lockDivergence } from './store.ts';

/** Divergences settled in the transaction that sets a host aside; upkeep settles the rest. */
const SETTLED_MAX = 50;
/** Artifacts listed in the event. */
const EXAMPLES_MAX = 10;

type Parts = Pick<Platform, 'newId' | 'now'>;

interface Newcomer {
  readonly agentId: string;
  readonly seenAtMs: number;
  readonly differing: readonly Differing[];
}

/** Whether a host contradicts the fleet more often than allowed; `sinceMs` is when it was last trusted again. */
export async function floodOf(
  tx: Tx,
  { now }: Parts,
  { agentId, differing, sinceMs }: Newcomer & { sinceMs: number },
): Promise<FloodVerdict | null> {
  const since = Math.max(sinceMs, now() - WINDOW_MS);
  const limit = DIFFERING_PER_30_DAYS + DIFFERING_PER_DAY;
  const recent = await unprovenClaims(tx, { agentId, sinceMs: since, limit });
  const claims = [...recent, ...differing.map(({ row }) => row)];
  const bare = claims.map((row) => ({
    ...{ artifact: '', seenAtMs: row.seen_at, vindicated: false, opponents: [] },
  }));
  if (!judgeFlood(bare, now())) return null;
  const weighed = claims.map((row) => ({ ...row, algorithm: algorithmOf(row) }));
  const doubts = await readDoubts(tx, weighed, await divergencesOf(tx, weighed));
  const counted = claims.map((row): DifferingClaim => {
    const artifact = identityKey({ ...row, algorithm: algorithmOf(row) });
    const vindicated = doubts.registry.get(artifact)?.get(row.hash) === 'confirmed';
    return {
      ...{ artifact, seenAtMs: row.seen_at, vindicated },
      opponents: opponentsOf(row, doubts),
    };
  });
  return judgeFlood(counted, now());
}

/** Hosts whose reports alone stand against a claim; none when a quorum, the registry or an operator does. */
function opponentsOf(row: SightingRow, { ledger, registry, divergences, decisions }: Doubts): string[] {
  const key = identityKey({ ...row, algorithm: algorithmOf(row) });
  const divergence = divergences.get(key);
  if (registry.has(key) || (divergence && decisions.has(divergence.id))) return [];
  const opponents = new Set<string>();
  for (const [hash, rows] of ledger.get(key) ?? []) {
    if (hash === row.hash) continue;
    if (rows.length >= QUORUM) return [];
    for (const { agent_id } of rows) if (agent_id !== row.agent_id) opponents.add(agent_id);
  }
  return [...opponents];
}

/**
 * Sets aside a host that floods the ledger: from now on its sightings do not count, divergences that it opened alone are
 * settled without it, and its own approvals are compared with the other hosts' reports. No other host is affected, until a
 * quorum of hosts was set aside against the reports of one single host: then that one is set aside, and they are trusted
 * again. Returns true if the newcomer is trusted by that, so that its plan counts.
 */
export async function setAside(
  tx: Tx,
  platform: Parts,
  { agentId, differing, flood }: Newcomer & { flood: FloodVerdict },
): Promise<boolean> {
  const nowMs = platform.now();
  await insertContests(tx, { newcomer: agentId, opponents: flood.opponents, nowMs });
  const examples = differing.slice(0, EXAMPLES_MAX).map(({ sighting }) => exampleOf(sighting));
  const found = await contestedBy(tx, {
    opponents: flood.opponents,
    atLeast: QUORUM,
    sinceMs: nowMs - WINDOW_MS,
  });
  for (const opponent of found) {
    await distrust(tx, platform, { agentId: opponent, role: 'opponent', newcomer: agentId, flood, examples });
    await trustNewcomersAgainst(tx, platform, opponent);
  }
  if (flood.opponents.length > 0 && (await allSetAside(tx, flood.opponents))) return true;
  await distrust(tx, platform, { agentId, role: 'newcomer', newcomer: agentId, flood, examples });
  return false;
}

/** Sets aside again a host that contradicts too much even after an operator trusted it. */
export async function setAsideAgain(
  tx: Tx,
  platform: Parts,
  { agentId, differing }: { agentId: string; differing: number },
): Promise<void> {
  const flood = { day: differing, month: differing, opponents: [] };
  await distrust(tx, platform, { agentId, role: 'newcomer', newcomer: agentId, flood, examples: [] });
}

interface Finding {
  readonly agentId: string;
  readonly role: 'newcomer' | 'opponent';
  readonly newcomer: string;
  readonly flood: FloodVerdict;
  readonly examples: readonly object[];
}

async function distrust(
  tx: Tx,
  platform: Parts,
  { agentId, role, newcomer, flood, examples }: Finding,
): Promise<void> {
  if (!(await insertDistrust(tx, { agentId, role, nowMs: platform.now() }))) return;
  const { day, month, opponents } = flood;
  await appendEvent(tx, platform, {
    ...{ kind: 'security', type: 'ARTIFACT_LEDGER_FLOOD', severity: 'critical', component: 'security' },
    ...{ agentId, actor: 'agent' },
    content: {
      ...{ role, newcomer, opponents: opponents.slice(0, EXAMPLES_MAX), day, month },
      ...{ day_limit: DIFFERING_PER_DAY, month_limit: DIFFERING_PER_30_DAYS, examples },
    },
  });
  await queueEnforcement(tx, { kind: 'host', subject: agentId, width: 1, queued_at: platform.now() });
  await settleDivergencesOf(tx, platform, agentId);
}

/** Trusts hosts that were set aside only against hosts that are now set aside themselves. */
async function trustNewcomersAgainst(tx: Tx, platform: Parts, opponent: string): Promise<void> {
  const reason = 'the hosts that it contradicted were set aside';
  for (const newcomer of await newcomersAgainst(tx, opponent)) {
    if (!(await allSetAside(tx, await opponentsOfNewcomer(tx, newcomer)))) continue;
    const lifted = { agentId: newcomer, nowMs: platform.now(), actor: 'server', reason };
    if (!(await liftDistrust(tx, lifted))) continue;
    await appendEvent(tx, platform, {
      ...{ kind: 'security', type: 'ARTIFACT_HOST_TRUSTED', severity: 'warning', component: 'security' },
      ...{ agentId: newcomer, actor: 'server', content: { reason, actor: 'server' } },
    });
    await settleDivergencesOf(tx, platform, newcomer);
  }
}

async function allSetAside(tx: Tx, agentIds: readonly string[]): Promise<boolean> {
  const distrusts = await distrustsOf(tx, agentIds);
  return agentIds.every((id) => distrusts.get(id)?.lifted_at === null);
}

/** Settles the newest divergences of a host, after its sightings began or ceased to count. */
export async function settleDivergencesOf(tx: Tx, platform: Parts, agentId: string): Promise<void> {
  const rows = await divergencesOfHost(tx, { agentId, limit: SETTLED_MAX });
  const ids = [...new Set(rows.map(({ id }) => id))].toSorted();
  for (const id of ids) {
    const taken = await lockDivergence(tx, id);
    if (taken) await settleDivergence(tx, platform, taken);
  }
}

function exampleOf({ ecosystem, name, version, hash }: Sighting) {
  return { ecosystem, name, version, hash };
}
