import { type RawBuilder, sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { isOpenUpdate } from './open-schema.ts';
import type { UpdateRow } from './store.ts';

/** In the states of updates of which no other version may be approved. */
const TAKEN = ['awaiting_plan', 'approved', 'installing'] as const;

/** Another version of the same package in the same place, which was approved first. */
export interface Rival {
  readonly updateId: string;
  readonly version: string;
  readonly state: (typeof TAKEN)[number];
}

type PackageColumns = Pick<UpdateRow, 'agent_id' | 'ecosystem' | 'name' | 'arch'>;

/** The package of an update in its place on its host, as one text. */
export function packageOfHost({ agent_id, ecosystem, name, arch }: PackageColumns): string {
  return [agent_id, ecosystem, name, arch].join('\n');
}

/**
 * One rival of each update that has any, by the id of the update. Whoever decides by it must hold the rows of these
 * updates and those of all versions that were offered beside them (`openVersionsOf`): of two approvals at the same
 * moment, the later one then sees the earlier one.
 */
export async function rivalsOf(db: Db, updateIds: readonly string[]): Promise<Map<string, Rival>> {
  const rivals = new Map<string, Rival>();
  for (const some of chunks(updateIds)) {
    const { rows } = await takenBeside(some).execute(db);
    if (rows.length === 0) continue;
    const taken = Map.groupBy(rows, packageOfHost);
    const asked = await db
      .selectFrom('updates')
      .select(['id', 'agent_id', 'ecosystem', 'name', 'arch'])
      .where('id', 'in', some)
      .execute();
    for (const one of asked) {
      const rival = taken.get(packageOfHost(one))?.findLast(({ updateId }) => updateId !== one.id);
      if (rival) rivals.set(one.id, rival);
    }
  }
  return rivals;
}

/** The open updates of the packages of the given ones in their places: all versions, the given ones among them. */
export async function openVersionsOf(db: Db, updateIds: readonly string[]): Promise<string[]> {
  const found: string[] = [];
  for (const some of chunks(updateIds)) {
    const { rows } = await openBeside(some).execute(db);
    found.push(...rows.map(({ updateId }) => updateId));
  }
  return [...new Set(found)];
}

function openBeside(updateIds: readonly string[]): RawBuilder<Pick<Rival, 'updateId'>> {
  return sql`SELECT o.id AS "updateId" ${fromPackages(updateIds)}`;
}

/** In ascending order of id. */
export function takenBeside(updateIds: readonly string[]): RawBuilder<Rival & PackageColumns> {
  // With the bare states in the condition, SQLite would read all approved updates of the fleet for each package.
  return sql`SELECT o.id AS "updateId", o.available_version AS version, o.state, o.agent_id, o.ecosystem, o.name, o.arch
    ${fromPackages(updateIds)} AND (o.state || '') IN (${sql.join(TAKEN)}) ORDER BY o.id`;
}

/**
 * The index of open updates finds them, package by package: a host can make up thousands of versions of one, and looking for
 * the others of each would read the square of that.
 */
function fromPackages(updateIds: readonly string[]): RawBuilder<unknown> {
  return sql`FROM (SELECT DISTINCT agent_id, ecosystem, name, arch FROM updates WHERE id IN (${sql.join(updateIds)})) AS p
    CROSS JOIN updates AS o
    WHERE o.agent_id = p.agent_id AND o.ecosystem = p.ecosystem AND o.name = p.name AND o.arch = p.arch
      AND ${sql.raw(isOpenUpdate('o.state'))}`;
}
