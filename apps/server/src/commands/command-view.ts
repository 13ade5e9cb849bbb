import type { CommandItem, CommandPackage } from '@tidegate/protocol/commands-api';
import { HookRun, ProbesAround } from '@tidegate/protocol/probes';
import { RestartReport } from '@tidegate/protocol/restarts';
import { KeptWayBack } from '@tidegate/protocol/rollbacks';
import { CommandAction, CommandStatus } from '@tidegate/protocol/states';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { Db } from '../platform/db/engine.ts';
import { updatesOfCommand } from './named-updates.ts';
import { firstPackages } from './packages-store.ts';
import type { HostedCommand } from './store.ts';

/** Commands for operators, with the packages that they change. */
export async function commandItems(db: Db, rows: readonly HostedCommand[]): Promise<CommandItem[]> {
  const packages = await firstPackages(
    db,
    rows.map(({ id }) => id),
  );
  return rows.map((row) => commandItem(row, packages.get(row.id) ?? []));
}

export async function oneCommandItem(db: Db, row: HostedCommand): Promise<CommandItem> {
  return commandItem(row, (await firstPackages(db, [row.id])).get(row.id) ?? []);
}

/** Without the envelope, which is only for the agent. */
function commandItem(row: HostedCommand, first: CommandPackage[]): CommandItem {
  const params: unknown = JSON.parse(row.params);
  const updateIds = [...updatesOfCommand(row)];
  return {
    id: row.id,
    agent_id: row.agent_id,
    hostname: row.hostname,
    action: Value.Parse(CommandAction, row.action),
    params,
    update_ids: updateIds,
    packages: { total: updateIds.length, first },
    status: Value.Parse(CommandStatus, row.status),
    seq: row.seq,
    created_by: row.created_by,
    created_at: rfc3339(row.created_at),
    not_before: rfc3339(row.not_before),
    expires_at: rfc3339(row.expires_at),
    sent_at: timeOf(row.sent_at),
    received_at: timeOf(row.received_at),
    started_at: timeOf(row.started_at),
    installing_at: timeOf(row.installing_at),
    finished_at: timeOf(row.finished_at),
    reason: row.reason,
    exit_code: row.exit_code,
    output_tail: row.output_tail,
    way_back: row.way_back === null ? null : Value.Parse(KeptWayBack, JSON.parse(row.way_back)),
    restarts: row.restarts === null ? null : Value.Parse(RestartReport, JSON.parse(row.restarts)),
    probes: row.probes ? Value.Parse(ProbesAround, JSON.parse(row.probes)) : null,
    hooks: row.hooks ? Value.Parse(Type.Array(HookRun), JSON.parse(row.hooks)) : null,
  };
}

function timeOf(ms: number | null): string | null {
  return ms === null ? null : rfc3339(ms);
}
