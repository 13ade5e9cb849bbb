import { type RawBuilder, sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';

/** Another version of the same package in the same place, which was approved first. */
export interface Rival {
  readonly updateId: string;
  readonly version: string;
  readonly state: 'awaiting_plan' | 'approved' | 'installing';
}

/** Updates of which no other version may be approved. */
const TAKEN: ReadonlySet<string> = new Set<Rival['state']>(['awaiting_plan', 'approved', 'installing']);

/**
 * One rival of each update that has any, by the id of the update. Whoever decides by it must hold the rows of these
 * updates and those of all versions that were offered beside them (`openVersionsOf`): of two approvals at the same
 * moment, the later one then sees the earlier one.
 */
export async function rivalsOf(db: Db, updateIds: readonly string[]): Promise<Map<string, Rival>> {
  const others = await otherVersionsOf(db, updateIds);
  const taken = others.filter((one): one is Rival & { of: string } => TAKEN.has(one.state));
  return new Map(taken.map(({ of, ...rival }) => [of, rival]));
}

/** The open updates of the same packages in the same places: other versions, besides the given ones. */
export async function openVersionsOf(db: Db, updateIds: readonly string[]): Promise<string[]> {
  const others = await otherVersionsOf(db, updateIds);
  return [...new Set(others.map(({ updateId }) => updateId))];
}

interface OtherVersion extends Omit<Rival, 'state'> {
  readonly of: string;
  readonly state: string;
}

/** In ascending order of id. */
async function otherVersionsOf(db: Db, updateIds: readonly string[]): Promise<OtherVersion[]> {
  const found: OtherVersion[] = [];
  for (const some of chunks(updateIds)) found.push(...(await otherVersions(some).execute(db)).rows);
  return found.toSorted((a, b) => (a.updateId < b.updateId ? -1 : 1));
}

/**
 * The index of open updates finds them. With the states of rivals in the condition, SQLite would read all approved updates
 * of the fleet for each of the given ones.
 */
export function otherVersions(updateIds: readonly string[]): RawBuilder<OtherVersion> {
  return sql<OtherVersion>`SELECT u.id AS of, o.id AS "updateId", o.available_version AS version, o.state AS state
    FROM updates AS u CROSS JOIN updates AS o
    WHERE u.id IN (${sql.join(updateIds)}) AND o.agent_id = u.agent_id AND o.ecosystem = u.ecosystem
      AND o.name = u.name AND o.arch = u.arch AND o.id <> u.id AND o.state NOT IN ('installed', 'superseded')`;
}
