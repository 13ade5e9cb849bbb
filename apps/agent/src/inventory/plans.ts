import { join } from 'node:path';
import type { InventoryAnswer, InventoryUpdate } from '@tidegate/protocol/agent-api';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { type Ecosystem, PackageName, Sha256Hex, strict } from '@tidegate/protocol/scalars';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { EcosystemDriver } from '../ecosystems/ecosystem.ts';
import { errorCode, ownUid, readTrusted, writeDurably } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';
import { interleave } from './interleave.ts';
import type { Inventory } from './inventory.ts';
import { sha256 as digestOf } from './split-report.ts';

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
   * The server has the report with this digest and returned its update ids. If it had to request an unchanged
   * report, it has lost the plans too. Of a changed report only those updates are planned again that are new to the
   * server or whose closure it changed.
   */
  reported(
    ecosystem: Ecosystem,
    report: { sha256: string; updates: InventoryAnswer['updates']; isAskedFor: boolean },
  ): void;
  /** Ecosystems whose report has to be sent once more for its ids. */
  lackingIds(): Ecosystem[];
  /** What is left to be planned: security updates first, and others among them, so that none waits for ever. */
  open(ecosystem: Ecosystem): UpdateGroup[];
  hasOpen(): boolean;
  /**
   * Planned or unplannable. Not tried again until the report says something else about a package of the closure;
   * without a closure, until the report changes at all.
   */
  close(ecosystem: Ecosystem, group: UpdateGroup, closure: readonly string[] | null): void;
  /** Persists the closed updates. */
  save(): void;
  /** A plan turned out to be wrong: plans must be made again. */
  forget(): void;
}

/** A finished update. */
interface Closed {
  ids: readonly string[];
  /** Names of the packages in its plan; null where there is no plan, or too many. */
  closure: readonly string[] | null;
  /** Digest of what the report says about them. */
  rows: string;
}

interface Progress {
  sha256: string;
  closed: Map<string, Closed>;
  /** Null when they are to be asked for. */
  ids: ReadonlyMap<string, readonly string[]> | null;
}

const MEMORY_MAX_BYTES = 4 * 1024 * 1024;
/** Larger closures are planned again whenever the report changes: the memory stays small. */
const CLOSURE_MAX_NAMES = 200;
const Entry = strict({
  key: Type.String({ maxLength: 1_024 }),
  ids: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100 }),
  closure: Type.Union([Type.Null(), Type.Array(PackageName, { maxItems: CLOSURE_MAX_NAMES })]),
  rows: Sha256Hex,
});
const Memory = strict({ sha256: Sha256Hex, closed: Type.Array(Entry) });

/** Opens the state in a folder; without it all updates are planned again. */
export function openPlans(dependencies: {
  folder: string;
  drivers: readonly EcosystemDriver[];
  inventory: Pick<Inventory, 'updates' | 'digests' | 'rowsOf'>;
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

  function unclosed(ecosystem: Ecosystem, closed: ReadonlyMap<string, Closed>): UpdateGroup[] {
    const ids = progressOf(ecosystem)?.ids ?? null;
    const groups = [...groupUpdates(ecosystem, inventory.updates(ecosystem))]
      .filter(([key]) => !closed.has(key))
      .map(([key, updates]) => ({ key, updates, ids: ids?.get(key) ?? [] }));
    return interleave(groups, isSecurity);
  }

  const digestOfRows = (ecosystem: Ecosystem, closure: readonly string[]) =>
    digestOf(canonicalJson(inventory.rowsOf(ecosystem, new Set(closure))));

  /** What a changed report leaves as it was: the same rows on the server, and every package of the closure. */
  function keepUnchanged(
    ecosystem: Ecosystem,
    closed: ReadonlyMap<string, Closed>,
    ids: ReadonlyMap<string, readonly string[]>,
  ): Map<string, Closed> {
    const kept = new Map<string, Closed>();
    for (const [key, one] of closed) {
      const isSame = one.ids.length > 0 && one.ids.join(' ') === (ids.get(key) ?? []).join(' ');
      if (isSame && one.closure !== null && digestOfRows(ecosystem, one.closure) === one.rows)
        kept.set(key, one);
    }
    return kept;
  }

  function closedAfter(
    ecosystem: Ecosystem,
    report: {
      before: Progress | undefined;
      sha256: string;
      ids: ReadonlyMap<string, readonly string[]>;
      isAskedFor: boolean;
    },
  ): Map<string, Closed> {
    const { before, sha256, ids, isAskedFor } = report;
    if (before === undefined) return new Map();
    if (before.sha256 !== sha256) return keepUnchanged(ecosystem, before.closed, ids);
    return isAskedFor ? new Map() : before.closed;
  }

  const open = (ecosystem: Ecosystem) => {
    const progress = progressOf(ecosystem);
    // An update that the server does not name has ended there.
    return progress === null ? [] : unclosed(ecosystem, progress.closed).filter(({ ids }) => ids.length > 0);
  };

  return {
    reported: (ecosystem, { sha256, updates, isAskedFor }) => {
      const before = progresses.get(ecosystem);
      const ids = new Map<string, string[]>();
      for (const { update_id: id, ...update } of updates) {
        const key = keyOf(ecosystem, update);
        ids.set(key, [...(ids.get(key) ?? []), id]);
      }
      const closed = closedAfter(ecosystem, { before, sha256, ids, isAskedFor });
      progresses.set(ecosystem, { sha256, closed, ids });
    },
    lackingIds: () =>
      ecosystems.filter((ecosystem) => {
        const progress = progressOf(ecosystem);
        if (progress !== null && progress.ids !== null) return false;
        return unclosed(ecosystem, progress?.closed ?? new Map()).length > 0;
      }),
    open,
    hasOpen: () => ecosystems.some((ecosystem) => open(ecosystem).length > 0),
    close: (ecosystem, { key, ids }, planned) => {
      const closure = planned === null || planned.length > CLOSURE_MAX_NAMES ? null : planned;
      const rows = digestOfRows(ecosystem, closure ?? []);
      progressOf(ecosystem)?.closed.set(key, { ids, closure, rows });
    },
    save: () => {
      for (const [ecosystem, { sha256, closed }] of progresses) {
        save(folder, ecosystem, { sha256, closed: [...closed].map(([key, one]) => ({ key, ...one })) }, log);
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
  const closed = new Map(parsed.value.closed.map(({ key, ...one }) => [key, one]));
  return { sha256: parsed.value.sha256, closed, ids: null };
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
