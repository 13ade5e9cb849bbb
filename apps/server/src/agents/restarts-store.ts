import { restartableUnits } from '@tidegate/protocol/reboots';
import { RestartReport } from '@tidegate/protocol/restarts';
import { Value } from 'typebox/value';
import type { Db, Tx } from '../platform/db/engine.ts';
import type { Tables } from '../platform/db/tables.ts';

export type RestartsRow = Tables['agent_restarts'];

/** Replaces what the host reported before. */
export async function saveRestarts(
  tx: Tx,
  { agentId, report, nowMs }: { agentId: string; report: RestartReport; nowMs: number },
): Promise<void> {
  const row = {
    boot_id: report.boot_id,
    services: report.services.need,
    reboot: report.reboot.need,
    restartable: restartableUnits(report.services.stale).length > 0 ? (1 as const) : (0 as const),
    report: JSON.stringify(report),
    received_at: nowMs,
  };
  await tx
    .insertInto('agent_restarts')
    .values({ agent_id: agentId, ...row })
    .onConflict((conflict) => conflict.column('agent_id').doUpdateSet(row))
    .execute();
}

export async function findRestarts(db: Db, agentId: string): Promise<RestartsRow | null> {
  const row = await db
    .selectFrom('agent_restarts')
    .selectAll()
    .where('agent_id', '=', agentId)
    .executeTakeFirst();
  return row ?? null;
}

/** Throws if the stored report is not valid. */
export function reportOf({ report }: Pick<RestartsRow, 'report'>): RestartReport {
  return Value.Parse(RestartReport, JSON.parse(report));
}

/** After a boot nothing that was seen before it holds: the host is unknown until it reports. */
export async function forgetRestarts(
  tx: Tx,
  { agentId, bootId }: { agentId: string; bootId: string },
): Promise<void> {
  await tx
    .deleteFrom('agent_restarts')
    .where('agent_id', '=', agentId)
    .where('boot_id', '<>', bootId)
    .execute();
}
