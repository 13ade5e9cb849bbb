import type { Db } from '../../platform/db/engine.ts';
import type { Platform } from '../../platform/platform.ts';
import type { EcosystemState } from './loading/refresh-ecosystem.ts';
import type { Snapshot } from './snapshot.ts';
import { hasEntries } from './store.ts';

/** Packages with advisories in every distribution: a release without any of them is not covered. */
const SENTINELS = ['openssl', 'linux', 'kernel'];
/** Registries that any single advisory proves to be covered. */
const WITHOUT_RELEASES: ReadonlySet<string> = new Set(['npm', 'PyPI']);
/** A first load that has not ended after this long counts as missing data, in milliseconds. */
const LOADING_MAX_MS = 60 * 60_000;

/** How long new releases wait after a load that found one without advisories, in milliseconds. */
const MADE_UP_EVERY_MS = 60 * 60_000;

/** An ecosystem of the fleet that the mirror has no data of. */
export interface MissingData {
  /** OSV's name, such as `Debian:12`. */
  readonly ecosystem: string;
  /** `loading`: its first load is under way. `not_loaded`: nothing loads it. `no_advisories`: the data has none of it. */
  readonly why: 'loading' | 'load_failed' | 'not_loaded' | 'no_advisories';
}

/** Whether the data has advisories of this ecosystem: without any, a missing entry proves nothing. */
export async function hasAdvisoriesOf(
  db: Db,
  { loadId }: Pick<Snapshot, 'loadId'>,
  eco: string,
): Promise<boolean> {
  return hasEntries(db, { loadId, eco, names: WITHOUT_RELEASES.has(eco) ? [] : SENTINELS });
}

/**
 * What an ecosystem is loaded for now. A new release has the whole archive loaded again, at once; but where the last load has
 * shown that a release of the fleet exists nowhere, the next new ones wait, so that a host that makes them up costs one load
 * in an hour.
 */
export async function withoutMadeUp(
  { database, now }: Pick<Platform, 'database' | 'now'>,
  state: EcosystemState,
): Promise<EcosystemState> {
  const { releases, snapshot } = state;
  if (!snapshot) return state;
  const known = releases.filter((one) => snapshot.releases.includes(one));
  const ageMs = now() - snapshot.loadedAtMs;
  if (known.length === releases.length || ageMs < 0 || ageMs >= MADE_UP_EVERY_MS) return state;
  for (const one of snapshot.releases) {
    if (!(await hasAdvisoriesOf(database.read, snapshot, one))) return { ...state, releases: known };
  }
  return state;
}

/** What the fleet needs and the mirror lacks: some indexed queries for each release, whatever the size of the fleet. */
export async function missingData(
  db: Db,
  states: readonly EcosystemState[],
  at: { readonly nowMs: number; readonly isFetching: boolean },
): Promise<MissingData[]> {
  const missing: MissingData[] = [];
  for (const state of states) {
    const { releases, snapshot } = state;
    for (const ecosystem of releases) {
      if (!snapshot?.releases.includes(ecosystem)) missing.push({ ecosystem, why: whyNotLoaded(state, at) });
      else if (!(await hasAdvisoriesOf(db, snapshot, ecosystem)))
        missing.push({ ecosystem, why: 'no_advisories' });
    }
  }
  return missing;
}

function whyNotLoaded(
  { load }: EcosystemState,
  { nowMs, isFetching }: { nowMs: number; isFetching: boolean },
): MissingData['why'] {
  if (!isFetching) return 'not_loaded';
  if (load === null) return 'loading';
  if (load.error !== null) return 'load_failed';
  return Math.abs(nowMs - load.started_at) < LOADING_MAX_MS ? 'loading' : 'not_loaded';
}
