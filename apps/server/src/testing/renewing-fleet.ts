import { randomUUID } from 'node:crypto';
import { type Agent, request } from 'node:http';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { startFamily } from '../agent-credentials/families.ts';
import { insertAgent } from '../agents/store.ts';
import type { Platform } from '../platform/platform.ts';

/** An honest agent: stores the id of its request before sending it, and the token after its answer. */
export interface RenewingAgent {
  readonly agentId: string;
  readonly machineId: string;
  token: string;
  requestId: string;
  /** Requests with the current token without an answer: more than one may cost the family (table, row 10). */
  unknown: number;
  renewals: number;
  isRefused: boolean;
}

/** Enrols agents directly, a thousand in one transaction. */
export async function enrolFleet(
  platform: Platform,
  { count, tagKey }: { count: number; tagKey: Buffer },
): Promise<RenewingAgent[]> {
  const nowMs = platform.now();
  return platform.database.transact(async (tx) => {
    const budget = { requests: 100_000, window_seconds: 60, enabled: 1, updated_at: nowMs };
    await tx
      .insertInto('rate_limits')
      .values({ class: 'agent_renewal', ...budget })
      .execute();
    const agents: RenewingAgent[] = [];
    for (let n = 0; n < count; n++) {
      const agentId = platform.newId();
      const machineId = `machine-${n}`;
      await insertAgent(tx, { ...HOST, id: agentId, machine_id: machineId, enrolled_at: nowMs });
      const family = await startFamily(tx, platform, { agentId, tagKey, nowMs, maxAgeMs: null });
      const token = family.refreshToken;
      agents.push({
        ...{ agentId, machineId, token, requestId: randomUUID() },
        ...{ unknown: 0, renewals: 0, isRefused: false },
      });
    }
    return agents;
  });
}

const HOST = {
  status: 'active',
  hostname: 'host',
  os_family: 'linux',
  os_id: 'debian',
  os_version_id: '12',
  os_arch: 'amd64',
  agent_version: '1.0.0',
  boot_id: null,
  uptime_seconds: null,
  key_set_version: 0,
  next_seq: 1,
  group_name: null,
  polling_interval_seconds: null,
  inventory_digests: '{}',
  bound_at: 1,
  revoked_at: null,
  deleted_at: null,
} as const;

const Answer = Compile(Type.Object({ refresh_token: Type.String() }));

/** The outcome of one request: an answer, or why there is none and whether the server may have read it. */
type Outcome = { status: number; body: unknown } | { status: null; sent: boolean };

/** One renewal of the agent; resolves with the status, null without an answer. */
export async function renewOnce(agent: RenewingAgent, url: string, sockets: Agent): Promise<number | null> {
  const payload = JSON.stringify({ refresh_token: agent.token, request_id: agent.requestId });
  const outcome = await send(`${url}/api/v1/agents/renew`, {
    payload,
    machineId: agent.machineId,
    sockets,
  });
  if (outcome.status === null) {
    if (outcome.sent) agent.unknown++;
    return null;
  }
  if (outcome.status === 401) agent.isRefused = true;
  if (outcome.status === 200 && Answer.Check(outcome.body)) {
    agent.token = outcome.body.refresh_token;
    agent.requestId = randomUUID();
    agent.unknown = 0;
    agent.renewals++;
  }
  return outcome.status;
}

function send(
  url: string,
  { payload, machineId, sockets }: { payload: string; machineId: string; sockets: Agent },
): Promise<Outcome> {
  return new Promise((resolve) => {
    const headers = {
      'content-type': 'application/json',
      'content-length': Buffer.byteLength(payload),
      'x-machine-id': machineId,
    };
    const sending = request(url, { method: 'POST', headers, agent: sockets }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('error', () => resolve({ status: null, sent: true }));
      answer.on('end', () => {
        const text = Buffer.concat(chunks).toString();
        resolve(
          answer.complete
            ? { status: answer.statusCode ?? 0, body: text === '' ? null : JSON.parse(text) }
            : { status: null, sent: true },
        );
      });
    });
    sending.on('error', (error) => {
      const refused = 'code' in error && error.code === 'ECONNREFUSED';
      resolve({ status: null, sent: !refused });
    });
    sending.end(payload);
  });
}
