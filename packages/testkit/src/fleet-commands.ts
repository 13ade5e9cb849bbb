import { type CommandResult, PlanAnswer } from '@tidegate/protocol/agent-api';
import type { CommandPayload } from '@tidegate/protocol/documents';
import { Compile } from 'typebox/compile';
import type { SimulatedAgent } from './fleet-agent.ts';
import { planOf } from './fleet-inventory.ts';
import type { Tally } from './fleet-tally.ts';
import { ANYTHING, type Caller, requestAsAgent } from './fleet-wire.ts';

const planAnswer = Compile(PlanAnswer);

/** Sends plans that were asked for, and claims success for every command that waits. */
export type CommandAnswerer = (agent: SimulatedAgent) => Promise<void>;

export function createCommandAnswerer(means: {
  call: Caller;
  tally: Tally;
  nowText: () => string;
}): CommandAnswerer {
  const { call, tally, nowText } = means;

  async function answerCommands(agent: SimulatedAgent): Promise<void> {
    for (const command of agent.commands.splice(0)) {
      if (command.action === 'plan_update') await sendPlan(agent, command.params);
      if (command.action === 'install_update') await install(agent, command);
      else await sendResult(agent, command, { status: 'success', exit_code: 0, started_at: nowText() });
    }
  }

  async function sendPlan(
    agent: SimulatedAgent,
    { updates: named }: (CommandPayload & { action: 'plan_update' })['params'],
  ): Promise<void> {
    const ids = named.map(({ update_id: id }) => id);
    const updates = ids.flatMap((id) => agent.updates.get(id) ?? []);
    if (updates.length < ids.length) {
      return tally.fault('plan', 'a plan of an unknown update was asked for');
    }
    const body = { sets: [ids], plan: planOf(updates, nowText()) };
    const request = requestAsAgent(agent, { method: 'PUT', path: '/plans', body });
    if (request !== null) await call({ operation: 'plan', expected: 200, guard: planAnswer, request });
  }

  async function install(
    agent: SimulatedAgent,
    command: CommandPayload & { action: 'install_update' },
  ): Promise<void> {
    const { update_ids: ids } = command.params;
    const updates = ids.flatMap((id) => agent.updates.get(id) ?? []);
    if (updates.length < ids.length) {
      return tally.fault('result', 'an unknown update was to be installed');
    }
    const installed = updates.map(({ name, available_version: version }) => ({ name, version }));
    const ended = ids.map((update_id) => ({ update_id, outcome: 'installed' as const }));
    const started = { started_at: nowText() };
    await sendResult(agent, command, { status: 'running', ...started });
    const finished = { ...started, finished_at: nowText(), installed, updates: ended };
    await sendResult(agent, command, { status: 'success', exit_code: 0, ...finished });
    for (const { name } of updates) agent.updated.add(name);
  }

  async function sendResult(
    agent: SimulatedAgent,
    command: CommandPayload,
    result: CommandResult,
  ): Promise<void> {
    const request = requestAsAgent(agent, {
      method: 'POST',
      path: `/commands/${command.command_id}/result`,
      body: result,
    });
    if (request !== null) await call({ operation: 'result', expected: 200, guard: ANYTHING, request });
  }

  return answerCommands;
}
