import { canonicalName } from '@tidegate/versions/names';
import { sql } from 'kysely';
import { chunks, pairChunks } from '../platform/db/chunks.ts';
import type { Db, HotSql, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';
import { type SeenVersion, seenKey } from './seen-rules.ts';

/** Keeps existing rows: the first host to have a version is the first. */
export async function insertFirstSeen(tx: Tx, rows: readonly Tables['first_seen'][]): Promise<void> {
  // The same order for every writer, so that two reports do not deadlock.
  const keyed = rows.map((row) => ({ row, key: seenKey(seenOf(row)) }));
  const sorted = keyed.toSorted((a, b) => (a.key < b.key ? -1 : 1));
  for (const some of chunks(sorted.map(({ row }) => row))) {
    await tx
      .insertInto('first_seen')
      .values(some)
      .onConflict((conflict) => conflict.doNothing())
      .execute();
  }
}

/** Of these versions those that the fleet has never seen. */
export async function unseenVersions(db: Db, versions: readonly SeenVersion[]): Promise<SeenVersion[]> {
  const unseen: SeenVersion[] = [];
  for (const some of chunks(versions)) {
    const keys = some.map((one) => [one.ecosystem, one.scope, one.name, one.version, one.arch]);
    const rows = await db.run(UNSEEN, [JSON.stringify(keys)]);
    unseen.push(...rows.flatMap(([place]) => some[Number(place)] ?? []));
  }
  return unseen;
}

const SEEN = `SELECT 1 AS seen FROM first_seen AS f WHERE f.ecosystem = k.value ->> 0 AND f.scope = k.value ->> 1
  AND f.name = k.value ->> 2 AND f.version = k.value ->> 3 AND f.arch = k.value ->> 4`;
const UNSEEN: HotSql = {
  name: 'unseen_versions',
  sqlite: `SELECT k.key FROM json_each(?) AS k WHERE NOT EXISTS (${SEEN})`,
  // LIMIT: each version is looked up by its key. A plan for any number of them would rather read all of the fleet.
  postgres: `SELECT k.place - 1 FROM json_array_elements($1::json) WITH ORDINALITY AS k (value, place)
    LEFT JOIN LATERAL (${SEEN} LIMIT 1) AS s ON true WHERE s.seen IS NULL`,
};

/** When the fleet first had these versions, by `seenKey`. */
export async function readFirstSeen(db: Db, versions: readonly SeenVersion[]): Promise<Map<string, number>> {
  const wanted = new Set(versions.map(seenKey));
  const found = new Map<string, number>();
  for (const part of byScope(versions)) {
    const [first] = part;
    if (!first) continue;
    const rows = await db
      .selectFrom('first_seen')
      .selectAll()
      .where('ecosystem', '=', first.ecosystem)
      .where('scope', '=', first.scope)
      .where(
        'name',
        'in',
        part.map(({ name }) => name),
      )
      .where('version', 'in', [...new Set(part.map(({ version }) => version))])
      .execute();
    for (const row of rows) {
      const key = seenKey(seenOf(row));
      if (wanted.has(key)) found.set(key, row.first_seen_at);
    }
  }
  return found;
}

/** A row, with whether the host that brought it is gone. */
export interface SeenRow extends SeenVersion {
  readonly first_seen_at: number;
  readonly isOrphan: boolean;
}

/** Rows in key order, after the given one. */
export async function pageOfFirstSeen(
  db: Db,
  { after, limit }: { after: SeenVersion | null; limit: number },
): Promise<SeenRow[]> {
  let query = db
    .selectFrom('first_seen as f')
    .leftJoin('agents as a', (join) => join.onRef('a.id', '=', 'f.agent_id').on('a.status', '=', 'active'))
    .select(['f.ecosystem', 'f.scope', 'f.name', 'f.version', 'f.arch', 'f.first_seen_at', 'a.id as host']);
  if (after) {
    const { ecosystem, scope, name, version, arch } = after;
    query = query.where(
      sql<boolean>`(f.ecosystem, f.scope, f.name, f.version, f.arch) > (${ecosystem}, ${scope}, ${name}, ${version}, ${arch})`,
    );
  }
  const rows = await query
    .orderBy('f.ecosystem')
    .orderBy('f.scope')
    .orderBy('f.name')
    .orderBy('f.version')
    .orderBy('f.arch')
    .limit(limit)
    .execute();
  return rows.map(({ host, ...row }) => ({ ...row, isOrphan: host === null }));
}

const IS_ON_A_LIVING_HOST = sql<boolean>`EXISTS (SELECT 1 FROM installed_packages AS i
  CROSS JOIN inventory_agents AS h CROSS JOIN agents AS a
  WHERE i.package_id = p.id AND h.number = i.agent_number AND a.id = h.agent_id AND a.status = 'active')`;

/** The versions among these that a living host has or is offered, by `seenKey`, in any scope and place. */
export async function supportedVersions(db: Db, versions: readonly SeenVersion[]): Promise<Set<string>> {
  const present = new Set<string>();
  const keyOf = ({
    ecosystem,
    name,
    version,
  }: {
    ecosystem: SeenVersion['ecosystem'];
    name: string;
    version: string;
  }) => `${ecosystem}\n${canonicalName(ecosystem, name)}\n${version}`;
  for (const [ecosystem, some] of Map.groupBy(versions, (one) => one.ecosystem)) {
    const names = [...new Set(some.flatMap(({ name }) => spellingsOf(ecosystem, name)))];
    for (const part of chunks(names)) {
      const installed = await db
        .selectFrom('package_identities as p')
        .select(['p.name', 'p.version'])
        .where('p.ecosystem', '=', ecosystem)
        .where('p.name', 'in', part)
        .where(IS_ON_A_LIVING_HOST)
        .execute();
      const offered = await db
        .selectFrom('updates as u')
        .innerJoin('agents as a', 'a.id', 'u.agent_id')
        .select(['u.name', 'u.available_version as version'])
        .distinct()
        .where('a.status', '=', 'active')
        .where('u.ecosystem', '=', ecosystem)
        .where('u.name', 'in', part)
        .execute();
      for (const row of [...installed, ...offered]) present.add(keyOf({ ecosystem, ...row }));
    }
  }
  return new Set(versions.filter((one) => present.has(keyOf(one))).map(seenKey));
}

/** PEP 503 normalizes these to one name; hosts report the distribution's own spelling. */
function spellingsOf(ecosystem: SeenVersion['ecosystem'], name: string): string[] {
  return ecosystem === 'pypi' ? [name, name.replaceAll('-', '_'), name.replaceAll('-', '.')] : [name];
}

export async function deleteFirstSeen(tx: Tx, rows: readonly SeenVersion[]): Promise<void> {
  for (const { ecosystem, scope, name, version, arch } of rows) {
    await tx
      .deleteFrom('first_seen')
      .where('ecosystem', '=', ecosystem)
      .where('scope', '=', scope)
      .where('name', '=', name)
      .where('version', '=', version)
      .where('arch', '=', arch)
      .execute();
  }
}

function seenOf(row: Tables['first_seen']): SeenVersion {
  return { ...row, ecosystem: row.ecosystem };
}

/** Batches of one ecosystem and scope, each within one statement. */
function byScope(versions: readonly SeenVersion[]): SeenVersion[][] {
  const scopes = Map.groupBy(versions, ({ ecosystem, scope }) => `${ecosystem}\n${scope}`);
  return [...scopes.values()].flatMap((part) => pairChunks(part));
}
