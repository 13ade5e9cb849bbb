import { join } from 'node:path';
import type { InventoryAnswer, InventoryUpdate } from '@tidegate/protocol/agent-api';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { APPROVAL_MAX_UPDATES } from '@tidegate/protocol/documents';
import { type Ecosystem, PackageName, Sha256Hex, strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import type { EcosystemDriver } from '../ecosystems/ecosystem.ts';
import { errorCode, ownUid, writeDurably } from '../platform/file-layer.ts';
import type { Log } from '../platform/log.ts';
import { readTrustedJson } from '../platform/trusted-json.ts';
import { interleave } from './interleave.ts';
import type { Inventory } from './inventory.ts';
import { sha256 as digestOf } from './split-report.ts';

/** What one plan is for: an update, those of one name and version for each architecture, or a set to be joined. */
export interface UpdateGroup {
  key: string;
  updates: readonly InventoryUpdate[];
  /** What the server calls them. */
  ids: readonly string[];
  /** Several updates as one transaction; null for those whose own plan this is. */
  joint: 'security' | 'all' | null;
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
  /**
   * What is left to be planned: security updates first, and others among them, so that none waits for ever. Once each
   * has its own plan: all security updates as one transaction, and all updates.
   */
  open(ecosystem: Ecosystem): UpdateGroup[];
  hasOpen(): boolean;
  /**
   * Planned or unplannable. Not tried again until the report says something else about a package of the closure;
   * without a closure, until the report changes at all. A joint transaction does without what is not `joinable`.
   */
  close(
    ecosystem: Ecosystem,
    group: UpdateGroup,
    planned: { closure: readonly string[]; joinable: boolean } | null,
  ): void;
  /** Persists the closed updates. */
  save(): void;
  /** A plan turned out to be wrong: plans must be made again. */
  forget(): void;
}

/** Begins the keys of joint transactions; the others begin with the name of a package. */
const JOINT_KEY = 'joint ';

/** A finished update. */
interface Closed {
  ids: readonly string[];
  /** Names of the packages in its plan; null where there is no plan, or too many. */
  closure: readonly string[] | null;
  /** Digest of what the report says about them. */
  rows: string;
  /** Whether it has a plan on the server that removes nothing. */
  joinable: boolean;
}

interface Progress {
  sha256: string;
  closed: Map<string, Closed>;
  /** Null when they are to be asked for. */
  ids: ReadonlyMap<string, readonly string[]> | null;
  /** Ids of versions that are offered beside the recommended one. */
  alternatives: ReadonlySet<string>;
}

const MEMORY_MAX_BYTES = 4 * 1024 * 1024;
/** Larger closures are planned again whenever the report changes: the memory stays small. */
const CLOSURE_MAX_NAMES = 200;
const Entry = strict({
  key: Type.String({ maxLength: 1_024 }),
  ids: Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100 }),
  closure: Type.Union([Type.Null(), Type.Array(PackageName, { maxItems: CLOSURE_MAX_NAMES })]),
  rows: Sha256Hex,
  joinable: Type.Boolean(),
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
      .map(([key, updates]) => ({ key, updates, ids: ids?.get(key) ?? [], joint: null }));
    return interleave(groups, isSecurity);
  }

  /** All security updates and all updates, of each place where npm and PyPI have places, that have a plan each. */
  function jointGroups(ecosystem: Ecosystem, { ids, closed, alternatives }: Progress): UpdateGroup[] {
    const members = [...groupUpdates(ecosystem, inventory.updates(ecosystem))].flatMap(([key, updates]) => {
      const own = ids?.get(key) ?? [];
      // Of several offered versions of a package a transaction brings the one that the server recommends.
      const isJoined = own.length > 0 && !own.some((id) => alternatives.has(id));
      return isJoined && closed.get(key)?.joinable === true ? [{ updates, ids: own }] : [];
    });
    const places = Map.groupBy(members, ({ updates }) => placeOf(ecosystem, updates[0]));
    return [...places.values()].flatMap((all) => {
      const security = all.filter(isSecurity);
      return [
        jointGroup('all', all),
        ...(security.length < all.length ? [jointGroup('security', security)] : []),
      ];
    });
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
    if (progress === null) return [];
    // An update that the server does not name has ended there.
    const single = unclosed(ecosystem, progress.closed).filter(({ ids }) => ids.length > 0);
    if (single.length > 0) return single;
    return jointGroups(ecosystem, progress).filter(
      ({ key, ids }) => ids.length > 1 && !progress.closed.has(key),
    );
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
      const alternatives = new Set(
        updates.filter((update) => update.alternative).map(({ update_id: id }) => id),
      );
      progresses.set(ecosystem, { sha256, closed, ids, alternatives });
    },
    lackingIds: () =>
      ecosystems.filter((ecosystem) => {
        const progress = progressOf(ecosystem);
        if (progress !== null && progress.ids !== null) return false;
        const closed = progress?.closed ?? new Map<string, Closed>();
        return unclosed(ecosystem, closed).length > 0 || lacksJoint(closed);
      }),
    open,
    hasOpen: () => ecosystems.some((ecosystem) => open(ecosystem).length > 0),
    close: (ecosystem, { key, ids, joint }, planned) => {
      const isRemembered = planned !== null && joint === null && planned.closure.length <= CLOSURE_MAX_NAMES;
      const closure = isRemembered ? planned.closure : null;
      const rows = digestOfRows(ecosystem, closure ?? []);
      const joinable = planned?.joinable ?? false;
      // A joint transaction is planned again with each changed report: its key says which updates it joins.
      progressOf(ecosystem)?.closed.set(key, { ids: joint === null ? ids : [], closure, rows, joinable });
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
  return hasPlaces(ecosystem) ? `${name} ${version} ${arch ?? ''}` : `${name} ${version}`;
}

/** Whether there are updates to be joined, and nothing has been joined yet. */
function lacksJoint(closed: ReadonlyMap<string, Closed>): boolean {
  const joinable = [...closed.values()].filter((one) => one.joinable && one.ids.length > 0);
  return joinable.length > 1 && ![...closed.keys()].some((key) => key.startsWith(JOINT_KEY));
}

function placeOf(ecosystem: Ecosystem, update: InventoryUpdate | undefined): string {
  return hasPlaces(ecosystem) ? (update?.arch ?? '') : '';
}

function hasPlaces(ecosystem: Ecosystem): boolean {
  return ecosystem === 'npm' || ecosystem === 'pypi';
}

function jointGroup(
  joint: 'security' | 'all',
  members: readonly Pick<UpdateGroup, 'updates' | 'ids'>[],
): UpdateGroup {
  const ids = members.flatMap((member) => member.ids).slice(0, APPROVAL_MAX_UPDATES);
  const updates = members.flatMap((member) => member.updates).slice(0, APPROVAL_MAX_UPDATES);
  return { key: `${JOINT_KEY}${digestOf(ids.toSorted().join(' '))}`, updates, ids, joint };
}

function isSecurity({ updates }: Pick<UpdateGroup, 'updates'>): boolean {
  return updates.some(({ security }) => security === true);
}

function load(folder: string, ecosystem: Ecosystem): Progress | null {
  const trust = { maxBytes: MEMORY_MAX_BYTES, ownerUid: ownUid(), forbiddenMode: 0o022 };
  const memory = readTrustedJson(memoryPath(folder, ecosystem), Memory, trust);
  if (memory === null) return null;
  const closed = new Map(memory.closed.map(({ key, ...one }) => [key, one]));
  return { sha256: memory.sha256, closed, ids: null, alternatives: new Set() };
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
