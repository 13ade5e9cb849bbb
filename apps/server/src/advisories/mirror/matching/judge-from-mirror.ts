import { setImmediate as turn } from 'node:timers/promises';
import type { Platform } from '../../../platform/platform.ts';
import { type Check, saveChecks } from '../../store.ts';
import { type Subject, subjectKey } from '../../subjects.ts';
import { hasAdvisoriesOf } from '../coverage.ts';
import { readLoads } from '../loading/store.ts';
import { baseOf, isUsable, type Snapshot, snapshotId, snapshotMark } from '../snapshot.ts';
import { lockSnapshot, readSnapshots, showRecords } from '../store.ts';
import { createEntryReader } from './entry-store.ts';
import { createGroups, type Group, type Match } from './match-entries.ts';

/** Packages whose entries are read together. */
const NAMES_AT_ONCE = 50;
/** Packages judged and stored together: more would permanently enlarge V8's heap. */
const SUBJECTS_AT_ONCE = 500;

/**
 * Why the mirror has no answer. `loading`: the first load is under way. `absent`: no data of that release. `stale`: too
 * old for a decision. `changed`: the data changed since it was read. `unreadable`: an unreadable record may affect the
 * package.
 */
export type Gap = 'loading' | 'absent' | 'stale' | 'changed' | 'unreadable';

interface Left {
  readonly subject: Subject;
  readonly gap: Gap;
}

export interface MirrorAnswer {
  /** Subjects without a stored check that a decision may rest on. */
  readonly left: ReadonlyMap<string, Left>;
  /** The `snapshotMark` of each queried ecosystem. */
  readonly snapshots: ReadonlyMap<string, string>;
}

export interface MirrorJudge {
  /** Judges distinct subjects from the database alone and stores the checks, as of the snapshot's time. */
  judge(subjects: readonly Subject[]): Promise<MirrorAnswer>;
}

export interface MirrorJudgeOptions {
  readonly platform: Platform;
  readonly maxAgeMs: number;
  /** Whether missing answers are stored as unchecked: not if the API may have them. */
  readonly isAlone: boolean;
  /** Whether missing data is being fetched; false when data comes only from files. */
  readonly isFetching: boolean;
}

