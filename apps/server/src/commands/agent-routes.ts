import { AgentEvents, CommandOutput, CommandResult, commandResultFaults } from '@tidegate/protocol/agent-api';
import { CommandResultAnswer } from '@tidegate/protocol/commands-api';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { type Static, Type } from 'typebox';
import { isTooOld } from '../agents/guard-rules.ts';
import type { Config } from '../config.ts';
import { BULK_BODY_MAX_BYTES, REPORT_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { createLargeWork, demandRoomFor } from '../platform/http/large-work.ts';
import { noSuch, notValid, Refusal } from '../platform/http/refusal.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Platform } from '../platform/platform.ts';
import { keepOutput } from './output.ts';
import { recordAgentEvents } from './record-agent-events.ts';
import { recordResult } from './record-result.ts';
import { findCommand, ownUpdates } from './store.ts';

const params = strict({ agent_id: Uuid, command_id: Uuid });
const Accepted = strict({ accepted: Type.Literal(true) });
const ACCEPTED: Static<typeof Accepted> = { accepted: true };
const tags = ['agents'];

/** Reports with more events are queued, because every event extends the one chain. */
const MANY_EVENTS = 20;
const MANY_BYTES = 65_536;
const LARGE_REPORTS = { what: 'reports of many events', running: 1, waiting: 8 };

/** Results and output of commands, and events that agents observe. */
export function mountAgentCommands(
  routes: Routes,
  { platform, config }: { platform: Platform; config: Pick<Config, 'minAgentVersion'> },
): void {
  const { database, random } = platform;
  const large = createLargeWork({ ...LARGE_REPORTS, random });

  routes.agent({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/commands/:command_id/result',
    access: { limit: 'agent_reports', old: true },
    bodyMaxBytes: REPORT_MAX_BYTES,
    schema: {
      summary: 'The result of a command',
      tags,
      params,
      body: CommandResult,
      response: { 200: CommandResultAnswer },
      refuses: ['command_finished', 'agent_too_old'],
    },
    handler: async ({ agent, params, body }) => {
      const { agentId } = agent;
      const commandId = params.command_id;
      const errors = commandResultFaults(body);
      if (errors.length > 0) {
        throw notValid(errors, 'result');
      }
      if (isTooOld(agent.agentVersion, config.minAgentVersion)) {
        const command = await findCommand(database.read, commandId);
        const isOwn =
          command?.agent_id === agentId && (await ownUpdates(database.read, [command])).length > 0;
        if (!isOwn) {
          throw new Refusal('agent_too_old', { detail: 'This version of the agent must be updated first.' });
        }
      }
      const outcome = await database.transact((tx) =>
        recordResult(tx, platform, { agentId, commandId, result: body }),
      );
      switch (outcome.kind) {
        case 'unknown':
          throw noSuch('command');
        case 'finished':
          throw new Refusal('command_finished', { detail: `The command has ended: ${outcome.status}.` });
        case 'wrong':
          throw notValid([{ path: outcome.path, message: outcome.message }], 'result');
        case 'recorded':
          return { command_id: commandId, status: outcome.status };
      }
    },
  });

  routes.agent({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/commands/:command_id/output',
    access: { limit: 'agent_reports' },
    bodyMaxBytes: BULK_BODY_MAX_BYTES,
    schema: {
      summary: 'A piece of output of a command; a repeated seq is ignored',
      tags,
      params,
      body: CommandOutput,
      response: { 202: Accepted },
    },
    handler: async ({ agent: { agentId }, params, body }) => {
      const commandId = params.command_id;
      const own = await database.transact(async (tx) => {
        const command = await findCommand(tx, commandId);
        if (command?.agent_id !== agentId || command.status === 'pending') return false;
        await keepOutput(tx, { commandId, output: body, nowMs: platform.now() });
        return true;
      });
      if (!own) throw noSuch('command');
      return ACCEPTED;
    },
  });

  routes.agent({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/events',
    access: { limit: 'agent_reports' },
    bodyMaxBytes: REPORT_MAX_BYTES,
    beforeBody: (caller) => demandRoomFor(large, caller, { plain: MANY_BYTES }),
    schema: {
      summary: 'Security events that an agent observed',
      tags,
      params: strict({ agent_id: Uuid }),
      body: AgentEvents,
      response: { 202: Accepted },
    },
    handler: async ({ agent: { agentId }, body }) => {
      const { events } = body;
      const record = () => database.transact((tx) => recordAgentEvents(tx, platform, { agentId, events }));
      await (events.length > MANY_EVENTS ? large.admit(agentId, record) : record());
      return ACCEPTED;
    },
  });
}
