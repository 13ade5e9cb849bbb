import type { InventoryUpdate } from '@tidegate/protocol/agent-api';
import { chunks } from '../platform/db/chunks.ts';
import type { Tx } from '../platform/db/engine.ts';
import {
  type Candidates,
  comparedCandidates,
  comparedText,
  dropCandidates,
  packagesWithCandidates,
  putCandidates,
} from './candidates-store.ts';
import { hasPlaces, packageKey } from './scan-rules.ts';

/** Packages of which candidates are kept of one package manager of a host: a complete report has at most so many. */
const KEPT_MAX = 5_000;
/** Packages compared at once: each may have 16 KB of versions. */
const COMPARED_AT_ONCE = 100;

/**
 * Stores the versions that a report names for each npm or PyPI package, for the search for the smallest fix. A complete
 * report drops what it no longer names. An incomplete one drops nothing, so that it adds nothing beyond what is kept. The
 * caller holds the agent's lock.
 */
export async function recordCandidates(
  tx: Tx,
  {
    agentId,
    ecosystem,
    report,
    keptMax = KEPT_MAX,
  }: {
    agentId: string;
    ecosystem: string;
    report: { complete: boolean; updates: readonly InventoryUpdate[] };
    keptMax?: number;
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
  const kept = await packagesWithCandidates(tx, { agentId, ecosystem });
  let room = report.complete ? Infinity : keptMax - kept.length;
  for (const of of chunks([...reported.values()], COMPARED_AT_ONCE)) {
    const stored = await comparedCandidates(tx, { agentId, ecosystem, of });
    const fits = of.filter((one, i) => {
      const before = stored[i] ?? null;
      if (before !== null) return before !== comparedText(one);
      room -= 1;
      return room >= 0;
    });
    await putCandidates(tx, fits);
  }
  if (!report.complete) return;
  await dropCandidates(
    tx,
    kept.filter((one) => !reported.has(packageKey(one))),
  );
}
