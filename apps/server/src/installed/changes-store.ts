import { sql } from 'kysely';
import type { Db, HotSql, Tx } from '../platform/db/engine.ts';
import { hotSql } from '../platform/db/hot-sql.ts';
import type { PackageIdentity } from './identity.ts';

/** Changes that are kept of one host: a release upgrade of 2,000 packages leaves 4,000. */
export const CHANGES_MAX = 5_000;
/** How long changes are kept: two quarters, which audits ask about. */
export const CHANGES_DAYS = 180;

/** Stored: a number never changes its meaning. */
const NUMBERS = { removed: 0, added: 1, held: 2 } as const;
type ChangeKind = keyof typeof NUMBERS;

export interface Change {
  readonly packageId: number;
  /** `held`: held or no longer held by the package manager, as `held` says. */
  readonly change: ChangeKind;
  /** After the change; of a removed package, before it. */
  readonly held: number;
  /** Of an added package, what was removed for it and was held alike: of the same name and architecture. Counts as a change. */
  readonly replacedId?: number;
}

/** Appends to a host's history, whose lock the caller holds, and drops what exceeds CHANGES_MAX. */
export async function recordChanges(
  tx: Tx,
  { agentNumber, changes, nowMs }: { agentNumber: number; changes: readonly Change[]; nowMs: number },
): Promise<void> {
  if (changes.length === 0) return;
  const places = changes.map(({ replacedId }) => (replacedId === undefined ? 1 : 2));
  const count = places.reduce((sum, some) => sum + some, 0);
  const [counted] = await tx.run(COUNT_CHANGES, [count, agentNumber]);
  if (!counted) throw new Error('a host without a number has no history');
  const newest = Number(counted[0]);
  let position = newest - count;
  await tx.runEach(
    ADD_CHANGE,
    changes.map(({ packageId, change, held, replacedId = null }, i) => {
      position += places[i] ?? 0;
      return [agentNumber, position, packageId, NUMBERS[change], held, nowMs, replacedId];
    }),
  );
  await forgetChanges(tx, { agentNumber, upTo: newest - CHANGES_MAX });
}

const COUNT_CHANGES = hotSql(
  'count_changes',
  'UPDATE inventory_agents SET changes = changes + ? WHERE number = ? RETURNING changes',
);

const CHANGE_COLUMNS = '(agent_number, position, package_id, change, held, changed_at, replaced_id)';
const ADD_CHANGE: HotSql = {
  name: 'add_change',
  sqlite: `INSERT INTO inventory_changes ${CHANGE_COLUMNS} VALUES (?, ?, ?, ?, ?, ?, ?)`,
  postgres: `INSERT INTO inventory_changes ${CHANGE_COLUMNS} SELECT * FROM
    unnest($1::integer[], $2::integer[], $3::integer[], $4::smallint[], $5::smallint[], $6::bigint[],
      $7::integer[])`,
};

/** Deletes a host's changes up to a position. From the latest of them on, what it had is no longer known. */
export async function forgetChanges(
  tx: Tx,
  { agentNumber, upTo }: { agentNumber: number; upTo: number },
): Promise<number> {
  if (upTo <= 0) return 0;
  // Reports of two ecosystems may be written at once: the latest time is not always that of the last position.
  const { latest } = await tx
    .selectFrom('inventory_changes')
    .select((e) => e.fn.max<number | null>('changed_at').as('latest'))
    .where('agent_number', '=', agentNumber)
    .where('position', '<=', upTo)
    .executeTakeFirstOrThrow();
  if (latest === null) return 0;
  const since = Number(latest);
  const { numDeletedRows } = await tx
    .deleteFrom('inventory_changes')
    .where('agent_number', '=', agentNumber)
    .where('position', '<=', upTo)
    .executeTakeFirst();
  await tx
    .updateTable('inventory_reports')
    .set({ changes_since: since })
    .where('changes_since', '<', since)
    .where('agent_id', '=', (e) =>
      e.selectFrom('inventory_agents').select('agent_id').where('number', '=', agentNumber),
    )
    .execute();
  return Number(numDeletedRows);
}

