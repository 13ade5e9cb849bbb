import { type PackageProvenance, readPlanProvenances } from '../provenance/plan-provenance.ts';
import { type FirstSeen, newVersions, seenKey } from '../release-times/seen-rules.ts';
import { readFirstSeen } from '../release-times/seen-store.ts';
import type { ApprovalDeps } from './deps.ts';
import type { LoadedUpdate } from './load-update.ts';

/** What an operator is shown beside the verdict: nothing of it stops anybody. */
export interface Information {
  /** When the fleet first had the versions that are new to the host; an age of sorts where the gate has none. */
  readonly firstSeen: readonly FirstSeen[];
  readonly provenance: readonly PackageProvenance[];
}

/**
 * From what is stored, in the order given; the statements are shared by all updates. Provenance that is not known is
 * asked for in the background, for whoever looks next.
 */
export async function readInformation(
  { platform, provenance }: Pick<ApprovalDeps, 'platform' | 'provenance'>,
  loaded: readonly LoadedUpdate[],
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
  provenance.want(provenances.flatMap(({ missing }) => missing));
  return versions.map((some, i) => ({
    firstSeen: some.flatMap((one) => {
      const atMs = seen.get(seenKey(one));
      return atMs === undefined ? [] : [{ package: one.name, version: one.version, atMs }];
    }),
    provenance: provenances[i]?.packages ?? [],
  }));
}
