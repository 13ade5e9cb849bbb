import type { Db, HotRow, HotSql } from '../platform/db/engine.ts';
import { text } from '../platform/db/hot-sql.ts';
import { keysOf, ofInstalledKey } from './identity.ts';
import { type InstalledPackage, OF_HOST, type PackageRecord, type Section } from './store.ts';

/** A stored package as two texts: each text of a row costs as much as finding it. */
export interface ComparedPackage {
  /** As `installedKey` has it. */
  readonly key: string;
  /** As `comparedFacts` has it. */
  readonly facts: string;
  readonly name_key: number;
  readonly package_id: number;
}

/** Rows read per statement, because SQLite cannot be interrupted. */
const READ_ROWS = 2_000;

/** What a whole report is compared with: all packages of a section, page by page. */
export async function* comparedPackages(
  db: Db,
  { agentId, ecosystem }: Section,
): AsyncGenerator<readonly ComparedPackage[]> {
  const [first, last] = keysOf(ecosystem);
  for (let after = [first, 0]; ; ) {
    const rows = await db.run(COMPARED_PACKAGES, [agentId, ...after, last]);
    if (rows.length > 0) yield rows.map(comparedPackage);
    const end = rows.at(-1);
    if (!end || rows.length < READ_ROWS) return;
    after = [Number(end[2]), Number(end[3])];
  }
}

/** The columns in the order of COMPARED_PACKAGES. */
function comparedPackage([key, facts, nameKey, packageId]: HotRow): ComparedPackage {
  return { key: text(key), facts: text(facts), name_key: Number(nameKey), package_id: Number(packageId) };
}

export function installedOf({ key, facts, ...numbers }: ComparedPackage): InstalledPackage {
  return { ...ofInstalledKey(key), ...numbers, held: Number(facts.slice(0, facts.indexOf(':'))) };
}

/** All else that is stored of a package, first whether it is held. Lengths keep the texts apart; no report has an empty one. */
export function comparedFacts({
  held,
  source_name,
  source_version,
  origin,
}: Pick<PackageRecord, 'held' | 'source_name' | 'source_version' | 'origin'>): string {
  const [name, version] = [source_name ?? '', source_version ?? ''];
  return `${held}:${Buffer.byteLength(name)}:${Buffer.byteLength(version)}:${name}${version}${origin ?? ''}`;
}

const COMPARED = `p.name || '\n' || p.arch || '\n' || p.version,
  i.held || ':' || coalesce(octet_length(p.source_name), 0) || ':' || coalesce(octet_length(p.source_version), 0) || ':'
    || coalesce(p.source_name, '') || coalesce(p.source_version, '') || coalesce(p.origin, ''),
  i.name_key, i.package_id`;
const IN_ORDER = `ORDER BY i.name_key, i.package_id LIMIT ${READ_ROWS}`;
const COMPARED_PACKAGES: HotSql = {
  name: 'compared_packages',
  sqlite: `SELECT ${COMPARED} ${OF_HOST.sqlite}
    AND (i.name_key, i.package_id) > (?, ?) AND i.name_key <= ? ${IN_ORDER}`,
  postgres: `SELECT ${COMPARED} ${OF_HOST.postgres}
    AND (i.name_key, i.package_id) > ($2, $3) AND i.name_key <= $4 ${IN_ORDER}`,
};
