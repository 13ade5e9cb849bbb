import { type Agent, request } from 'node:http';
import type { BenchAgent } from './fleet.ts';
import { type HostileRequest, TARGET_ID } from './hostile-bodies.ts';

/** Begins each turn on time, or as soon as the turn before is over. */
export async function paced(
  { everyMs, beginMs, endMs }: { everyMs: number; beginMs: number; endMs: number },
  work: (turn: number) => Promise<void>,
): Promise<void> {
  let nextMs = beginMs;
  for (let turn = 0; nextMs < endMs; turn++) {
    const waitMs = nextMs - performance.now();
    if (waitMs > 0) await new Promise((resolve) => setTimeout(resolve, waitMs));
    await work(turn);
    nextMs = Math.max(nextMs + everyMs, performance.now());
  }
}

/** Sends a request as an agent and resolves with the status, or with the error of the connection. */
export function send({
  url,
  agent: { agentId, machineId, token },
  one: { method, path, body, gzip },
  connections,
}: {
  url: string;
  agent: BenchAgent;
  one: HostileRequest;
  connections: Agent;
}): Promise<string> {
  const headers = {
    authorization: `Bearer ${token}`,
    'x-machine-id': machineId,
    'content-type': 'application/json',
    'content-length': body.length,
    ...(gzip ? { 'content-encoding': 'gzip' } : {}),
  };
  const address = `${url}/api/v1/agents/${agentId}${path}`;
  return new Promise((resolve) => {
    const sent = request(address, { method, headers, agent: connections });
    sent.once('response', (answer) => {
      answer.resume();
      answer.once('end', () => resolve(String(answer.statusCode)));
    });
    // A server that refuses a request before reading its body may close the connection.
    sent.once('error', (error) => resolve('code' in error ? String(error.code) : error.name));
    sent.end(path === '/plans' ? ofAgent(body, agentId) : body);
  });
}

function ofAgent(body: Buffer, agentId: string): Buffer {
  const own = Buffer.from(body);
  own.write(agentId, own.indexOf(TARGET_ID));
  return own;
}
