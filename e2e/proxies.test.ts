import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { get as plainGet } from 'node:http';
import { type RequestOptions, request } from 'node:https';
import { text } from 'node:stream/consumers';
import { INVENTORY_MAX_BYTES, InventoryAnswer } from '@tidegate/protocol/agent-api';
import { Session } from '@tidegate/protocol/sessions-api';
import { Type } from 'typebox';
import { describe, expect, onTestFinished, test } from 'vitest';
import { enrolBareAgent } from './harness/bare-agent.ts';
import { missingNginx, type Nginx, startNginx } from './harness/nginx.ts';
import { expectAnswer, logIn } from './harness/operator.ts';
import { OPERATOR, startServer } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';

const missing = missingNginx();
const NAME = 'tidegate.example.org';
/** Another loopback address than the proxy's own. */
const CLIENT = '127.0.0.9';

/** One request to nginx as a client of the name sends it. */
async function send(
  nginx: Nginx,
  { body, ...options }: RequestOptions & { body?: string },
): Promise<IncomingMessage> {
  const call = request({
    ...{ host: '127.0.0.1', port: nginx.httpsPort, servername: NAME, ca: nginx.ca, localAddress: CLIENT },
    ...options,
    headers: { host: NAME, ...(body && { 'content-type': 'application/json' }), ...options.headers },
  });
  // A request that is refused from its head ends with a reset, after its answer.
  call.on('error', () => {});
  if ('content-length' in (options.headers ?? {})) call.write(body);
  else call.end(body);
  const [response] = await once(call, 'response');
  return response;
}

async function answerOf(response: IncomingMessage): Promise<{ status: number; body: unknown }> {
  const body = await text(response);
  return { status: response.statusCode ?? 0, body: body === '' ? null : JSON.parse(body) };
}

describe.skipIf(missing !== null)(`nginx with the example${missing === null ? '' : ` (${missing})`}`, () => {
  test.each(storyEngines('sqlite'))('passes on what a fleet needs, on $name', async (engine) => {
    const server = await startServer({
      ...(await engine.place()),
      advisoryUrl: 'http://127.0.0.1:9',
      env: { SERVICE_TRUSTED_PROXIES: '127.0.0.1', SERVICE_BASE_URL: `https://${NAME}` },
    });
    onTestFinished(async () => void (await server.stop()));
    const nginx = await startNginx(server.url);
    onTestFinished(() => nginx[Symbol.asyncDispose]());
    const operator = await logIn(server.url);
    const bearer = { authorization: `Bearer ${operator.token}` };

    // Plain HTTP: pages are redirected, the API is not.
    const [page] = await once(
      plainGet({ port: nginx.httpPort, headers: { host: NAME }, path: '/hosts?q=1' }),
      'response',
    );
    expect([page.statusCode, page.headers.location]).toEqual([308, `https://${NAME}/hosts?q=1`]);
    const [api] = await once(
      plainGet({ port: nginx.httpPort, headers: { host: NAME }, path: '/api/health' }),
      'response',
    );
    expect(api.statusCode).toBe(403);

    // The server knows the scheme and the address of the client, whatever the client says of itself.
    const forged = {
      'x-forwarded-for': '203.0.113.7',
      'x-forwarded-proto': 'http',
      'x-forwarded-host': 'localhost',
    };
    const login = await send(nginx, {
      ...{ method: 'POST', path: '/api/v1/auth/login', headers: forged },
      body: JSON.stringify(OPERATOR),
    });
    expect(login.statusCode).toBe(200);
    expect(login.headers['strict-transport-security']).toBe('max-age=31536000');
    expect(login.headers['set-cookie']?.every((cookie) => cookie.includes('; Secure'))).toBe(true);
    login.resume();
    const sessions = await answerOf(await send(nginx, { path: '/api/v1/auth/sessions', headers: bearer }));
    const addresses = expectAnswer(sessions, 200, Type.Object({ items: Type.Array(Session) })).items.map(
      ({ address }) => address,
    );
    expect(addresses.sort()).toEqual(['127.0.0.1', CLIENT]);

    // The stream: its first bytes and a change arrive while it is open.
    const stream = await send(nginx, {
      path: '/api/v1/stream',
      headers: { ...bearer, 'accept-encoding': 'gzip' },
    });
    onTestFinished(() => void stream.destroy());
    stream.setEncoding('utf8');
    let heard = '';
    stream.on('data', (chunk: string) => {
      heard += chunk;
    });
    await expect.poll(() => heard).toContain(': open');
    const agent = await enrolBareAgent(server.url, {
      registrationToken: await operator.registrationToken(),
      ...{ machineId: 'ab'.repeat(32), hostname: 'web-1' },
    });
    await expect.poll(() => heard).toContain('"topic":"hosts"');
    expect(stream.complete).toBe(false);

    // A report of the largest size that the server takes.
    const report = largestReport();
    const headers = { authorization: `Bearer ${agent.accessToken}`, 'x-machine-id': agent.machineId };
    const path = `/api/v1/agents/${agent.agentId}/inventory/apt`;
    const taken = await answerOf(await send(nginx, { method: 'PUT', path, headers, body: report }));
    expectAnswer(taken, 200, InventoryAnswer);
    const over = await send(nginx, { method: 'PUT', path, headers, body: `${report}  ` });
    expect(over.statusCode).toBe(413);
    over.resume();
    // A stranger is refused from the head of the request, whatever is left of the body.
    const stranger = await send(nginx, {
      ...{ method: 'PUT', path, body: '{' },
      headers: { 'x-machine-id': agent.machineId, 'content-length': `${INVENTORY_MAX_BYTES}` },
    });
    expect(stranger.statusCode).toBe(401);
    stranger.destroy();
  });
});

/** Exactly as large as allowed. */
function largestReport(): string {
  const packages = Array.from({ length: 8_000 }, (_, n) => ({
    ...{ name: `package-${n}`, version: `1.${n}-1`, arch: 'amd64', origin: 'o'.repeat(512) },
  }));
  const report = { scanned_at: '2026-11-21T09:00:00.000Z', complete: true, packages, updates: [] };
  const body = JSON.stringify(report);
  return body + ' '.repeat(INVENTORY_MAX_BYTES - body.length);
}
