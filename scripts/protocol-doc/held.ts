import { PROBLEM_STATUS } from '@tidegate/protocol/problems';
import { EXECUTOR_REFUSALS } from '../../apps/agent/src/jobs/job-folder.ts';
import { STATE_REFUSAL_TEXT } from '../../apps/agent/src/trust/agent-state.ts';
import { APPROVAL_REFUSAL_TEXT } from '../../apps/agent/src/trust/verify-approval.ts';
import { COMMAND_REFUSALS } from '../../apps/agent/src/trust/verify-command.ts';
import { COMMAND_TRANSITIONS } from '../../apps/server/src/commands/command-rules.ts';
import { UPDATE_TRANSITIONS } from '../../apps/server/src/updates/transition-rules.ts';
import { limitsOf, namesOf, rowsOf, typeOf } from './schema-rows.ts';
import { OBJECTS, SCALARS } from './schemas.ts';

export const NAMES = namesOf({ ...SCALARS, ...OBJECTS });

/** What each held table of docs/protocol says in its first columns. */
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
  errors: Object.entries(PROBLEM_STATUS).map(([code, status]) => [code, String(status)]),
};

function column(values: readonly string[]): string[][] {
  return values.map((value) => [value]);
}

function transitions(table: Readonly<Record<string, readonly string[]>>): string[][] {
  return Object.entries(table).map(([from, to]) => [from, to.join(', ')]);
}
