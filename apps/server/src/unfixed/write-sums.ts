import { appendEvent } from '../events/append-event.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { retentionTime } from '../platform/retention/retention-clock.ts';
import { takeTurn } from '../platform/turns.ts';
import { renewClaim } from './pass-store.ts';
import { readFacts } from './read-details.ts';
import { keyOf, type RowSum } from './tally.ts';
import { rowOf } from './unfixed-row.ts';
import {
  dropGone,
  type GroupRow,
  groupRowsOf,
  putGroups,
  putRow,
  rowsAfter,
  setGone,
  type UnfixedRow,
} from './write-store.ts';

const WRITE_ROWS = 200;
/** How long a vulnerability that no host has any more keeps its times, and what operators recorded. */
export const GONE_DAYS = 90;
export const DAY_MS = 86_400_000;

export type World = Pick<Platform, 'database' | 'newId' | 'now'>;
export type Turn = { claim: string; isStopped: () => boolean };
export type Written = 'written' | 'stopped' | 'claim_lost';

/** Brings the stored counts up to date. Each transaction asks first whether this server still has the claim. */
export async function writeSums(
  platform: World,
  sums: ReadonlyMap<string, RowSum>,
  turn: Turn,
): Promise<Written> {
  const { database } = platform;
  const open = new Set(sums.keys());
  const write = async (work: (tx: Tx) => Promise<void>): Promise<Written> => {
    if (turn.isStopped()) return 'stopped';
    await takeTurn();
    return database.transact(async (tx) => {
      if (!(await renewClaim(tx, { claim: turn.claim, nowMs: platform.now() }))) return 'claim_lost';
      await work(tx);
      return 'written';
    });
  };
  for (let after = ''; ; ) {
    const rows = await rowsAfter(database.read, { after, limit: WRITE_ROWS });
    const last = rows.at(-1);
    if (!last) break;
    after = last.id;
    const pairs = rows.map((row) => ({ row, sum: sums.get(keyOfRow(row)) ?? null }));
    for (const { row } of pairs) open.delete(keyOfRow(row));
    const written = await write(await changesOf(platform, pairs));
    if (written !== 'written') return written;
  }
  for (const some of chunks([...open], WRITE_ROWS)) {
    const pairs = some.map((key) => ({ row: null, sum: sums.get(key) ?? null }));
    const written = await write(await changesOf(platform, pairs));
    if (written !== 'written') return written;
  }
  const beforeMs = (await retentionTime(platform)) - GONE_DAYS * DAY_MS;
  return write((tx) => dropGone(tx, { beforeMs, limit: WRITE_ROWS }));
}

interface Pair {
  readonly row: UnfixedRow | null;
  readonly sum: RowSum | null;
}

/** What has changed of these rows; prepared outside of the transaction, in which nothing is read. */
async function changesOf(platform: World, pairs: readonly Pair[]): Promise<(tx: Tx) => Promise<void>> {
  const db = platform.database.read;
  const nowMs = platform.now();
  const facts = await readFacts(
    db,
    pairs.flatMap(({ sum }) => (sum ? [sum.record, ...[...sum.sums].map(({ id }) => id)] : [])),
    nowMs,
  );
  const groupRows = Map.groupBy(
    await groupRowsOf(
      db,
      pairs.flatMap(({ row }) => row?.id ?? []),
    ),
    ({ unfixed_id: id }) => id,
  );
  const gone: string[] = [];
  const rows: { before: UnfixedRow | null; after: UnfixedRow }[] = [];
  const groups: GroupRow[] = [];
  for (const { row, sum } of pairs) {
    if (sum === null) {
      if (row && row.gone_at === null) gone.push(row.id);
      continue;
    }
    const after = rowOf({ sum, row, facts, nowMs, newId: platform.newId });
    if (!row || !isSame(row, after)) rows.push({ before: row, after });
    groups.push(...groupChanges({ id: after.id, sum, known: groupRows.get(after.id) ?? [], nowMs }));
  }
  return async (tx) => {
    await setGone(tx, { ids: gone, nowMs });
    for (const { before, after } of rows) {
      await putRow(tx, after, { isNew: before === null });
      for (const by of before ? fixesBetween(before, after) : []) await tellFix(platform, tx, after, by);
    }
    await putGroups(tx, groups);
  };
}

const COUNTED = [
  'hosts',
  'pending',
  'gone_at',
  'severity',
  'exploited',
  'urgency',
  'fixed_in',
  'names',
  'cves',
  'records',
  'packages',
] as const;
const TIMES = ['fix_known_at', 'fix_offered_at'] as const;

function isSame(before: UnfixedRow, after: UnfixedRow): boolean {
  return [...COUNTED, ...TIMES].every((column) => before[column] === after[column]);
}

/** Who says for the first time that there is a fix. What a host is offered takes nothing from what the database says. */
function fixesBetween(before: UnfixedRow, after: UnfixedRow): ('database' | 'update')[] {
  return [
    ...(before.fix_known_at === null && after.fix_known_at !== null ? (['database'] as const) : []),
    ...(before.fix_offered_at === null && after.fix_offered_at !== null ? (['update'] as const) : []),
  ];
}

async function tellFix(platform: World, tx: Tx, row: UnfixedRow, by: 'database' | 'update'): Promise<void> {
  const { vulnerability, distribution, package: name, hosts, pending, fixed_in } = row;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'fix_appeared', severity: 'info', component: 'security', actor: 'server' },
    content: {
      vulnerability,
      distribution,
      package: name,
      by,
      fixed_in,
      hosts,
      hosts_with_pending_fix: pending,
    },
  });
}

function groupChanges(of: {
  id: string;
  sum: RowSum;
  known: readonly GroupRow[];
  nowMs: number;
}): GroupRow[] {
  const { id, sum, known, nowMs } = of;
  const before = new Map(known.map((row) => [row.group_name, row]));
  const changes: GroupRow[] = [];
  for (const [group_name, { hosts, pending }] of sum.groups) {
    const row = before.get(group_name);
    if (group_name === '' || (row?.hosts === hosts && row.pending === pending)) continue;
    const first_seen_at = row?.first_seen_at ?? nowMs;
    changes.push({ group_name, unfixed_id: id, hosts, pending, first_seen_at });
  }
  for (const row of known) {
    if (sum.groups.has(row.group_name) || row.hosts + row.pending === 0) continue;
    changes.push({ ...row, hosts: 0, pending: 0 });
  }
  return changes;
}

function keyOfRow({ distribution, package: name, vulnerability }: UnfixedRow): string {
  return keyOf({ subject: { ecosystem: distribution, name, version: '' }, id: vulnerability });
}
