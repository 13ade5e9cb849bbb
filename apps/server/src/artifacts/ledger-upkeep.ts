import type { Platform } from '../platform/platform.ts';
import { settleDivergence } from './settle-divergence.ts';
import { lockDivergence } from './store.ts';
import { divergenceIdsAfter, dropSightings, findGoneHost } from './tidy-store.ts';

/** Divergences settled per run. */
const SETTLED_MAX = 100;
/** Sightings deleted per transaction, and transactions per run; the next run continues. */
const DROPPED_MAX = 1_000;
const DROPS_MAX = 10;

export interface LedgerUpkeep {
  /** Settles some divergences again, because hosts leave and registries answer without a report; the next run continues. */
  settleSome(): Promise<void>;
  /** Deletes sightings of departed hosts, and artifacts that no host reports without them. */
  tidySome(): Promise<void>;
}

export function createLedgerUpkeep(platform: Platform): LedgerUpkeep {
  const { database } = platform;
  let after = '';
  return {
    async settleSome() {
      const ids = await divergenceIdsAfter(database.read, { after, limit: SETTLED_MAX });
      after = ids.length < SETTLED_MAX ? '' : (ids.at(-1) ?? '');
      for (const id of ids) {
        await database.transact(async (tx) => {
          const taken = await lockDivergence(tx, id);
          if (taken) await settleDivergence(tx, platform, taken);
        });
      }
    },
    async tidySome() {
      for (let i = 0; i < DROPS_MAX; i++) {
        const agentId = await findGoneHost(database.read);
        if (agentId === null) return;
        await database.transact((tx) => dropSightings(tx, { agentId, limit: DROPPED_MAX }));
      }
    },
  };
}
