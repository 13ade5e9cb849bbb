import { type InstalledKey, installedKey } from '../installed/identity.ts';
import { changePackages, type PackageRecord, packagesNamed, type Section } from '../installed/store.ts';
import type { Tx } from '../platform/db/engine.ts';

type Row = Pick<PackageRecord, 'name' | 'version'> &
  Partial<PackageRecord> & { agent_id: string; ecosystem: string };

/** Changes what a host has installed, by what it has under these names. */
export async function changeInstalled(
  tx: Tx,
  section: Section & { nowMs: number },
  { gone = [], put = [] }: { gone?: readonly InstalledKey[]; put?: readonly PackageRecord[] },
): Promise<void> {
  const named = await packagesNamed(
    tx,
    section,
    [...gone, ...put].map(({ name }) => name),
  );
  const stored = new Map(named.map((one) => [installedKey(one), one]));
  await changePackages(tx, section, { gone, put, stored });
}

/** What hosts have installed, for tests of the steps after their reports. */
export async function insertInstalled(tx: Tx, rows: Row | readonly Row[]): Promise<void> {
  const all: readonly Row[] = 'agent_id' in rows ? [rows] : rows;
  for (const some of Map.groupBy(all, (row) => `${row.agent_id} ${row.ecosystem}`).values()) {
    const [first] = some;
    if (!first) continue;
    const { agent_id: agentId, ecosystem } = first;
    const records = some.map((row) => ({
      ...{ name: row.name, version: row.version, arch: row.arch ?? '', held: row.held ?? 0 },
      ...{ source_name: row.source_name ?? null, source_version: row.source_version ?? null },
      origin: row.origin ?? null,
    }));
    await changeInstalled(tx, { agentId, ecosystem, nowMs: 1 }, { put: records });
  }
}

export async function removeInstalled(tx: Tx, agentId: string): Promise<void> {
  const host = tx.selectFrom('inventory_agents').select('number').where('agent_id', '=', agentId);
  await tx.deleteFrom('installed_packages').where('agent_number', '=', host).execute();
}
