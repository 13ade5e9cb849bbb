import { COMMAND_PARAMS } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { Compile } from 'typebox/compile';
import type { CommandRow } from './store.ts';

const install = Compile(COMMAND_PARAMS.install_update);
const plan = Compile(COMMAND_PARAMS.plan_update);
const agent = Compile(COMMAND_PARAMS.update_agent);

/** The updates that the parameters of a command name; none if the parameters are not those of its action. */
export function namedUpdates({ action, params }: { action: string; params: unknown }): readonly string[] {
  switch (action) {
    case 'install_update':
      return install.Check(params) ? params.update_ids : [];
    case 'plan_update':
      return plan.Check(params) ? params.updates.map((update) => update.update_id) : [];
    case 'update_agent':
      return agent.Check(params) && params.update_id !== undefined ? [params.update_id] : [];
    default:
      return [];
  }
}

/** The same of a stored command, whose parameters its seal covers. */
export function updatesOfCommand({
  action,
  params,
}: Pick<CommandRow, 'action' | 'params'>): readonly string[] {
  const parsed = parseStrictJson(params);
  return parsed.ok ? namedUpdates({ action, params: parsed.value }) : [];
}
