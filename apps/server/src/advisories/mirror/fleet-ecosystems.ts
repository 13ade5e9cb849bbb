import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import type { Db } from '../../platform/db/engine.ts';
import { osvEcosystem } from '../ecosystem-strings.ts';
import { baseOf } from './snapshot.ts';
import { readFleetSystems } from './store.ts';

/** The ecosystems that the fleet needs, each with its sorted releases. */
export async function fleetEcosystems(db: Db): Promise<Map<string, string[]>> {
  const names = (await readFleetSystems(db)).flatMap(({ ecosystem, os_id: id, os_version_id: versionId }) => {
    if (!Value.Check(Ecosystem, ecosystem)) return [];
    const osv = osvEcosystem(ecosystem, { id, versionId });
    return osv.covered ? [osv.name] : [];
  });
  return byBase(names);
}

export function byBase(ecosystems: Iterable<string>): Map<string, string[]> {
  return new Map(Map.groupBy(new Set([...ecosystems].toSorted()), baseOf));
}
