import { ECOSYSTEMS, type Ecosystem } from '@tidegate/protocol/scalars';
import { compareVersions } from '@tidegate/versions';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import { nameKeys } from './identity.ts';

/** Rows read per statement, because SQLite cannot be interrupted. */
const READ_ROWS = 2_000;
/** Installations up to which the hosts of packages are collected; where they are on more, hosts are looked at one after another. */
const COLLECTED_MAX = 50_000;

/**
 * Identities that a statement names. A package has few versions, but what one host makes up: where there are more, the hosts that have
 * them are found before, however many that are.
 */
const NAMED_MAX = 10_000;

/** Hosts whose numbers are read before: of so few PostgreSQL should not guess how many there are. */
const NUMBERED_MAX = 1_000;

/** Packages as hosts have them: by their identities, and by the keys under which a host's packages are looked up. */
export interface InstalledPackages {
  readonly ids: readonly number[];
  readonly keys: readonly number[];
  readonly areOnMany: boolean;
  /** They are too many to be named in a statement: `numbers` has all hosts. */
  readonly areTooMany: boolean;
  /** The numbers of the hosts that have them; null where there are more than a few. */
  readonly numbers: readonly number[] | null;
  /** At least so many hosts have them, deleted ones among them: of very many only some are counted. */
  readonly hosts: number;
}

interface Asked {
  readonly name: string;
  /** Of any package manager if absent. */
  readonly ecosystem?: Ecosystem | undefined;
  /** In versions before this one, as its package manager compares them; in any if absent. */
  readonly below?: string | undefined;
}

/** Finds a package in the versions that any host has: these are few, so each is compared, and hosts are found by number. */
export async function findInstalled(
  db: Db,
  { name, ecosystem, below }: Asked,
  limits: { namedMax?: number } = {},
): Promise<InstalledPackages> {
  const found: { id: number; ecosystem: string; name: string }[] = [];
  for (const manager of managersOf(ecosystem)) {
    const isBelow = new Map<string, boolean>();
    for await (const { id, version } of identitiesNamed(db, { ecosystem: manager, name })) {
      if (below !== undefined && !isBelow.has(version))
        isBelow.set(version, compareVersions(manager, version, below) === -1);
      if (isBelow.get(version) ?? true) found.push({ id, ecosystem: manager, name });
    }
  }
  return foundPackages(db, found, limits);
}

/** Whether a package manager, or this one, can compare with such a version. */
export function isVersion(version: string, ecosystem: Ecosystem | undefined): boolean {
  return managersOf(ecosystem).some((manager) => compareVersions(manager, version, version) === 0);
}

function managersOf(ecosystem: Ecosystem | undefined): readonly Ecosystem[] {
  return ecosystem === undefined ? ECOSYSTEMS : [ecosystem];
}

async function* identitiesNamed(db: Db, { ecosystem, name }: { ecosystem: Ecosystem; name: string }) {
  const query = db
    .selectFrom('package_identities')
    .select(['id', 'version'])
    .where('ecosystem', '=', ecosystem)
    .where('name', '=', name)
    .orderBy('version')
    .orderBy('id')
    .limit(READ_ROWS);
  let page = await query.execute();
  for (;;) {
    yield* page;
    const last = page.at(-1);
    if (!last || page.length < READ_ROWS) return;
    await takeTurn();
    page = await query.where(sql<SqlBool>`(version, id) > (${last.version}, ${last.id})`).execute();
  }
}

export async function foundPackages(
  db: Db,
  found: readonly { readonly id: number; readonly ecosystem: string; readonly name: string }[],
  { namedMax = NAMED_MAX } = {},
): Promise<InstalledPackages> {
  const ids = found.map(({ id }) => id);
  const byEcosystem = Map.groupBy(found, ({ ecosystem }) => ecosystem);
  const keys = [...byEcosystem].flatMap(([ecosystem, own]) =>
    nameKeys(ecosystem, [...new Set(own.map(({ name }) => name))]),
  );
  if (ids.length === 0) return { ids, keys, areOnMany: false, areTooMany: false, numbers: [], hosts: 0 };
  if (ids.length > namedMax) {
    const all = new Set<number>();
    for (const some of chunks(ids, READ_ROWS)) {
      for (const number of await numbersOf(db, some)) all.add(number);
      await takeTurn();
    }
    return { ids, keys, areOnMany: false, areTooMany: true, numbers: [...all], hosts: all.size };
  }
  const { rows } = await sql<{ installed: number; hosts: number }>`SELECT count(*) AS installed,
      count(DISTINCT agent_number) AS hosts
    FROM (SELECT i.agent_number FROM installed_packages AS i WHERE i.package_id IN (${listOf(ids)})
      LIMIT ${COLLECTED_MAX}) AS few`.execute(db);
  const [installed, hosts] = [Number(rows[0]?.installed), Number(rows[0]?.hosts)];
  const numbers = installed > NUMBERED_MAX ? null : await numbersOf(db, ids);
  return { ids, keys, areOnMany: installed === COLLECTED_MAX, areTooMany: false, numbers, hosts };
}

async function numbersOf(db: Db, ids: readonly number[]): Promise<number[]> {
  const { rows } = await sql<{ number: number }>`SELECT DISTINCT i.agent_number AS number
    FROM installed_packages AS i WHERE i.package_id IN (${listOf(ids)})`.execute(db);
  return rows.map(({ number }) => number);
}

/**
 * Whether host `a` has one of the packages `i`, and of it what `when` asks for. Of many hosts each is probed, of few those that have
 * the packages are found first.
 */
export function hasInstalled(
  { ids, keys, areOnMany, areTooMany, numbers }: InstalledPackages,
  { matches, when }: { matches: 'few' | 'many'; when?: RawBuilder<SqlBool> },
): RawBuilder<SqlBool> {
  if (ids.length === 0 || numbers?.length === 0) return sql<SqlBool>`1 = 0`;
  // OFFSET keeps PostgreSQL from joining instead: it would read the packages of all hosts. The sum keeps both engines from looking up
  // each identity under each key.
  // What asks for something of a package says by that which are meant, where they are too many.
  const probed = sql<SqlBool>`EXISTS (SELECT 1 FROM inventory_agents AS h CROSS JOIN installed_packages AS i
    WHERE h.agent_id = a.id AND i.agent_number = h.number
      ${areTooMany ? sql`` : sql`AND i.name_key IN (${listOf(keys)}) AND (i.package_id + 0) IN (${listOf(ids)})`} ${when ? sql`AND ${when}` : sql``} LIMIT 1 OFFSET 0)`;
  if (numbers === null && (areOnMany || matches === 'many')) return probed;
  const collected =
    numbers === null
      ? sql<SqlBool>`a.id IN (SELECT h.agent_id FROM installed_packages AS i
          CROSS JOIN inventory_agents AS h WHERE i.package_id IN (${listOf(ids)}) AND h.number = i.agent_number)`
      : sql<SqlBool>`a.id IN (SELECT h.agent_id FROM inventory_agents AS h WHERE h.number IN (${listOf(numbers)}))`;
  return when ? sql<SqlBool>`(${collected} AND ${probed})` : collected;
}

/** Numbers in the text of the statement: there may be more of them than values that can be bound. */
export function listOf(numbers: readonly number[]): RawBuilder<unknown> {
  return sql.join(numbers.map((number) => sql.lit(number)));
}
