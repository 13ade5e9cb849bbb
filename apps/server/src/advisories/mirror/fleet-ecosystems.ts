import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import type { Db } from '../../platform/db/engine.ts';
import { osvEcosystem } from '../ecosystem-strings.ts';
import { baseOf } from './snapshot.ts';
import { readFleetSystems } from './store.ts';

export interface FleetNeeds {
  /** The ecosystems that the fleet needs, each with its sorted releases. */
  readonly ecosystems: Map<string, string[]>;
  /** Systems of hosts that no database covers, such as `fedora 41`, sorted. */
  readonly uncovered: readonly string[];
}

/** The ecosystems that the fleet needs, each with its sorted releases. */
export async function fleetEcosystems(db: Db): Promise<Map<string, string[]>> {
  return (await fleetNeeds(db)).ecosystems;
}

export async function fleetNeeds(db: Db): Promise<FleetNeeds> {
  const names: string[] = [];
  const uncovered = new Set<string>();
  for (const { ecosystem, os_id: id, os_version_id: versionId } of await readFleetSystems(db)) {
    if (!Value.Check(Ecosystem, ecosystem)) continue;
    const osv = osvEcosystem(ecosystem, { id, versionId });
    if (osv.covered) names.push(osv.name);
    else uncovered.add(`${id} ${versionId}`.trim());
  }
  return { ecosystems: byBase(names), uncovered: [...uncovered].toSorted() };
}

export function byBase(ecosystems: Iterable<string>): Map<string, string[]> {
  return new Map(Map.groupBy(new Set([...ecosystems].toSorted()), baseOf));
}
