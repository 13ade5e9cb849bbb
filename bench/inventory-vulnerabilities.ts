import { sql } from 'kysely';
import { nameKey } from '../apps/server/src/installed/identity.ts';
import { internPackages } from '../apps/server/src/installed/identity-store.ts';
import { chunks } from '../apps/server/src/platform/db/chunks.ts';
import type { Database, Tx } from '../apps/server/src/platform/db/engine.ts';
import type { Tables } from '../apps/server/src/platform/db/tables.ts';
import { linkPackages, putVulnerability } from '../apps/server/src/vulnerability-index/write-store.ts';
import { drawn, identity, versionsOf } from './inventory-fill.ts';
import { waitForever } from './list-fleet.ts';

const VULNERABILITIES = 5_000;
const NAMES = 10_000;
const GROUPS = 40;
const SYSTEMS = ['9', '10', '11', '12'];
const SEVERITIES = ['low', 'medium', 'high', 'critical'];

/** Of three hosts; of four fifths of them; and of many versions of a hundred packages, as a kernel's are. */
export const RARE = 'CVE-2026-90001';
export const WIDE = 'CVE-2026-90002';
export const KERNEL = 'CVE-2026-90003';
/** A package that all images have, with five versions that are drawn evenly. */
export const WIDE_NAME = Array.from({ length: 40 }, (_, n) => n).find((n) => versionsOf(n) === 5) ?? 0;
const KERNEL_NAMES = Array.from({ length: 100 }, (_, n) => 5_000 + n);

/** An index of vulnerabilities as a pass leaves it; those of the exported names are counted, the others have drawn counts. */
export async function fillVulnerabilities(database: Database, hosts: number): Promise<void> {
  await database.transact(async (tx) => {
    await waitForever(tx, database);
    const [rare = 0] = await internPackages(tx, {
      ecosystem: 'apt',
      packages: [{ ...identity(0, 0), name: 'rare' }],
    });
    await sql`INSERT INTO installed_packages (agent_number, name_key, package_id, held)
      SELECT number, ${sql.lit(nameKey('apt', 'rare'))}, ${sql.lit(rare)}, 0 FROM bench_hosts
      WHERE n IN (10, 60, 90)`.execute(tx);
    await put(tx, { id: RARE, hosts: 3, subjects: [{ name: 'rare', version: '1.0-2' }] });
    const wide = below(WIDE_NAME);
    await put(tx, { id: WIDE, hosts: await countHosts(tx, wide), subjects: wide });
    const kernel = KERNEL_NAMES.flatMap(below);
    await put(tx, { id: KERNEL, hosts: await countHosts(tx, kernel), subjects: kernel });
  });
  const numbers = Array.from({ length: VULNERABILITIES }, (_, n) => n);
  for (const some of chunks(numbers)) {
    await database.transact(async (tx) => {
      for (const n of some) {
        const id = `CVE-2025-${10_000 + n}`;
        await put(tx, { id, hosts: 1 + (drawn(n, 11) % hosts), subjects: below(drawn(n, 12) % NAMES) });
      }
    });
  }
  // The pass that counts would find no advisory, and forget them all.
  await database.transact(async (tx) => {
    await tx.updateTable('unfixed_pass').set({ ended_at: Date.now(), took_ms: 86_400_000 }).execute();
    await tx.insertInto('unfixed_coverage').values({ group_name: '', hosts, unknown_hosts: 0 }).execute();
  });
}

interface NameVersion {
  readonly name: string;
  readonly version: string;
}

function below(name: number): NameVersion[] {
  return Array.from({ length: versionsOf(name) - 1 }, (_, version) => identity(name, version));
}

async function put(tx: Tx, of: { id: string; hosts: number; subjects: readonly NameVersion[] }) {
  const { id, hosts, subjects } = of;
  const keyed = SYSTEMS.flatMap((system) =>
    subjects.map(({ name, version }) => ({
      system,
      name,
      version,
      key: `Debian:${system}\n${name}\n${version}`,
    })),
  );
  const identities = new Map<string, number>();
  for (const some of chunks([...new Set(subjects.map(({ name }) => name))])) {
    const rows = await tx
      .selectFrom('package_identities')
      .select(['id', 'name', 'version'])
      .where('ecosystem', '=', 'apt')
      .where('name', 'in', some)
      .execute();
    for (const row of rows) identities.set(`${row.name}\n${row.version}`, row.id);
  }
  const links = keyed.flatMap(({ system, name, version, key }) => {
    const package_id = identities.get(`${name}\n${version}`);
    return package_id === undefined
      ? []
      : [{ subject: key, package_id, os_id: 'debian', os_version_id: system }];
  });
  await linkPackages(tx, links);
  const n = Number(id.slice(-5));
  const share = Math.ceil(hosts / (GROUPS + 1));
  const counts = Array.from({ length: Math.ceil(hosts / share) }, (_, i) => ({
    ...{ group_name: i === GROUPS ? '' : `group-${i}`, vulnerability_id: id },
    ...{ hosts: share, fixable: Math.floor(share / 2), waiting: 0 },
  }));
  const packages = subjects.slice(0, 1).map(({ name }) => ({
    ...{
      ecosystem: 'apt',
      distribution: 'Debian:12',
      package: name,
      installed_packages: [name],
      fixed_in: null,
    },
  }));
  const row: Omit<Tables['vulnerabilities'], 'first_seen_at'> = {
    ...{
      id,
      names: JSON.stringify([id, `DEBIAN-${id}`]),
      covers: '[]',
      summary: `What ${id} lets others do`,
    },
    ...{ severity: SEVERITIES[n % 4] ?? null, exploited: n % 50 === 0 ? 1 : 0, epss: (n % 1_000) / 1_000 },
    ...{ urgency: drawn(n, 13), packages: JSON.stringify(packages) },
    ...{ search: `${id} debian-${id} ${subjects[0]?.name}`.toLowerCase() },
    ...{ hosts, fixable: Math.floor(hosts / 2), waiting: 0, gone_at: null, digest: id },
  };
  const fixes = keyed.map(({ key }) => ({ subject: key, version: '1.4-2' }));
  const stored = { row, names: [id, `DEBIAN-${id}`], counts, fixes, subjects: keyed.map(({ key }) => key) };
  await putVulnerability(tx, { stored, isNew: true, nowMs: Date.now() });
}

async function countHosts(tx: Tx, subjects: readonly NameVersion[]): Promise<number> {
  const pairs = subjects.map(({ name, version }) => sql`(${name}, ${version})`);
  const { rows } = await sql<{ hosts: number }>`SELECT count(DISTINCT i.agent_number) AS hosts
    FROM package_identities AS p CROSS JOIN installed_packages AS i
    WHERE p.ecosystem = 'apt' AND (p.name, p.version) IN (VALUES ${sql.join(pairs)})
      AND i.package_id = p.id`.execute(tx);
  return Number(rows[0]?.hosts);
}
