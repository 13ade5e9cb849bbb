import { sql } from 'kysely';
import type { Tx } from '../platform/db/engine.ts';
import { identityDigest, nameKey, type PackageIdentity } from './identity.ts';

/** Rows that are read, and numbers that are remembered, at a time: a database of any size is moved in this memory. */
const PAGE = 2_000;
const REMEMBERED = 200_000;
const STATEMENT_ROWS = 250;

interface OldRow extends PackageIdentity {
  readonly agent_id: string;
  readonly ecosystem: string;
  readonly held: number;
}

/** Part of a migration: moves the packages of the first release's table, with statements of its own that never change. */
export async function movePackages(tx: Tx): Promise<void> {
  const ids = new Map<string, number>();
  for (let last: OldRow | undefined; ; ) {
    const { rows }: { rows: OldRow[] } = await sql<OldRow>`SELECT * FROM agent_packages
      ${last ? sql`WHERE (agent_id, ecosystem, name, arch, version) > (${last.agent_id}, ${last.ecosystem}, ${last.name}, ${last.arch}, ${last.version})` : sql``}
      ORDER BY agent_id, ecosystem, name, arch, version LIMIT ${PAGE}`.execute(tx);
    last = rows.at(-1);
    if (!last) return;
    if (ids.size > REMEMBERED) ids.clear();
    for (let i = 0; i < rows.length; i += STATEMENT_ROWS) {
      const some = rows.slice(i, i + STATEMENT_ROWS);
      await number(tx, { ids, rows: some });
      await install(tx, { ids, rows: some });
    }
  }
}

interface Part {
  readonly ids: Map<string, number>;
  readonly rows: readonly OldRow[];
}

function digestOf(row: OldRow): string {
  return identityDigest(row.ecosystem, row);
}

/** Gives the agents and identities of these rows numbers. A drawn number that is taken already is drawn again. */
async function number(tx: Tx, { ids, rows }: Part): Promise<void> {
  for (;;) {
    const agents = [...new Set(rows.map(({ agent_id }) => agent_id))].filter((id) => !ids.has(id));
    const unknown = new Map(rows.map((row) => [digestOf(row), row]));
    for (const digest of unknown.keys()) if (ids.has(digest)) unknown.delete(digest);
    if (agents.length + unknown.size === 0) return;
    if (agents.length > 0) {
      const values = sql.join(agents.map((id) => sql`(${id})`));
      await sql`INSERT INTO inventory_agents (agent_id) VALUES ${values} ON CONFLICT DO NOTHING`.execute(tx);
      const found = await sql<{ key: string; id: number }>`SELECT agent_id AS key, number AS id
        FROM inventory_agents WHERE agent_id IN (${sql.join(agents)})`.execute(tx);
      for (const { key, id } of found.rows) ids.set(key, id);
    }
    if (unknown.size > 0) {
      const values = [...unknown].map(
        ([digest, row]) => sql`(${digest}, ${row.ecosystem}, ${row.name}, ${row.arch}, ${row.version},
          ${row.source_name}, ${row.source_version}, ${row.origin})`,
      );
      await sql`INSERT INTO package_identities
        (digest, ecosystem, name, arch, version, source_name, source_version, origin)
        VALUES ${sql.join(values)} ON CONFLICT DO NOTHING`.execute(tx);
      const found = await sql<{ key: string; id: number }>`SELECT digest AS key, id FROM package_identities
        WHERE digest IN (${sql.join([...unknown.keys()])})`.execute(tx);
      for (const { key, id } of found.rows) ids.set(key, id);
    }
  }
}

async function install(tx: Tx, { ids, rows }: Part): Promise<void> {
  const values = rows.map(
    (row) => sql`(CAST(${ids.get(row.agent_id)} AS INTEGER),
      CAST(${nameKey(row.ecosystem, row.name)} AS INTEGER), CAST(${ids.get(digestOf(row))} AS INTEGER),
      CAST(${row.held} AS SMALLINT))`,
  );
  await sql`INSERT INTO installed_packages (agent_number, name_key, package_id, held)
    VALUES ${sql.join(values)}`.execute(tx);
}
