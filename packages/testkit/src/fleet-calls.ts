import { createHash } from 'node:crypto';
import {
  CheckInAnswer,
  type CheckInRequest,
  InventoryAnswer,
  RegisterAnswer,
  type RegisterRequest,
  type RenewRequest,
  TokenPair,
} from '@tidegate/protocol/agent-api';
import { Compile } from 'typebox/compile';
import type { Clock } from './clock.ts';
import { keySetVersionIn, keySetVersionNamed, type SimulatedAgent, takeCommands } from './fleet-agent.ts';
import type { FleetClient } from './fleet-client.ts';
import { createCommandAnswerer } from './fleet-commands.ts';
import { hostInventory, type InventoryShape, inventoryReport } from './fleet-inventory.ts';
import type { Tally } from './fleet-tally.ts';
import { AGENTS_PATH, createCaller, requestAsAgent, requestWith } from './fleet-wire.ts';
import type { Ids } from './ids.ts';

const AGENT_VERSION = '0.1.0';
/** As agents must, or they can lose their identity (docs/protocol/endpoints.md, Renew). */
const RENEWAL = { timeoutMs: 45_000, pauseMs: 60_000 };
const registerAnswer = Compile(RegisterAnswer);
const tokenPair = Compile(TokenPair);
const checkInAnswer = Compile(CheckInAnswer);
const inventoryAnswer = Compile(InventoryAnswer);

export type FleetMeans = {
  client: FleetClient;
  tally: Tally;
  clock: Pick<Clock, 'now'>;
  ids: Ids;
  shape: InventoryShape;
  tokenOf: (index: number) => string;
  addressOf: (index: number) => string | undefined;
};

/** The requests of one simulated agent, in the order of its life. Each counts its outcome; none throws for it. */
export type FleetCalls = {
  enrol(agent: SimulatedAgent): Promise<void>;
  checkIn(agent: SimulatedAgent): Promise<void>;
  report(agent: SimulatedAgent): Promise<void>;
  /** Sends nothing in the minute after a renewal that had no good answer. */
  renew(agent: SimulatedAgent): Promise<void>;
  /** Sends plans that were asked for, and claims success for every command that waits. */
  answerCommands(agent: SimulatedAgent): Promise<void>;
};

export function createFleetCalls({
  client,
  tally,
  clock,
  ids,
  shape,
  tokenOf,
  addressOf,
}: FleetMeans): FleetCalls {
  const nowText = () => new Date(clock.now()).toISOString();

  const call = createCaller(client, tally);
  const answerCommands = createCommandAnswerer({ call, tally, nowText });

  /** A simulated agent believes what it is told about keys. */
  function learnKeySet(agent: SimulatedAgent, operation: string, version: number | null): void {
    if (version === null) tally.fault(operation, 'a signed document of the wrong shape');
    else agent.keySetVersion = version;
  }

  async function enrol(agent: SimulatedAgent): Promise<void> {
    const body: RegisterRequest = {
      hostname: agent.hostname,
      os: agent.system.os,
      agent_version: AGENT_VERSION,
    };
    const request = requestWith(agent, {
      method: 'POST',
      path: `${AGENTS_PATH}/register`,
      bearer: tokenOf(agent.index),
      body,
    });
    const localAddress = addressOf(agent.index);
    const answer = await call({
      operation: 'register',
      expected: 201,
      guard: registerAnswer,
      request: localAddress === undefined ? request : { ...request, localAddress },
    });
    if (answer === null) return;
    const { agent_id: agentId, access_token: accessToken, refresh_token: refreshToken } = answer;
    agent.session = { agentId, accessToken, refreshToken };
    learnKeySet(agent, 'register', keySetVersionIn(answer.key_set));
  }

  async function checkIn(agent: SimulatedAgent): Promise<void> {
    const acknowledged = agent.received.slice(0, 200);
    const body: CheckInRequest = {
      agent_version: AGENT_VERSION,
      boot_id: `boot-${agent.index}`,
      uptime_seconds: Math.floor(clock.now() / 1_000) % 1_000_000,
      load: [0.1, 0.2, 0.3],
      received: acknowledged,
      key_set_version: agent.keySetVersion,
      inventory_digest: agent.digests,
    };
    const request = requestAsAgent(agent, { method: 'POST', path: '/check-in', body: body });
    if (request === null) return;
    const answer = await call({ operation: 'check-in', expected: 200, guard: checkInAnswer, request });
    if (answer === null) return;
    agent.received.splice(0, acknowledged.length);
    agent.wanted = answer.report;
    learnKeySet(agent, 'check-in', keySetVersionNamed(answer.state));
    const malformed = takeCommands(agent, answer.commands);
    if (malformed > 0)
      tally.fault('check-in', `${malformed} commands that are malformed or not for this agent`);
  }

  async function report(agent: SimulatedAgent): Promise<void> {
    const { ecosystem } = agent.system;
    const inventory = hostInventory(agent.index, { ...shape, system: agent.system, updated: agent.updated });
    const request = requestAsAgent(agent, {
      method: 'PUT',
      path: `/inventory/${ecosystem}`,
      body: inventoryReport(inventory, nowText()),
    });
    if (request === null) return;
    const answer = await call({ operation: 'inventory', expected: 200, guard: inventoryAnswer, request });
    if (answer === null) return;
    if (!answer.accepted) tally.fault('inventory', 'not accepted');
    agent.digests[ecosystem] = createHash('sha256')
      .update(request.body ?? '')
      .digest('hex');
    for (const { update_id, name, available_version } of answer.updates) {
      const update = inventory.updates.find(
        (one) => one.name === name && one.available_version === available_version,
      );
      if (update) agent.updates.set(update_id, update);
      else tally.fault('inventory', 'an update that was not reported');
    }
  }

  async function renew(agent: SimulatedAgent): Promise<void> {
    if (agent.session === null || clock.now() < (agent.renewal?.notBeforeMs ?? 0)) return;
    const requestId = agent.renewal?.requestId ?? ids.uuid();
    const body: RenewRequest = { refresh_token: agent.session.refreshToken, request_id: requestId };
    const request = requestWith(agent, { method: 'POST', path: `${AGENTS_PATH}/renew`, body });
    const apart = { timeoutMs: RENEWAL.timeoutMs };
    const answer = await call({
      operation: 'renew',
      expected: 200,
      guard: tokenPair,
      request: { ...request, apart },
    });
    agent.renewal = answer === null ? { requestId, notBeforeMs: clock.now() + RENEWAL.pauseMs } : null;
    if (answer === null) return;
    const { access_token: accessToken, refresh_token: refreshToken } = answer;
    agent.session = { ...agent.session, accessToken, refreshToken };
  }

  return { enrol, checkIn, report, renew, answerCommands };
}
