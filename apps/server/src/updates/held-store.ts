import type { PolicyScope } from '@tidegate/protocol/policies-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { isReported } from '@tidegate/protocol/tags-api';
import type { UpdateFilter } from '@tidegate/protocol/updates-api';
import { type RawBuilder, type SqlBool, sql } from 'kysely';
import { Value } from 'typebox/value';
import { hasTag } from '../agents/filter-store.ts';
import { type NamedPackage, namesPackage } from '../holds/hold-rules.ts';
import { holdsInForce } from '../holds/store.ts';
import type { Database, Db } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type HeldUpdates, isTrue, type UpdateListFilter } from './filter-store.ts';

type Condition = RawBuilder<SqlBool>;
type Engine = Database['engine'];
type Deps = Pick<Platform, 'database' | 'now'>;

const NEVER = sql<SqlBool>`1 = 0`;

/** Looks up the holds of a filter that asks for what they keep back. */
export async function withHeld<F extends Pick<UpdateFilter, 'held'>>(
  deps: Deps,
  { held, ...filter }: F,
): Promise<Omit<F, 'held'> & Pick<UpdateListFilter, 'held'>> {
  if (held === undefined) return filter;
  return { ...filter, held: { ...(await heldUpdates(deps)), wanted: isTrue(held) } };
}

async function heldUpdates(deps: Deps): Promise<HeldUpdates> {
  const kept = await keptNow(deps);
  const { engine } = deps.database;
  if (kept.length === 0) return { isHeld: NEVER, isAmong: NEVER };
  const packages = kept.flatMap((one) => one.packages);
  return {
    isHeld: sql<SqlBool>`u.state || '' = 'pending' AND EXISTS (SELECT 1 FROM agents AS a WHERE a.id = u.agent_id
      AND a.status = 'active' AND a.deleted_at IS NULL AND ${isKept(kept, engine)})`,
    isAmong: isOneOf(packages, engine),
  };
}

/** Packages that are on hold on the same hosts. */
interface Kept {
  readonly scope: PolicyScope;
  readonly packages: readonly NamedPackage[];
}

/** The packages of which updates wait and that are on hold somewhere at this moment, by the scopes of their holds. */
export async function keptNow({ database, now }: Deps): Promise<Kept[]> {
  const holds = await holdsInForce(database.read, now());
  if (holds.length === 0) return [];
  const pending = await pendingPackages(database.read);
  const byScope = Map.groupBy(holds, ({ scope }) => JSON.stringify(scope));
  return [...byScope.values()].flatMap((alike) => {
    const packages = pending.filter((one) => alike.some((hold) => namesPackage(hold, one)));
    const scope = alike[0]?.scope;
    return scope && packages.length > 0 ? [{ scope, packages }] : [];
  });
}

/** The packages of which updates wait somewhere. */
export async function pendingPackages(db: Db): Promise<NamedPackage[]> {
  const { rows } = await sql<{ ecosystem: string; name: string }>`SELECT ecosystem, name FROM package_counts
    GROUP BY ecosystem, name HAVING sum(pending) > 0`.execute(db);
  return rows.map(({ ecosystem, name }) => ({ ecosystem: Value.Parse(Ecosystem, ecosystem), name }));
}

/** Whether a hold names the package of update `u`, and host `a`. Never NULL, so that it can be negated. */
export function isKept(kept: readonly Kept[], engine: Engine): Condition {
  return anyOf(
    kept.map(
      ({ scope, packages }) => sql<SqlBool>`(${isOneOf(packages, engine)} AND ${isIn(scope, engine)})`,
    ),
  );
}

/** One parameter, however many packages there are: SQLite binds at most 32,766. */
function isOneOf(packages: readonly NamedPackage[], engine: Engine): Condition {
  const pairs = JSON.stringify(packages.map(({ ecosystem, name }) => [ecosystem, name]));
  const rows =
    engine === 'sqlite'
      ? sql`SELECT value ->> 0, value ->> 1 FROM json_each(${pairs})`
      : sql`SELECT pair ->> 0, pair ->> 1 FROM json_array_elements(${pairs}::json) AS pair`;
  return sql<SqlBool>`(u.ecosystem, u.name) IN (${rows})`;
}

function isIn(scope: PolicyScope, engine: Engine): Condition {
  if (scope.kind === 'all') return sql<SqlBool>`1 = 1`;
  const { groups, hosts, tags = [] } = scope;
  const among = (column: string, texts: readonly string[]) => {
    const json = JSON.stringify(texts);
    const rows =
      engine === 'sqlite'
        ? sql`SELECT value FROM json_each(${json})`
        : sql`SELECT json_array_elements_text(${json}::json)`;
    return sql<SqlBool>`(${sql.ref(column)} IS NOT NULL AND ${sql.ref(column)} IN (${rows}))`;
  };
  return anyOf([
    ...(groups.length > 0 ? [among('a.group_name', groups)] : []),
    ...(hosts.length > 0 ? [among('a.id', hosts)] : []),
    ...tags.filter((tag) => !isReported(tag)).map((tag) => hasTag(tag, 'many')),
  ]);
}

function anyOf(conditions: readonly Condition[]): Condition {
  return conditions.length === 0 ? NEVER : sql<SqlBool>`(${sql.join(conditions, sql` OR `)})`;
}
