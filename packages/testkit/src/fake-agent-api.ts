import { createHash } from 'node:crypto';
import {
  CheckInRequest,
  CommandResult,
  commandResultFaults,
  InventoryReport,
  PlanReport,
  RegisterRequest,
  RenewRequest,
} from '@tidegate/protocol/agent-api';
import { COMMAND_TYPE, type Envelope } from '@tidegate/protocol/documents';
import { planFaults } from '@tidegate/protocol/plan';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { createClock } from './clock.ts';
import { createIds } from './ids.ts';
import { parseJson } from './json-shape.ts';
import { listenOnLoopback, readBody } from './loopback.ts';

const BODY_MAX_BYTES = 8 * 1024 * 1024;
const START_MS = Date.UTC(2026, 0, 1);
const TIME = new Date(START_MS).toISOString();
const AGENT_PATH = /^\/api\/v1\/agents\/([0-9a-f-]{36})\/(.+)$/;
const ids = createIds(createClock(START_MS), 'fake agent api');
const FLEET_ID = ids.uuid();
const KEY = { key_id: ids.uuid(), version: 1, public_key_hex: 'ab'.repeat(32), created_at: TIME };

export type AgentCall = { path: string; body: unknown; machineId: string; bearer: string; address: string };
export type Told = { status: number; body: unknown };

/** The agent's part of the wire with nothing behind it. */
export type FakeAgentApi = {
  readonly url: string;
  readonly calls: AgentCall[];
  /** Overrides the usual answer; null for the usual one, 'hang up' for none. */
  answerOf: (call: AgentCall) => Told | 'hang up' | null;
  stop(): Promise<void>;
};

/**
 * Answers every request that is well-formed by the protocol's schemas with its good status, and 400 with the
 * reason otherwise. It has no rules, state or signatures: it only serves to test clients.
 */
export async function startFakeAgentApi(): Promise<FakeAgentApi> {
  const { url, stop } = await listenOnLoopback(async (request, response) => {
    const body = parseJson((await readBody(request, BODY_MAX_BYTES)) ?? '');
    const { 'x-machine-id': machineId, authorization = '' } = request.headers;
    const call = {
      path: request.url ?? '',
      body,
      machineId: `${machineId}`,
      bearer: authorization.slice('Bearer '.length),
      address: request.socket.remoteAddress ?? '',
    };
    api.calls.push(call);
    const told = api.answerOf(call) ?? usualAnswer(call);
    if (told === 'hang up') request.socket.destroy();
    else
      response.writeHead(told.status, { 'content-type': 'application/json' }).end(JSON.stringify(told.body));
  });
  const api: FakeAgentApi = { url, stop, calls: [], answerOf: () => null };
  return api;
}

/** The good answer to a check-in, with these commands. */
export function checkInAnswer(commands: readonly Envelope[], state = stateOf()): Told {
  return {
    status: 200,
    body: { server_time: TIME, state, commands, report: ['apt'], next_check_in_seconds: 60 },
  };
}

function stateOf(): Envelope {
  const keys = { key_set_version: 4 };
  return envelope({ v: 1, fleet_id: FLEET_ID, server_time: TIME, epoch: 1, ...keys, events_head: null });
}

/** A command for an agent, with a signature that is none. */
export function command(options: { agentId: string; action: string; params: object }): Envelope {
  return envelope({
    ...{ v: 1, fleet_id: FLEET_ID, epoch: 1, seq: 1, command_id: ids.uuid(), agent_id: options.agentId },
    ...{ machine_sha256: 'ab'.repeat(32), issued_at: TIME, not_before: TIME, expires_at: TIME },
    ...{ key_id: KEY.key_id, key_version: 1, action: options.action, params: options.params, crit: [] },
  });
}

/** An envelope around any payload, with a signature that is none. */
export function envelope(payload: unknown): Envelope {
  const text = Buffer.from(JSON.stringify(payload)).toString('base64');
  return { payloadType: COMMAND_TYPE, payload: text, signatures: [{ keyid: '', sig: 'AA==' }] };
}

function usualAnswer(call: AgentCall): Told {
  const { path, body, machineId } = call;
  if (path === '/api/v1/agents/register') return accept(RegisterRequest, body, () => registration(machineId));
  if (path === '/api/v1/agents/renew')
    return accept(RenewRequest, body, () => ({ status: 200, body: tokens(2) }));
  const [, agentId, what = ''] = AGENT_PATH.exec(path) ?? [];
  if (agentId !== idOf(machineId)) return { status: 404, body: { code: 'not_found' } };
  if (what === 'check-in') return accept(CheckInRequest, body, () => checkInAnswer([]));
  if (what.startsWith('inventory/')) return accept(InventoryReport, body, inventoryAnswer);
  if (what === 'plans') {
    const answer = { plan_sha256: 'a'.repeat(64) };
    return accept(PlanReport, body, ({ plan }) => faultsOr(planFaults(plan), answer));
  }
  return accept(CommandResult, body, (result) => faultsOr(commandResultFaults(result), {}));
}

function accept<T extends TSchema>(schema: T, body: unknown, answer: (body: Static<T>) => Told): Told {
  if (Value.Check(schema, body)) return answer(body);
  return faultsOr(Value.Errors(schema, body), {});
}

function faultsOr(faults: readonly object[], answer: object): Told {
  return faults.length === 0
    ? { status: 200, body: answer }
    : { status: 400, body: { code: `invalid_request ${JSON.stringify(faults[0])}` } };
}

function registration(machineId: string): Told {
  const fields = { v: 1, fleet_id: FLEET_ID, version: 3, issued_at: TIME, expires_at: TIME };
  const keySet = envelope({ ...fields, keys: [{ ...KEY, status: 'active', revoked_at: null }] });
  const keys = [{ ...KEY, status: 'active' }];
  const answer = {
    agent_id: idOf(machineId),
    ...tokens(1),
    check_in_interval_seconds: 60,
    keys,
    key_set: keySet,
  };
  return { status: 201, body: answer };
}

function inventoryAnswer({ updates }: InventoryReport): Told {
  const known = updates.map(({ name, available_version }) => ({
    update_id: idOf(name),
    name,
    available_version,
  }));
  return { status: 200, body: { accepted: true, updates: known } };
}

function tokens(round: number) {
  const lifetimes = { expires_in: 900, refresh_expires_at: TIME };
  return { access_token: `access-${round}`, refresh_token: `refresh-${round}`, ...lifetimes };
}

/** The same id for the same text. */
function idOf(text: string): string {
  return createHash('sha256')
    .update(text)
    .digest('hex')
    .replace(/^(.{8})(.{4})(.{4})(.{4})(.{12}).*$/, '$1-$2-$3-$4-$5');
}
