import { nullable } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type CloneSign, EVIDENCE_MAX, judgeSign, type Observation, returnedBoot } from './clone-rules.ts';
import { bootsOf, findSuspicion, type SuspicionRow, storeBoot, writeSuspicion } from './clone-store.ts';

/**
 * Stores an agent's boot when it differs from the last one, and suspects a clone when it recurs after another boot. The
 * caller has locked the agent's row, so that its observations are serialised.
 */
export async function recordBoot(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, seen }: { agentId: string; seen: Observation },
): Promise<void> {
  const known = await bootsOf(tx, agentId);
  await storeBoot(tx, { agentId, seen, known });
  const evidence = returnedBoot(known, seen);
  if (evidence) await suspectClone(tx, platform, { agentId, sign: 'boot_id_returned', evidence });
}

/** The machine's uptime decreased without a restart. */
export async function recordUptimeWentBack(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, seen }: { agentId: string; seen: Observation },
): Promise<void> {
  const known = await bootsOf(tx, agentId);
  const before = known.filter(({ bootId }) => bootId === seen.bootId);
  await suspectClone(tx, platform, { agentId, sign: 'uptime_went_back', evidence: [...before, seen] });
}

/** Adds a sign of a clone to the evidence, and raises an event at most once in RAISED_EVERY_MS. */
export async function suspectClone(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { agentId, sign, evidence }: { agentId: string; sign: CloneSign; evidence: readonly Observation[] },
): Promise<void> {
  const nowMs = platform.now();
  const row = await findSuspicion(tx, agentId);
  const isOpen = row?.closed_at === null;
  const known = row && {
    open: isOpen,
    raisedAtMs: row.raised_at,
    acceptedAddresses: acceptedAddresses(row),
  };
  const { counts, raise } = judgeSign(known, { sign, evidence, nowMs });
  if (!counts) return;
  const shown = evidence.map(({ atMs, bootId, address }) => ({
    at: rfc3339(atMs),
    boot_id: bootId,
    address,
  }));
  const earlier = row && isOpen ? parseEvidence(row.evidence) : [];
  const fresh = shown.filter((one) => !earlier.some((old) => JSON.stringify(old) === JSON.stringify(one)));
  await writeSuspicion(tx, {
    agent_id: agentId,
    since: row && isOpen ? row.since : nowMs,
    evidence: JSON.stringify([...earlier, ...fresh].slice(-EVIDENCE_MAX)),
    raised_at: raise || !row ? nowMs : row.raised_at,
    closed_at: null,
    accepted_addresses: row?.accepted_addresses ?? '[]',
  });
  if (!raise) return;
  await appendEvent(tx, platform, {
    kind: 'security',
    type: 'CLONE_SUSPECTED',
    severity: 'error',
    component: 'agents',
    agentId,
    actor: 'server',
    content: { sign, evidence: shown },
  });
}

const Shown = Type.Object({
  at: Type.String(),
  boot_id: Type.String(),
  address: nullable(Type.String()),
});
const evidences = Compile(Type.Array(Shown));
const addresses = Compile(Type.Array(Type.String()));

export function parseEvidence(text: string) {
  const value: unknown = JSON.parse(text);
  if (!evidences.Check(value)) throw new Error('the stored evidence of a clone is not valid');
  return value;
}

export function acceptedAddresses(row: SuspicionRow): string[] {
  const value: unknown = JSON.parse(row.accepted_addresses);
  if (!addresses.Check(value)) throw new Error('the accepted addresses of an agent are not valid');
  return value;
}
