import { type MissingData, missingData } from '../advisories/mirror/coverage.ts';
import { type FleetNeeds, fleetNeeds } from '../advisories/mirror/fleet-ecosystems.ts';
import { readLoads } from '../advisories/mirror/loading/store.ts';
import { readSnapshots } from '../advisories/mirror/store.ts';
import type { Config } from '../config.ts';
import type { Database } from '../platform/db/engine.ts';
import type { Finding } from './doctor-rules.ts';

const NAMED_MAX = 10;

/** Names the ecosystems of the fleet that the mirror lacks, and the systems that no database covers. */
export async function judgeAdvisoryMirror(
  { advisorySource: source, advisoryExportUrl: url }: Config,
  { read }: Database,
  now: () => number,
): Promise<Finding> {
  const check = 'advisory data';
  const needs = await fleetNeeds(read);
  const uncovered = needs.uncovered.map((system) => `${system} (no database covers it)`);
  const isMirrored = source === 'mirror' || source === 'mirror+api';
  const snapshots = await readSnapshots(read);
  const loads = await readLoads(read);
  const states = [...needs.ecosystems].map(([base, releases]) => ({
    ...{ base, releases },
    ...{ snapshot: snapshots.get(base) ?? null, load: loads.get(base) ?? null },
  }));
  const at = { nowMs: now(), isFetching: url !== 'none' };
  const missing = isMirrored ? await missingData(read, states, at) : [];
  const lacking = missing.filter(({ why }) => why !== 'loading').map(textOf);
  const bad = [...lacking, ...uncovered];
  if (bad.length === 0) {
    const loading = missing.map(({ ecosystem }) => ecosystem);
    return { check, level: 'ok', detail: soundText({ isMirrored, loading, needs }) };
  }
  const remedy =
    url === 'none'
      ? 'run `tidegate advisories import`'
      : 'see `tidegate advisories status`, then `tidegate advisories refresh`';
  return {
    check,
    level: 'warn',
    detail: `no data to check packages by: ${named(bad)}`,
    todo:
      lacking.length > 0
        ? remedy
        : 'approvals of these hosts need an override, or SERVICE_SUPPLY_CHAIN_UNCOVERED',
  };
}

function soundText({
  isMirrored,
  loading,
  needs,
}: {
  isMirrored: boolean;
  loading: readonly string[];
  needs: FleetNeeds;
}): string {
  if (loading.length > 0) return `the first load is under way: ${named(loading)}`;
  if (!isMirrored) return 'no mirror is set';
  const count = [...needs.ecosystems.values()].flat().length;
  return count === 0
    ? 'no host has reported an ecosystem yet'
    : `every ecosystem of the fleet is there: ${count}`;
}

const REASONS: Readonly<Record<MissingData['why'], string>> = {
  loading: 'being loaded',
  load_failed: 'the last load failed',
  not_loaded: 'not loaded',
  no_advisories: 'the data has no advisory of it',
};

function textOf({ ecosystem, why }: MissingData): string {
  return `${ecosystem} (${REASONS[why]})`;
}

function named(all: readonly string[]): string {
  const more = all.length > NAMED_MAX ? ` and ${all.length - NAMED_MAX} more` : '';
  return `${all.slice(0, NAMED_MAX).join(', ')}${more}`;
}
