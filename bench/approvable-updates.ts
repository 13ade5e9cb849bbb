import type { PlanAction } from '@tidegate/protocol/plan';
import type { Database } from '../apps/server/src/platform/db/engine.ts';
import { insertInstalled } from '../apps/server/src/testing/installed-rows.ts';
import { planDigest } from '../apps/server/src/updates/store-plan.ts';
import { setDigest } from '../apps/server/src/updates/update-set.ts';

/** Packages in the plan of each update: the one that is updated, and those that are installed with it. */
const CLOSURE = 5;
const ROWS = 250;

/**
 * So many pending updates of each host, with their plans. The same packages on every host, each installed in one version and
 * known to be clear in both.
 */
export async function insertUpdates(
  database: Database,
  { agentIds, each }: { agentIds: readonly string[]; each: number },
): Promise<void> {
  const nowMs = Date.now();
  const closures = Array.from({ length: each }, (_, n) =>
    Array.from({ length: CLOSURE }, (__, i) => actionOf(`package-${n}-${i}`)),
  );
  await database.transact(async (tx) => {
    const names = closures.flat().map(({ name }) => name);
    const checks = names.flatMap((name) =>
      ['1.0-1', '1.1-1'].map((version) => ({
        ...{ ecosystem: 'Debian:12', name, version, verdict: 'clear' as const, advisory_ids: '[]' },
        ...{ checked_at: nowMs, source: 'bench', snapshot: 'bench' },
      })),
    );
    for (const some of parts(checks)) await tx.insertInto('advisory_checks').values(some).execute();
  });
  for (const [a, agentId] of agentIds.entries()) {
    const joint = {
      id: `01900000-0000-7000-a002-${a.toString(16).padStart(12, '0')}`,
      actions: closures.flat(),
    };
    const rows = closures.map((actions, n) => {
      const serial = (a * each + n).toString(16).padStart(12, '0');
      return {
        id: `01900000-0000-7000-a000-${serial}`,
        planId: `01900000-0000-7000-a001-${serial}`,
        actions,
      };
    });
    await database.transact(async (tx) => {
      const installed = closures.flat().map(({ name }) => ({
        ...{ agent_id: agentId, ecosystem: 'apt', name, arch: 'amd64', version: '1.0-1' },
        ...{ source_name: name, source_version: '1.0-1', held: 0 },
      }));
      for (const some of parts(installed)) await insertInstalled(tx, some);
      await tx
        .insertInto('updates')
        .values(
          rows.map(({ id, planId, actions: [top] }) => ({
            ...{ id, agent_id: agentId, ecosystem: 'apt', name: top?.name ?? '', arch: 'amd64' },
            ...{ current_version: '1.0-1', available_version: '1.1-1', security: 0, state: 'pending' },
            ...{ out_of_band: 0, plan_id: planId, verdict: 'clear', discovered_at: nowMs, updated_at: nowMs },
          })),
        )
        .execute();
      await tx
        .insertInto('update_plans')
        .values(
          [joint, ...rows.map(({ planId, actions }) => ({ id: planId, actions }))].map(({ id, actions }) => ({
            ...{ id, agent_id: agentId, resolved_at: nowMs, received_at: nowMs },
            ...{ actions: JSON.stringify(actions), plan_sha256: planDigest({ actions }) },
          })),
        )
        .execute();
      const set = { set_sha256: setDigest(rows.map(({ id }) => id)), plan_id: joint.id, set_at: nowMs };
      await tx.insertInto('plan_sets').values(set).execute();
    });
  }
}

function actionOf(name: string): PlanAction {
  return {
    action: 'upgrade',
    name,
    arch: 'amd64',
    from_version: '1.0-1',
    to_version: '1.1-1',
    source_name: name,
    source_version: '1.1-1',
    origin: 'Debian:12/stable',
    artifact: {
      filename: `${name}_1.1-1_amd64.deb`,
      url: `http://deb.debian.org/debian/pool/main/p/${name}_1.1-1_amd64.deb`,
      size_bytes: 123_456,
      sha256: Buffer.from(name.padEnd(32, '-')).toString('hex').slice(0, 64),
    },
  };
}

function parts<T>(rows: readonly T[]): T[][] {
  const found: T[][] = [];
  for (let i = 0; i < rows.length; i += ROWS) found.push(rows.slice(i, i + ROWS));
  return found;
}
