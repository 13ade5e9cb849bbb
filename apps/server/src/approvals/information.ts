import type { Db } from '../platform/db/engine.ts';
import { type FirstSeen, newVersions, seenKey } from '../release-times/seen-rules.ts';
import { readFirstSeen } from '../release-times/seen-store.ts';
import type { LoadedUpdate } from './load-update.ts';

/** What an operator is shown beside the verdict: nothing of it stops anybody. */
export interface Information {
  /** When the fleet first had the versions that are new to the host; an age of sorts where the gate has none. */
  readonly firstSeen: readonly FirstSeen[];
}

/** In the order given; the statements are shared by all updates. */
export async function readInformation(db: Db, loaded: readonly LoadedUpdate[]): Promise<Information[]> {
  const versions = loaded.map(({ planned, ecosystem, agent }) =>
    planned
      ? newVersions({
          ecosystem,
          osId: agent.os_id,
          actions: planned.plan.actions,
          installed: planned.closure.installed,
        })
      : [],
  );
  const seen = await readFirstSeen(db, versions.flat());
  return versions.map((some) => ({
    firstSeen: some.flatMap((one) => {
      const atMs = seen.get(seenKey(one));
      return atMs === undefined ? [] : [{ package: one.name, version: one.version, atMs }];
    }),
  }));
}
