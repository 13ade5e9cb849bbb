import { AgentEvents, CommandOutput, CommandResult, commandResultFaults } from '@tidegate/protocol/agent-api';
import { CommandResultAnswer } from '@tidegate/protocol/commands-api';
import { Problem } from '@tidegate/protocol/problems';
import { strict, Uuid } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { isTooOld } from '../agents/guard-rules.ts';
import { ownAgent } from '../agents/own-agent.ts';
import type { Config } from '../config.ts';
import { BULK_BODY_MAX_BYTES, REPORT_MAX_BYTES } from '../platform/http/body-sizes.ts';
import { createLargeWork, demandRoomFor } from '../platform/http/large-work.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { App } from '../platform/http/server.ts';
import type { Platform } from '../platform/platform.ts';
import { keepOutput } from './output.ts';
import { recordAgentEvents } from './record-agent-events.ts';
import { recordResult } from './record-result.ts';
import { findCommand } from './store.ts';

const params = strict({ agent_id: Uuid, command_id: Uuid });
const Accepted = strict({ accepted: Type.Literal(true) });
const tags = ['agents'];

/** A report of more events takes its turn: each of them is a link of the one chain. */
const MANY_EVENTS = 20;
const MANY_BYTES = 65_536;
const LARGE_REPORTS = { what: 'reports of many events', running: 1, waiting: 8 } as const;

/** What agents report of their commands, and what they notice by themselves. */
export function mountAgentCommands(
  app: App,
  { platform, config }: { platform: Platform; config: Pick<Config, 'minAgentVersion'> },
): void {
  const { database, random } = platform;
  const large = createLargeWork({ ...LARGE_REPORTS, random });
  const unknown = () => new Refusal('not_found', { detail: 'There is no such command.' });

  app.route({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/commands/:command_id/result',
    config: { access: { kind: 'agent', limit: 'agent_reports', old: true }, bodyMaxBytes: REPORT_MAX_BYTES },
    schema: {
      summary: 'What became of a command',
      tags,
      params,
      body: CommandResult,
      response: { 200: CommandResultAnswer, 400: Problem, 404: Problem, 409: Problem },
    },
    handler: async (request) => {
      const caller = ownAgent(request, request.params.agent_id);
      const { agentId } = caller;
      const commandId = request.params.command_id;
      const errors = commandResultFaults(request.body);
      if (errors.length > 0) {
        throw new Refusal('invalid_request', { detail: 'The result is not sound.', errors });
      }
      if (isTooOld(caller.agentVersion, config.minAgentVersion)) {
        const command = await findCommand(database.read, commandId);
        if (command?.agent_id !== agentId || command.action !== 'update_agent') {
          throw new Refusal('agent_too_old', { detail: 'This version of the agent must be updated first.' });
        }
      }
      const outcome = await database.transact((tx) =>
        recordResult(tx, platform, { agentId, commandId, result: request.body }),
      );
      switch (outcome.kind) {
        case 'unknown':
          throw unknown();
        case 'finished':
          throw new Refusal('command_finished', { detail: `The command has ended: ${outcome.status}.` });
        case 'recorded':
          return { command_id: commandId, status: outcome.status };
      }
    },
  });

  app.route({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/commands/:command_id/output',
    config: { access: { kind: 'agent', limit: 'agent_reports' }, bodyMaxBytes: BULK_BODY_MAX_BYTES },
    schema: {
      summary: 'A piece of the output of a command; a seq seen before is ignored',
      tags,
      params,
      body: CommandOutput,
      response: { 202: Accepted, 400: Problem, 404: Problem },
    },
    handler: async (request, reply) => {
      const { agentId } = ownAgent(request, request.params.agent_id);
      const commandId = request.params.command_id;
      const own = await database.transact(async (tx) => {
        const command = await findCommand(tx, commandId);
        if (command?.agent_id !== agentId || command.status === 'pending') return false;
        await keepOutput(tx, { commandId, output: request.body, nowMs: platform.now() });
        return true;
      });
      if (!own) throw unknown();
      return reply.code(202).send({ accepted: true });
    },
  });

  app.route({
    method: 'POST',
    url: '/api/v1/agents/:agent_id/events',
    config: { access: { kind: 'agent', limit: 'agent_reports' }, bodyMaxBytes: REPORT_MAX_BYTES },
    onRequest: async (request) => demandRoomFor(large, request, { plain: MANY_BYTES }),
    schema: {
      summary: 'Security events that an agent noticed',
      tags,
      params: strict({ agent_id: Uuid }),
      body: AgentEvents,
      response: { 202: Accepted, 400: Problem, 503: Problem },
    },
    handler: async (request, reply) => {
      const { agentId } = ownAgent(request, request.params.agent_id);
      const { events } = request.body;
      const record = () => database.transact((tx) => recordAgentEvents(tx, platform, { agentId, events }));
      await (events.length > MANY_EVENTS ? large.admit(agentId, record) : record());
      return reply.code(202).send({ accepted: true });
    },
  });
}
