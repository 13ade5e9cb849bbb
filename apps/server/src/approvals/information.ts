import { readOriginChanges } from '../origins/read-changes.ts';
import { readPlanProvenances } from '../provenance/plan-provenance.ts';
import { firstSeenOf, newVersions } from '../release-times/seen-rules.ts';
import { readFirstSeen } from '../release-times/seen-store.ts';
import type { ApprovalDeps } from './deps.ts';
import type { Information } from './gate-facts.ts';
import type { LoadedSet } from './load-update.ts';

/**
 * Reads stored information, in the given order, with shared statements. Missing provenance is fetched in the background
 * for the next reader.
 */
export async function readInformation(
  { platform, provenance }: Pick<ApprovalDeps, 'platform' | 'provenance'>,
  loaded: readonly LoadedSet[],
): Promise<Information[]> {
  const db = platform.database.read;
  const plans = loaded.map(({ planned, ecosystem, agent }) => ({
    ecosystem,
    osId: agent.os_id,
    actions: planned?.plan.actions ?? [],
    installed: planned?.closure.installed ?? [],
  }));
  const versions = plans.map(newVersions);
  const seen = await readFirstSeen(db, versions.flat());
  const provenances = await readPlanProvenances(db, plans, platform.now());
  const changes = await readOriginChanges(
    db,
    plans.map((plan, i) => ({ ...plan, agentId: loaded[i]?.agent.id ?? '' })),
  );
  provenance.want(provenances.flatMap(({ missing }) => missing));
  return versions.map((some, i) => ({
    firstSeen: firstSeenOf(some, seen),
    provenance: provenances[i]?.packages ?? [],
    originChanges: changes[i] ?? [],
  }));
}
