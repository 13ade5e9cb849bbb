import type { InventoryPackage, InventoryUpdate } from '@tidegate/protocol/agent-api';
import type { HostPaths, Scan } from '../ecosystem.ts';
import { chooseOffers } from '../offers-rules.ts';
import { type IndexClient, openIndex } from './index-client.ts';
import { type Distribution, readInstalled } from './installed.ts';
import { findNewer } from './newest-rules.ts';
import type { IndexFile } from './parse-index-page.ts';
import { type FoundPlaces, findPlaces, isExternallyManaged, type PypiPlace } from './places.ts';

const REASON_MAX_CHARS = 2_000;
const ORIGIN_MAX_CHARS = 512;
/** Maximum number of updates in a report. */
const UPDATES_MAX = 5_000;
/** Concurrent requests to the index. */
const ASKED_AT_ONCE = 8;

/**
 * Reads the installed packages of every place and queries the index for newer versions. Updates of pinned and
 * externally managed packages are listed too; planning one fails with the reason. Anything unreadable makes the
 * scan incomplete, so it never looks like a place without packages or updates.
 */
export async function scanPypi(paths: HostPaths, found?: FoundPlaces): Promise<Scan> {
  const { places, faults: lost } = found ?? (await findPlaces(paths));
  const faults = [...lost];
  const installed: Installed[] = [];
  for (const place of places) {
    const state = await readInstalled(place);
    faults.push(...state.faults);
    const isManaged = await isExternallyManaged(place);
    installed.push(...state.distributions.map((distribution) => ({ place, distribution, isManaged })));
  }
  const index = openIndex(paths);
  const offers = await readOffers(index, installed);
  faults.push(...offers.faults);
  return {
    complete: faults.length === 0,
    reason: faults.length === 0 ? null : faults.join('; ').slice(0, REASON_MAX_CHARS),
    packages: installed.map(describe),
    updates: offers.updates,
  };
}

interface Installed {
  place: PypiPlace;
  distribution: Distribution;
  isManaged: boolean;
}

async function readOffers(
  index: IndexClient,
  installed: readonly Installed[],
): Promise<{ updates: InventoryUpdate[]; faults: string[] }> {
  const updatable = installed.filter(({ distribution }) => distribution.source === 'index');
  const names = [...new Set(updatable.map(({ distribution }) => distribution.name))].sort();
  for (let at = 0; at < names.length; at += ASKED_AT_ONCE) {
    await Promise.all(names.slice(at, at + ASKED_AT_ONCE).map(index.files));
  }
  const faults = new Set<string>();
  const updates: InventoryUpdate[] = [];
  for (const { place, distribution } of updatable) {
    const files = await index.files(distribution.name);
    if (!files.ok) {
      faults.add(files.reason);
      continue;
    }
    const newer = findNewer(files.value, {
      version: distribution.version,
      pythonVersion: place.pythonVersion,
    });
    updates.push(...updatesOf({ place, distribution, newer, origin: index.origin }));
  }
  if (updates.length > UPDATES_MAX)
    faults.add(`there are ${updates.length} updates, more than ${UPDATES_MAX}`);
  return { updates: updates.slice(0, UPDATES_MAX), faults: [...faults] };
}

function updatesOf(found: {
  place: PypiPlace;
  distribution: Distribution;
  newer: readonly IndexFile[];
  origin: string;
}): InventoryUpdate[] {
  const { place, distribution, newer } = found;
  const files = new Map(newer.map((file) => [file.version, file]));
  const newest = newer.at(-1);
  if (newest === undefined) return [];
  const offered = chooseOffers('pypi', {
    ...{ current: distribution.version, newest: newest.version, versions: [...files.keys()] },
    isCandidate: (version) => files.get(version)?.kind === 'wheel',
  });
  return offered.map(({ version, ...rest }) => {
    const sizeBytes = files.get(version)?.sizeBytes ?? null;
    return {
      ...{ name: distribution.name, current_version: distribution.version, available_version: version },
      ...{ arch: place.path, origin: found.origin.slice(0, ORIGIN_MAX_CHARS), ...rest },
      ...(sizeBytes !== null && { size_bytes: sizeBytes }),
    };
  });
}

function describe({ place, distribution, isManaged }: Installed): InventoryPackage {
  const { name, version, source, directUrl, pinned } = distribution;
  const origin = source === 'direct' ? `direct: ${directUrl}` : null;
  return {
    ...{ name, version, arch: place.path },
    ...(origin !== null && { origin: origin.slice(0, ORIGIN_MAX_CHARS) }),
    held: pinned || isManaged,
  };
}
