import { createHash } from 'node:crypto';
import {
  CheckInAnswer,
  type CheckInRequest,
  type CommandResult,
  InventoryAnswer,
  PlanAnswer,
  RegisterAnswer,
  type RegisterRequest,
  type RenewRequest,
  TokenPair,
} from '@tidegate/protocol/agent-api';
import type { CommandPayload } from '@tidegate/protocol/documents';
import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import { Compile } from 'typebox/compile';
import type { Clock } from './clock.ts';
import { keySetVersionIn, keySetVersionNamed, type SimulatedAgent, takeCommands } from './fleet-agent.ts';
import type { FleetClient, FleetRequest } from './fleet-client.ts';
import { hostInventory, type InventoryShape, inventoryReport, planOf } from './fleet-inventory.ts';
import type { Tally } from './fleet-tally.ts';
import type { Ids } from './ids.ts';

const AGENT_VERSION = '0.1.0';
const ROOT = '/api/v1/agents';
const registerAnswer = Compile(RegisterAnswer);
const tokenPair = Compile(TokenPair);
const checkInAnswer = Compile(CheckInAnswer);
const inventoryAnswer = Compile(InventoryAnswer);
const planAnswer = Compile(PlanAnswer);
const anything = { Check: (value: unknown): value is unknown => value !== null };

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
  renew(agent: SimulatedAgent): Promise<void>;
  /** Sends plans that were asked for, and claims success for every command that waits. */
  answerCommands(agent: SimulatedAgent): Promise<void>;
};

type Guard<T> = { Check(value: unknown): value is T };
type Call<T> = { operation: string; expected: number; guard: Guard<T>; request: FleetRequest };

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

  async function call<T>({ operation, expected, guard, request }: Call<T>): Promise<T | null> {
    const reply = await client.send(request);
    tally.count(operation, reply, expected);
    if (reply.status !== expected) return null;
    if (guard.Check(reply.body)) return reply.body;
    tally.fault(operation, 'an answer of the wrong shape');
    return null;
  }

  /** An agent that could not be enrolled was counted as a fault then; it has nothing to say with. */
  function asAgent(
    agent: SimulatedAgent,
    method: 'POST' | 'PUT',
    path: string,
    body: object,
  ): FleetRequest | null {
    if (agent.session === null) return null;
    const { agentId, accessToken } = agent.session;
    return requestOf(agent, { method, path: `${ROOT}/${agentId}${path}`, bearer: accessToken, body });
  }

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
    const request = requestOf(agent, {
      method: 'POST',
      path: `${ROOT}/register`,
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
    const request = asAgent(agent, 'POST', '/check-in', body);
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
    const request = asAgent(agent, 'PUT', `/inventory/${ecosystem}`, inventoryReport(inventory, nowText()));
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
    if (agent.session === null) return;
    const body: RenewRequest = { refresh_token: agent.session.refreshToken, request_id: ids.uuid() };
    const request = requestOf(agent, { method: 'POST', path: `${ROOT}/renew`, body });
    const answer = await call({ operation: 'renew', expected: 200, guard: tokenPair, request });
    if (answer === null) return;
    const { access_token: accessToken, refresh_token: refreshToken } = answer;
    agent.session = { ...agent.session, accessToken, refreshToken };
  }

  async function answerCommands(agent: SimulatedAgent): Promise<void> {
    for (const command of agent.commands.splice(0)) {
      if (command.action === 'plan_update') await sendPlan(agent, command.params.update_id);
      if (command.action === 'install_update') await install(agent, command);
      else await sendResult(agent, command, { status: 'success', exit_code: 0, started_at: nowText() });
    }
  }

  async function sendPlan(agent: SimulatedAgent, updateId: string): Promise<void> {
    const update = agent.updates.get(updateId);
    if (update === undefined) return tally.fault('plan', 'a plan of an unknown update was asked for');
    const request = asAgent(agent, 'PUT', `/plans/${updateId}`, planOf(update, nowText()));
    if (request !== null) await call({ operation: 'plan', expected: 200, guard: planAnswer, request });
  }

  async function install(
    agent: SimulatedAgent,
    command: CommandPayload & { action: 'install_update' },
  ): Promise<void> {
    const update = agent.updates.get(command.params.update_id);
    if (update === undefined) return tally.fault('result', 'an unknown update was to be installed');
    const { name, available_version: version } = update;
    const started = { started_at: nowText() };
    await sendResult(agent, command, { status: 'running', ...started });
    const finished = { ...started, finished_at: nowText(), installed: [{ name, version }] };
    await sendResult(agent, command, { status: 'success', exit_code: 0, ...finished });
    agent.updated.add(name);
  }

  async function sendResult(
    agent: SimulatedAgent,
    command: CommandPayload,
    result: CommandResult,
  ): Promise<void> {
    const request = asAgent(agent, 'POST', `/commands/${command.command_id}/result`, result);
    if (request !== null) await call({ operation: 'result', expected: 200, guard: anything, request });
  }

  return { enrol, checkIn, report, renew, answerCommands };
}

type Parts = { method: 'POST' | 'PUT'; path: string; bearer?: string; body: object };

function requestOf(agent: SimulatedAgent, { method, path, bearer, body }: Parts): FleetRequest {
  const headers = { 'content-type': 'application/json', [MACHINE_ID_HEADER]: agent.machineId };
  const credential = bearer === undefined ? {} : { authorization: `Bearer ${bearer}` };
  return { method, path, headers: { ...headers, ...credential }, body: JSON.stringify(body) };
}
