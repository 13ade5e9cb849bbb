import { join } from 'node:path';
import type { InventoryAnswer, InventoryUpdate } from '@tidegate/protocol/agent-api';
import { type Ecosystem, Sha256Hex, strict } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { EcosystemDriver } from '../ecosystems/ecosystem.ts';
import { errorCode, ownUid, readTrusted, writeDurably } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';
import type { Inventory } from './inventory.ts';

/** What one plan is for: an update, or those of one name and version for each architecture. */
export interface UpdateGroup {
  key: string;
  updates: readonly InventoryUpdate[];
  /** What the server calls them. */
  ids: readonly string[];
}

/** Tracks which updates of the last report have a plan on the server (walk 2 of design.md); survives restarts. */
export interface Plans {
  /**
   * The server has the report with this digest and returned its update ids. If it had to request the report, it
   * has no plans for it either.
   */
  reported(
    ecosystem: Ecosystem,
    report: { sha256: string; updates: InventoryAnswer['updates']; isAskedFor: boolean },
  ): void;
  /** Ecosystems whose report has to be sent once more for its ids. */
  lackingIds(): Ecosystem[];
  /** What is left to be planned, security updates first. */
  open(ecosystem: Ecosystem): UpdateGroup[];
  hasOpen(): boolean;
  /** Planned or unplannable: not tried again for this report. */
  close(ecosystem: Ecosystem, group: UpdateGroup): void;
  /** Persists the closed updates. */
  save(): void;
  /** A plan turned out to be wrong: plans must be made again. */
  forget(): void;
}

interface Progress {
  sha256: string;
  closed: Set<string>;
  /** Null when they are to be asked for. */
  ids: ReadonlyMap<string, readonly string[]> | null;
}

const MEMORY_MAX_BYTES = 4 * 1024 * 1024;
const Memory = strict({ sha256: Sha256Hex, closed: Type.Array(Type.String({ maxLength: 512 })) });

/** Opens the state in a folder; without it all updates are planned again. */
export function openPlans(dependencies: {
  folder: string;
  drivers: readonly EcosystemDriver[];
  inventory: Pick<Inventory, 'updates' | 'digests'>;
  log: Log;
}): Plans {
  const { folder, inventory, log } = dependencies;
  const ecosystems = dependencies.drivers.map(({ ecosystem }) => ecosystem);
  const progresses = new Map<Ecosystem, Progress>();
  for (const ecosystem of ecosystems) {
    const progress = load(folder, ecosystem);
    if (progress !== null) progresses.set(ecosystem, progress);
  }

  /** Null where the latest report is not on the server yet. */
  function progressOf(ecosystem: Ecosystem): Progress | null {
    const progress = progresses.get(ecosystem);
    return progress !== undefined && progress.sha256 === inventory.digests()[ecosystem] ? progress : null;
  }

  function unclosed(ecosystem: Ecosystem, closed: ReadonlySet<string>): UpdateGroup[] {
    const ids = progressOf(ecosystem)?.ids ?? null;
    const groups = [...groupUpdates(ecosystem, inventory.updates(ecosystem))]
      .filter(([key]) => !closed.has(key))
      .map(([key, updates]) => ({ key, updates, ids: ids?.get(key) ?? [] }));
    return groups.sort((a, b) => Number(isSecurity(b)) - Number(isSecurity(a)));
  }

  const open = (ecosystem: Ecosystem) => {
    const progress = progressOf(ecosystem);
    // An update that the server does not name has ended there.
    return progress === null ? [] : unclosed(ecosystem, progress.closed).filter(({ ids }) => ids.length > 0);
  };

  return {
    reported: (ecosystem, { sha256, updates, isAskedFor }) => {
      const before = progresses.get(ecosystem);
      const isKnown = before !== undefined && before.sha256 === sha256 && !isAskedFor;
      const closed = isKnown ? before.closed : new Set<string>();
      const ids = new Map<string, string[]>();
      for (const { update_id: id, ...update } of updates) {
        const key = keyOf(ecosystem, update);
        ids.set(key, [...(ids.get(key) ?? []), id]);
      }
      progresses.set(ecosystem, { sha256, closed, ids });
    },
    lackingIds: () =>
      ecosystems.filter((ecosystem) => {
        const progress = progressOf(ecosystem);
        if (progress !== null && progress.ids !== null) return false;
        return unclosed(ecosystem, progress?.closed ?? new Set()).length > 0;
      }),
    open,
    hasOpen: () => ecosystems.some((ecosystem) => open(ecosystem).length > 0),
    close: (ecosystem, { key }) => progressOf(ecosystem)?.closed.add(key),
    save: () => {
      for (const [ecosystem, { sha256, closed }] of progresses) {
        save(folder, ecosystem, { sha256, closed: [...closed] }, log);
      }
    },
    forget: () => {
      for (const { closed } of progresses.values()) closed.clear();
    },
  };
}

function groupUpdates(
  ecosystem: Ecosystem,
  updates: readonly InventoryUpdate[],
): Map<string, InventoryUpdate[]> {
  const groups = new Map<string, InventoryUpdate[]>();
  for (const update of updates) {
    const key = keyOf(ecosystem, update);
    groups.set(key, [...(groups.get(key) ?? []), update]);
  }
  return groups;
}

/**
 * Architectures of one package are brought to one version together; places that hold an npm or PyPI package each get
 * a plan of their own.
 */
function keyOf(
  ecosystem: Ecosystem,
  { name, available_version: version, arch }: Pick<InventoryUpdate, 'name' | 'available_version' | 'arch'>,
): string {
  const hasPlaces = ecosystem === 'npm' || ecosystem === 'pypi';
  return hasPlaces ? `${name} ${version} ${arch ?? ''}` : `${name} ${version}`;
}

function isSecurity({ updates }: UpdateGroup): boolean {
  return updates.some(({ security }) => security === true);
}

function load(folder: string, ecosystem: Ecosystem): Progress | null {
  const trust = { maxBytes: MEMORY_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  const read = readTrusted(memoryPath(folder, ecosystem), trust);
  const parsed = read.ok ? parseStrictJson(read.bytes) : read;
  if (!parsed.ok || !Check(Memory, parsed.value)) return null;
  return { sha256: parsed.value.sha256, closed: new Set(parsed.value.closed), ids: null };
}

function save(folder: string, ecosystem: Ecosystem, memory: object, log: Log): void {
  try {
    const bytes = new TextEncoder().encode(JSON.stringify(memory));
    writeDurably(memoryPath(folder, ecosystem), bytes, { mode: 0o600 });
  } catch (error) {
    log.warn('the finished plans cannot be stored', { ecosystem, reason: errorCode(error) });
  }
}

function memoryPath(folder: string, ecosystem: Ecosystem): string {
  return join(folder, `plans-${ecosystem}.json`);
}
