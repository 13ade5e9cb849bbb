import { randomUUID } from 'node:crypto';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import type { BenchAgent } from './fleet.ts';

const Renewed = Type.Object({ access_token: Type.String(), refresh_token: Type.String() });
type Body = Uint8Array<ArrayBuffer>;

/** A host with a connection for each request, which renews its token when it is refused, as an agent does. */
export function createHost(url: string, agent: BenchAgent) {
  let { token, refreshToken } = agent;
  /** Null: no connection, or none in time. */
  async function ask(method: string, path: string, body: Body): Promise<Response | null> {
    return fetch(`${url}/api/v1/agents/${path}`, {
      method,
      body,
      headers: {
        authorization: `Bearer ${token}`,
        'x-machine-id': agent.machineId,
        'content-type': 'application/json',
        connection: 'close',
      },
    }).catch(() => null);
  }
  /** Whether the answer was 200; false: the host comes later, as on a busy machine. Throws at any other answer. */
  async function send(method: string, path: string, body: Body): Promise<boolean> {
    const first = await ask(method, `${agent.agentId}${path}`, body);
    if (first?.status !== 401) return isDone(first, `${method} ${path}`);
    await first.arrayBuffer();
    const asked = { refresh_token: refreshToken, request_id: randomUUID() };
    const renewal = await ask('POST', 'renew', Buffer.from(JSON.stringify(asked)));
    if (renewal?.status !== 200) return isDone(renewal, 'a renewal');
    const renewed = Value.Parse(Renewed, await renewal.json());
    ({ access_token: token, refresh_token: refreshToken } = renewed);
    return isDone(await ask(method, `${agent.agentId}${path}`, body), `${method} ${path} after a renewal`);
  }
  return {
    post: (path: string, body: Body) => send('POST', path, body),
    put: (path: string, body: Body) => send('PUT', path, body),
  };
}

async function isDone(answer: Response | null, what: string): Promise<boolean> {
  if (answer === null) return false;
  const text = await answer.text();
  if (answer.status === 200 || answer.status === 503) return answer.status === 200;
  throw new Error(`${what} was answered ${answer.status}: ${text}`);
}
