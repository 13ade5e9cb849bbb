import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { BlockReason } from '@tidegate/protocol/approvals-api';
import { AGENT_EVENT_TYPES, SECURITY_EVENT_TYPES, SYSTEM_EVENT_TYPES } from '@tidegate/protocol/event-types';
import { FLEET_LOCK_KINDS } from '@tidegate/protocol/fleet-lock';
import { PROBLEM_STATUS } from '@tidegate/protocol/problems';
import { EXECUTOR_REFUSALS } from '../../apps/agent/src/jobs/job-folder.ts';
import { STATE_REFUSAL_TEXT } from '../../apps/agent/src/trust/agent-state.ts';
import { APPROVAL_REFUSAL_TEXT } from '../../apps/agent/src/trust/verify-approval.ts';
import { COMMAND_REFUSALS } from '../../apps/agent/src/trust/verify-command.ts';
import { COMMAND_TRANSITIONS } from '../../apps/server/src/commands/command-rules.ts';
import { BUDGETS } from '../../apps/server/src/outsiders/budget-rules.ts';
import { MARKERS } from '../../apps/server/src/platform/log.ts';
import { DEFAULT_BUDGETS } from '../../apps/server/src/rate-limits/budgets.ts';
import { UPDATE_TRANSITIONS } from '../../apps/server/src/updates/transition-rules.ts';
import { LIMITS, TIMES } from './constants.ts';
import { limitsOf, namesOf, rowsOf, typeOf } from './schema-rows.ts';
import { OBJECTS, SCALARS } from './schemas.ts';

export const NAMES = namesOf({ ...SCALARS, ...OBJECTS });

/** The expected first columns of each checked table of docs/protocol. */
export const HELD: Readonly<Record<string, readonly (readonly string[])[]>> = {
  ...Object.fromEntries(Object.entries(OBJECTS).map(([name, schema]) => [name, rowsOf(schema, NAMES)])),
  types: Object.entries(SCALARS).map(([name, schema]) => [
    name,
    typeOf(schema, new Map()),
    limitsOf(schema, new Map()),
  ]),
  'command refusals': column(COMMAND_REFUSALS),
  'approval refusals': column(Object.keys(APPROVAL_REFUSAL_TEXT)),
  'state refusals': column(Object.keys(STATE_REFUSAL_TEXT)),
  'executor refusals': column(EXECUTOR_REFUSALS),
  'update transitions': transitions(UPDATE_TRANSITIONS),
  'command transitions': transitions(COMMAND_TRANSITIONS),
  'FleetLock kinds': column(FLEET_LOCK_KINDS),
  'block reasons': column(BlockReason.enum),
  'security events': column(SECURITY_EVENT_TYPES),
  'system events': column(SYSTEM_EVENT_TYPES),
  'events of agents': column(AGENT_EVENT_TYPES),
  'log markers': column(Object.values(MARKERS)),
  'rate limits': Object.entries(DEFAULT_BUDGETS).map(([name, { requests, windowSeconds }]) => [
    name,
    String(requests),
    String(windowSeconds),
  ]),
  budgets: Object.entries(BUDGETS).map(([kind, { rows, bytes }]) => [kind, String(rows), String(bytes)]),
  limits: numbers(LIMITS),
  times: numbers(TIMES),
  vectors: column(vectorFiles()),
  errors: Object.entries(PROBLEM_STATUS).map(([code, status]) => [code, String(status)]),
};

function column(values: readonly string[]): string[][] {
  return values.map((value) => [value]);
}

function numbers(values: Readonly<Record<string, number>>): string[][] {
  return Object.entries(values).map(([name, value]) => [name, String(value)]);
}

/** Every case file in the folder vectors/, relative to it. */
function vectorFiles(): string[] {
  const folder = join(import.meta.dirname, '../../vectors');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' });
  return files.filter((name) => name.endsWith('.json')).sort();
}

function transitions(table: Readonly<Record<string, readonly string[]>>): string[][] {
  return Object.entries(table).map(([from, to]) => [from, to.join(', ')]);
}
