import type { PlanAction } from '@tidegate/protocol/plan';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import { osIdOf } from '../agents/store.ts';
import { charge } from '../outsiders/charge.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { plannedVersions, seenKey, seenVersion } from './seen-rules.ts';
import { insertFirstSeen, unseenVersions } from './seen-store.ts';

/** Versions that a host has or could have, from its report or plan. */
export interface SeenReport {
  readonly agentId: string;
  readonly ecosystem: Ecosystem;
  /** Packages that are new or changed in the report. */
  readonly packages: readonly { name: string; version: string; arch: string }[];
  readonly actions: readonly PlanAction[];
}

/**
 * Records versions in the fleet's ledger, in the transaction of their report. Existing rows stay unchanged, and cost the host
 * nothing.
 */
export async function recordFirstSeen(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  sighted: SeenReport,
): Promise<void> {
  const { agentId, ecosystem, packages, actions } = sighted;
  if (packages.length === 0 && actions.length === 0) return;
  const osId = await osIdOf(tx, agentId);
  if (osId === null) return;
  const host = { ecosystem, osId };
  const versions = [
    ...packages.map((one) => seenVersion(host, one)),
    ...plannedVersions({ ...host, actions }),
  ];
  const distinct = new Map(versions.map((one) => [seenKey(one), one]));
  const rows = await unseenVersions(tx, [...distinct.values()]);
  if (rows.length === 0) return;
  const bytes = rows.reduce((sum, one) => sum + seenKey(one).length, 0);
  // A version that is not recorded has no age; nothing else depends on it.
  if (!(await charge(tx, platform, { kind: 'first_seen', subject: { agentId }, rows: rows.length, bytes })))
    return;
  const first_seen_at = platform.now();
  await insertFirstSeen(
    tx,
    rows.map((one) => ({ ...one, first_seen_at, agent_id: agentId })),
  );
}