/** A change of a host's history, and the package that it is about. */
export interface RecordedChange extends PackageIdentity {
  readonly position: number;
  readonly ecosystem: string;
  readonly change: ChangeKind;
  /** As `Change` has it. */
  readonly held: number;
  readonly changed_at: number;
}

/** Rows read per statement, because SQLite cannot be interrupted. */
const READ_ROWS = 2_000;

/** All changes of a host after a time and up to another, in their order. */
export async function changesBetween(
  db: Db,
  { agentId, afterMs, untilMs }: { agentId: string; afterMs: number; untilMs: number },
): Promise<RecordedChange[]> {
  const found: RecordedChange[] = [];
  for (let position = 0; ; ) {
    const { rows } = await sql<ChangeRow>`SELECT c.position, c.change, c.held, c.changed_at,
        p.ecosystem, p.name, p.arch, p.version, p.source_name, p.source_version, p.origin,
        r.version AS was_version, r.source_name AS was_source_name,
        r.source_version AS was_source_version, r.origin AS was_origin
      FROM inventory_agents AS h CROSS JOIN inventory_changes AS c CROSS JOIN package_identities AS p
      LEFT JOIN package_identities AS r ON r.id = c.replaced_id
      WHERE h.agent_id = ${agentId} AND c.agent_number = h.number AND c.position > ${position}
        AND c.changed_at > ${afterMs} AND c.changed_at <= ${untilMs} AND p.id = c.package_id
      ORDER BY c.position LIMIT ${READ_ROWS}`.execute(db);
    found.push(...rows.flatMap(changesOf));
    const last = rows.at(-1);
    if (!last || rows.length < READ_ROWS) return found;
    position = last.position;
  }
}

interface ChangeRow extends Omit<RecordedChange, 'change'> {
  readonly change: number;
  /** What is recorded of the package that was replaced; null: none was. */
  readonly was_version: string | null;
  readonly was_source_name: string | null;
  readonly was_source_version: string | null;
  readonly was_origin: string | null;
}

/** A row, or the two changes that it stands for. */
function changesOf(row: ChangeRow): RecordedChange[] {
  const { was_version, was_source_name, was_source_version, was_origin, change: kind, ...rest } = row;
  const change: RecordedChange = { ...rest, change: KINDS[kind] ?? unknownKind(kind) };
  if (was_version === null) return [change];
  const before = { source_name: was_source_name, source_version: was_source_version, origin: was_origin };
  const position = change.position - 1;
  return [{ ...change, ...before, position, change: 'removed', version: was_version }, change];
}

const KINDS: readonly ChangeKind[] = ['removed', 'added', 'held'];

function unknownKind(change: number): never {
  throw new Error(`a change of kind ${change} is not of this version`);
}

/** The position of a host's newest change; null: it has reported nothing. */
export async function newestChange(db: Db, agentId: string): Promise<number | null> {
  const row = await db
    .selectFrom('inventory_agents')
    .select('changes')
    .where('agent_id', '=', agentId)
    .executeTakeFirst();
  return row?.changes ?? null;
}

/** Hosts by number, page by page, with the last change before a time where there is one. */
export async function pageOfHistories(
  db: Db,
  { after, beforeMs, limit }: { after: number; beforeMs: number; limit: number },
): Promise<{ number: number; last: number | null }[]> {
  // The oldest change of a host tells first whether there is any: positions follow the times.
  return db
    .selectFrom('inventory_agents as h')
    .select('h.number')
    .select(
      sql<
        number | null
      >`CASE WHEN (SELECT c.changed_at FROM inventory_changes AS c WHERE c.agent_number = h.number
          ORDER BY c.position LIMIT 1) < ${beforeMs}
        THEN (SELECT max(c.position) FROM inventory_changes AS c
          WHERE c.agent_number = h.number AND c.changed_at < ${beforeMs}) END`.as('last'),
    )
    .where('h.number', '>', after)
    .orderBy('h.number')
    .limit(limit)
    .execute();
}
