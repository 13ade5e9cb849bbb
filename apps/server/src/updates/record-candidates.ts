import type { InventoryUpdate } from '@tidegate/protocol/agent-api';
import type { Tx } from '../platform/db/engine.ts';
import { type Candidates, candidatesOf, dropCandidates, putCandidates } from './candidates-store.ts';
import { hasPlaces, packageKey } from './scan-rules.ts';

/**
 * Stores the versions that a report names for each npm or PyPI package, for the search for the smallest fix. A complete
 * report drops what it no longer names. The caller holds the agent's lock.
 */
export async function recordCandidates(
  tx: Tx,
  {
    agentId,
    ecosystem,
    report,
  }: {
    agentId: string;
    ecosystem: string;
    report: { complete: boolean; updates: readonly InventoryUpdate[] };
  },
): Promise<void> {
  if (!hasPlaces(ecosystem)) return;
  const reported = new Map<string, Candidates>();
  for (const { name, arch = '', current_version: currentVersion, candidates } of report.updates) {
    if (!candidates) continue;
    reported.set(packageKey({ name, arch }), {
      ...{ agentId, ecosystem, name, arch, currentVersion, versions: candidates },
    });
  }
  const stored = new Map(
    (await candidatesOf(tx, { agentId, ecosystem })).map((one) => [packageKey(one), one]),
  );
  const isSame = (one: Candidates, other: Candidates | undefined) =>
    other?.currentVersion === one.currentVersion && other.versions.join(' ') === one.versions.join(' ');
  await putCandidates(
    tx,
    [...reported].filter(([key, one]) => !isSame(one, stored.get(key))).map(([, one]) => one),
  );
  if (!report.complete) return;
  await dropCandidates(
    tx,
    [...stored].filter(([key]) => !reported.has(key)).map(([, one]) => one),
  );
}
