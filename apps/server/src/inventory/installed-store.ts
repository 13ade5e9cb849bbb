import {
  INSTALLED_SORT_DEFAULT,
  INSTALLED_SORTS,
  type InstalledSort,
} from '@tidegate/protocol/inventory-api';
import { directionOf, TOTAL_MAX } from '@tidegate/protocol/lists-api';
import type { Ecosystem } from '@tidegate/protocol/scalars';
import type { VulnerabilityVerdict } from '@tidegate/protocol/states';
import { type RawBuilder, type Selectable, type SqlBool, sql } from 'kysely';
import { nameKeys } from '../installed/identity.ts';
import { chunks } from '../platform/db/chunks.ts';
import type { Db } from '../platform/db/engine.ts';
import { isBehind, type Order, type Position, sortedBy } from '../platform/db/keyset.ts';
import { containing } from '../platform/db/like.ts';
import type { Tables } from '../platform/db/tables.ts';
import { isOpenUpdate } from '../updates/open-schema.ts';
import type { ReportRow } from './store.ts';

export interface InstalledSelection {
  readonly agentId: string;
  readonly filter: {
    readonly q?: string | undefined;
    readonly ecosystem?: Ecosystem | undefined;
    readonly hasUpdate?: boolean | undefined;
    readonly verdict?: VulnerabilityVerdict | undefined;
  };
}

export interface InstalledPage extends InstalledSelection {
  readonly order: Order;
  readonly limit: number;
  readonly after: Position | null;
}

export type InstalledRow = Selectable<Tables['host_packages']>;
export type OfferRow = Pick<
  Selectable<Tables['updates']>,
  | 'id'
  | 'ecosystem'
  | 'name'
  | 'arch'
  | 'current_version'
  | 'available_version'
  | 'state'
  | 'verdict'
  | 'security'
>;

/** By name, then by everything else that tells two packages of a host apart. */
export function installedOrder(sort: InstalledSort = INSTALLED_SORT_DEFAULT): Order {
  const { descending } = directionOf(sort, INSTALLED_SORTS);
  return {
    parts: [
      { by: sql`p.name`, type: 'string' },
      { by: sql`p.ecosystem`, type: 'string' },
      { by: sql`p.arch`, type: 'string' },
    ],
    id: sql`p.version`,
    descending,
  };
}

export function installedPosition({ name, ecosystem, arch, version }: InstalledRow): Position {
  return { key: [name, ecosystem, arch], id: version };
}

/** The versions of packages on a host, as its last report says; without an architecture those of all. */
export async function installedVersions(
  db: Db,
  { agentId, ecosystem, names }: { agentId: string; ecosystem: string; names: readonly string[] },
): Promise<(of: { name: string; arch?: string | undefined }) => readonly string[]> {
  const rows: Pick<InstalledRow, 'name' | 'arch' | 'version'>[] = [];
  for (const some of chunks(names)) {
    const query = db.selectFrom('host_packages').select(['name', 'arch', 'version']);
    const own = query.where('agent_id', '=', agentId).where('name_key', 'in', nameKeys(ecosystem, some));
    rows.push(...(await own.where('ecosystem', '=', ecosystem).where('name', 'in', some).execute()));
  }
  const byName = Map.groupBy(rows, ({ name }) => name);
  return ({ name, arch }) =>
    (byName.get(name) ?? [])
      .filter((row) => arch === undefined || arch === '' || row.arch === arch)
      .map(({ version }) => version);
}

/**
 * Packages of one host in order, and their total, counted up to one more than TOTAL_MAX. A host's packages
 * are one range of the primary key, and few enough to be sorted.
 */
export async function listInstalled(
  db: Db,
  page: InstalledPage,
): Promise<{ rows: InstalledRow[]; count: number }> {
  const { order, after, limit } = page;
  const where = conditionsOf(page);
  const behind = after === null ? [] : [isBehind(order, after)];
  const { rows } = await sql<InstalledRow>`SELECT p.* FROM host_packages AS p
    WHERE ${and([...where, ...behind])} ORDER BY ${sortedBy(order)} LIMIT ${limit}`.execute(db);
  const counted = await sql<{ total: number }>`SELECT count(*) AS total FROM
    (SELECT 1 FROM host_packages AS p WHERE ${and(where)} LIMIT ${TOTAL_MAX + 1}) AS counted`.execute(db);
  return { rows, count: Number(counted.rows[0]?.total) };
}

/** The open updates of a host for packages of these names; the newest first. */
export async function openOffers(
  db: Db,
  { agentId, names }: { agentId: string; names: readonly string[] },
): Promise<OfferRow[]> {
  if (names.length === 0) return [];
  return db
    .selectFrom('updates')
    .select(['id', 'ecosystem', 'name', 'arch', 'current_version', 'available_version'])
    .select(['state', 'verdict', 'security'])
    .where('agent_id', '=', agentId)
    .where('name', 'in', names)
    .where(sql.raw<SqlBool>(isOpenUpdate('state')))
    .orderBy('id', 'desc')
    .execute();
}

/** The newest report of each ecosystem of a host. */
export async function listReports(db: Db, agentId: string): Promise<ReportRow[]> {
  return db
    .selectFrom('inventory_reports')
    .selectAll()
    .where('agent_id', '=', agentId)
    .orderBy('ecosystem')
    .execute();
}

type Condition = RawBuilder<SqlBool>;

function conditionsOf({
  agentId,
  filter: { q, ecosystem, hasUpdate, verdict },
}: InstalledSelection): Condition[] {
  return [
    sql<SqlBool>`p.agent_id = ${agentId}`,
    ...(ecosystem === undefined ? [] : [sql<SqlBool>`p.ecosystem = ${ecosystem}`]),
    ...(q === undefined ? [] : [sql<SqlBool>`lower(p.name) LIKE ${containing(q)} ESCAPE '\\'`]),
    ...(hasUpdate === undefined
      ? []
      : [hasUpdate ? hasOffer(agentId, []) : sql<SqlBool>`NOT ${hasOffer(agentId, [])}`]),
    ...(verdict === undefined ? [] : [hasOffer(agentId, [sql<SqlBool>`u.verdict = ${verdict}`])]),
  ];
}

/**
 * Whether an update is for this package; `isOfferOf` is the same for rows. What the host is offered is gathered beforehand: it may
 * have thousands of versions and of updates of one package, and looking for its updates at each version would take the product.
 */
function hasOffer(agentId: string, more: readonly Condition[]): Condition {
  const offers = sql`(SELECT u.ecosystem, u.name, u.current_version, u.arch FROM updates AS u
    WHERE ${and([sql<SqlBool>`u.agent_id = ${agentId}`, sql.raw<SqlBool>(isOpenUpdate('u.state')), ...more])})`;
  return sql<SqlBool>`((p.ecosystem, p.name, p.version, p.arch) IN ${offers} OR (p.ecosystem, p.name, p.version, '') IN ${offers})`;
}

/** An update without an architecture matches any, as in a scan. */
export function isOfferOf(offer: OfferRow, installed: InstalledRow): boolean {
  return (
    offer.ecosystem === installed.ecosystem &&
    offer.name === installed.name &&
    (offer.arch === installed.arch || offer.arch === '') &&
    offer.current_version === installed.version
  );
}

function and(conditions: readonly Condition[]): RawBuilder<unknown> {
  return sql.join([...conditions], sql` AND `);
}