export function createMirrorJudge(options: MirrorJudgeOptions): MirrorJudge {
  const { platform, maxAgeMs, isAlone, isFetching } = options;
  const groups = createGroups();
  const readEntries = createEntryReader(platform.database);
  /** Advisories whose records are already stored for display, for one snapshot. */
  let shown = { snapshot: '', ids: new Set<string>() };
  let coverage = { snapshot: '', covered: new Map<string, boolean>() };

  async function judgeBase(snapshot: Snapshot, subjects: readonly Subject[]): Promise<Left[]> {
    const left: Left[] = [];
    for (let i = 0; i < subjects.length; i += SUBJECTS_AT_ONCE) {
      const some = subjects.slice(i, i + SUBJECTS_AT_ONCE);
      left.push(...(await judgeSome(snapshot, some)));
    }
    platform.log.debug('judged from the mirror', { ecosystem: snapshot.base, packages: subjects.length });
    return left;
  }

  async function judgeSome(snapshot: Snapshot, subjects: readonly Subject[]): Promise<Left[]> {
    const byName = await groupsOf(snapshot, new Set(subjects.map(({ name }) => name)));
    const fresh = isUsable(snapshot, { nowMs: platform.now(), maxAgeMs });
    const covered = new Set<string>();
    for (const eco of new Set(subjects.map(({ ecosystem }) => ecosystem))) {
      if (await isCovered(snapshot, eco)) covered.add(eco);
    }
    const left: Left[] = [];
    const checks: Check[] = [];
    const known = { checkedAtMs: snapshot.asOfMs, source: 'mirror', snapshot: snapshotId(snapshot) };
    const isWhole = snapshot.unreadable.length === 0;
    for (const subject of subjects) {
      const match = byName.get(subject.name)?.match(subject) ?? NOTHING;
      const verdict = verdictOf(match, { isCovered: covered.has(subject.ecosystem), isWhole });
      const gap = gapOf(verdict, { fresh, isWhole });
      if (gap !== null) left.push({ subject, gap });
      // Too old for "clear", but a known vulnerability stays known.
      if (gap !== null && verdict.verdict !== 'vulnerable') continue;
      checks.push({ subject, ...verdict, ...known });
    }
    const isStored = await store(snapshot, checks, { keeps: fresh ? 'findings' : 'newer' });
    return isStored ? left : subjects.map((subject) => ({ subject, gap: 'changed' }));
  }

  /** Why no decision may rest on the verdict; null when one may. */
  function gapOf({ reason }: Verdict, { fresh, isWhole }: { fresh: boolean; isWhole: boolean }): Gap | null {
    if (!fresh) return 'stale';
    if (reason === 'uncovered' && !isAlone) return 'absent';
    return reason === 'undecidable' && !isWhole && !isAlone ? 'unreadable' : null;
  }

  /** From memory if this snapshot's groups are there. */
  async function groupsOf(snapshot: Snapshot, names: ReadonlySet<string>): Promise<Map<string, Group>> {
    const id = keyOf(snapshot);
    const found = new Map<string, Group>();
    const unread: string[] = [];
    for (const name of names) {
      const group = groups.find(id, name);
      if (group) found.set(name, group);
      else unread.push(name);
    }
    // In batches: other work runs in between, and memory holds only what is kept.
    for (let i = 0; i < unread.length; i += NAMES_AT_ONCE) {
      const names = unread.slice(i, i + NAMES_AT_ONCE);
      const read = await readEntries({ loadId: snapshot.loadId, names });
      for (const name of names) found.set(name, groups.put(id, name, read.get(name) ?? []));
      await turn();
    }
    return found;
  }

  async function isCovered(snapshot: Snapshot, eco: string): Promise<boolean> {
    const id = keyOf(snapshot);
    if (coverage.snapshot !== id) coverage = { snapshot: id, covered: new Map() };
    const { covered } = coverage;
    const known = covered.get(eco);
    if (known !== undefined) return known;
    const found = await hasAdvisoriesOf(platform.database.read, snapshot, eco);
    covered.set(eco, found);
    return found;
  }

  /** False when the data has changed since it was read: a check of old data must not follow the change. */
  async function store(
    snapshot: Snapshot,
    checks: readonly Check[],
    { keeps }: { keeps: 'findings' | 'newer' },
  ): Promise<boolean> {
    const { database } = platform;
    const { loadId } = snapshot;
    const id = keyOf(snapshot);
    if (shown.snapshot !== id) shown = { snapshot: id, ids: new Set() };
    const { ids: known } = shown;
    const fresh = new Set<string>();
    for (const check of checks) for (const one of check.ids) if (!known.has(one)) fresh.add(one);
    const ids = [...fresh];
    const isStored = await database.transact(async (tx) => {
      const now = await lockSnapshot(tx, { base: snapshot.base, engine: database.engine });
      if (!now || keyOf(now) !== id) return false;
      const nowMs = platform.now();
      await showRecords(tx, { loadId, ids, nowMs });
      await saveChecks(tx, checks, { keeps, nowMs });
      return true;
    });
    if (isStored) for (const one of ids) known.add(one);
    return isStored;
  }

  return {
    async judge(subjects) {
      const snapshots = await readSnapshots(platform.database.read);
      const loads = await readLoads(platform.database.read);
      const left = new Map<string, Left>();
      const used = new Map<string, string>();
      for (const [base, some] of Map.groupBy(subjects, ({ ecosystem }) => baseOf(ecosystem))) {
        const snapshot = snapshots.get(base);
        used.set(base, snapshotMark(snapshot ?? null));
        const held = some.filter(({ ecosystem }) => snapshot?.releases.includes(ecosystem));
        const gaps = snapshot && held.length > 0 ? await judgeBase(snapshot, held) : [];
        const load = loads.get(base);
        const gap: Gap = isFetching && (load === undefined || load.error === null) ? 'loading' : 'absent';
        const unheld = some.filter(({ ecosystem }) => !snapshot?.releases.includes(ecosystem));
        for (const one of [...gaps, ...unheld.map((subject) => ({ subject, gap }))])
          left.set(subjectKey(one.subject), one);
      }
      return { left, snapshots: used };
    },
  };
}

const NOTHING: Match = { ids: [], undecidable: false };

/** Identifies the exact data: a reload of the same content has another key. */
function keyOf(snapshot: Snapshot): string {
  return `${snapshot.loadId} ${snapshotId(snapshot)}`;
}

type Verdict = Pick<Check, 'verdict' | 'reason' | 'ids'>;

function verdictOf(
  { ids, undecidable }: Match,
  { isCovered, isWhole }: { isCovered: boolean; isWhole: boolean },
): Verdict {
  if (ids.length > 0) return { verdict: 'vulnerable', reason: null, ids };
  if (undecidable) return { verdict: 'unchecked', reason: 'undecidable', ids: [] };
  // Without any entry of the release, a missing entry proves nothing.
  if (!isCovered) return { verdict: 'unchecked', reason: 'uncovered', ids: [] };
  // An unreadable record may affect any package: unknown is never safe.
  if (!isWhole) return { verdict: 'unchecked', reason: 'undecidable', ids: [] };
  return { verdict: 'clear', reason: null, ids: [] };
}
