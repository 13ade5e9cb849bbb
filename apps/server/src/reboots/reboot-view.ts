import { RebootBlocker, ServiceUnit, UnitOutcome } from '@tidegate/protocol/reboots';
import type { HostReboot, RebootWait } from '@tidegate/protocol/reboots-api';
import { type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { HostedReboot } from './store.ts';

export function rebootView(row: HostedReboot, waitsFor: RebootWait | null): HostReboot {
  const { id, agent_id, hostname, kind, state, reason, warn_minutes, asked_by, attempts } = row;
  return {
    ...{ id, agent_id, hostname, kind, state, reason, warn_minutes, asked_by, attempts },
    waits_for: waitsFor,
    ...{ asked_at: rfc3339(row.asked_at), deadline: rfc3339(row.deadline_at) },
    ...{ boot_id: row.boot_id, new_boot_id: row.new_boot_id, not_before: rfc3339(row.not_before) },
    units: listOf(ServiceUnit, row.units),
    outcomes: listOf(UnitOutcome, row.outcomes),
    blockers: listOf(RebootBlocker, row.blockers),
    ...{ detail: row.detail, command_id: row.command_id },
    ended_at: row.ended_at === null ? null : rfc3339(row.ended_at),
  };
}

function listOf<T extends TSchema>(item: T, json: string | null) {
  return json === null ? null : Value.Parse(Type.Array(item), JSON.parse(json));
}
