import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, describe, expect, test } from 'vitest';
import { loadConfig, openConfig, saveConfig } from '../identity/config-file.ts';
import type { FileLayer } from '../platform/file-layer.ts';
import { configOf } from '../testing/agent-config.ts';
import { failingFiles } from '../testing/failing-files.ts';
import { createFleet } from '../testing/fleet.ts';
import { html, json, problem, type Reply, type Seen, startServer } from '../testing/scripted-server.ts';
import { createRenewer, RENEW_PAUSE_MS } from './renew.ts';
import { createServerClient, type ServerClient, type ServerRequest } from './server-client.ts';

const fleet = createFleet();
/** Longest that the server works on one request. */
const SERVER_LIMIT_MS = 30_000;
const pair = json({
  access_token: 'access-1',
  expires_in: 900,
  refresh_token: 'refresh-1',
  refresh_expires_at: '2027-01-01T00:00:00Z',
});
const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

async function enrolled(answer: (request: Seen) => Reply | 'hang up' | Promise<Reply | 'hang up'>) {
  const folder = tmpDir();
  const server = await startServer(answer);
  stops.push(server.stop, folder.remove);
  saveConfig(folder.path, configOf(fleet));
  const time = { ms: 0 };
  const start = (files?: FileLayer) => {
    const loaded = loadConfig(folder.path);
    if (!loaded.ok) throw new Error(loaded.detail);
    const config = openConfig(folder.path, loaded.config, files);
    const client = createServerClient({ baseUrl: server.url });
    return createRenewer({ config, client, machineId: fleet.machineId, elapsedMs: () => time.ms });
  };
  const onDisk = () => {
    const loaded = loadConfig(folder.path);
    if (!loaded.ok) throw new Error(loaded.detail);
    return loaded.config;
  };
  const sent = () =>
    server.seen.map(({ body }): { refresh_token: string; request_id: string } => JSON.parse(body));
  return { start, onDisk, sent, time, server };
}

describe('E1', () => {
  test('stores the new pair and forgets the request id', async () => {
    const { start, onDisk, sent } = await enrolled(() => pair);
    expect(await start().renew()).toEqual({ ok: true, value: { lifetimeMs: 900_000 } });
    expect(onDisk()).toMatchObject({
      access_token: 'access-1',
      refresh_token: 'refresh-1',
      pending_request_id: null,
    });
    expect(sent()).toMatchObject([{ refresh_token: 'refresh-0' }]);
  });

  test('the request id is on disk before the request is sent', async () => {
    let pendingWhenSent: string | null = null;
    const agent = await enrolled(() => {
      pendingWhenSent = agent.onDisk().pending_request_id;
      return pair;
    });
    await agent.start().renew();
    expect(pendingWhenSent).toBe(agent.sent()[0]?.request_id);
  });

  test('simultaneous renewals are one request (I6, I8)', async () => {
    const { start, sent } = await enrolled(() => pair);
    const renewer = start();
    const outcomes = await Promise.all([renewer.renew(), renewer.renew(), renewer.renew()]);
    expect(outcomes.every((outcome) => outcome.ok)).toBe(true);
    expect(sent()).toHaveLength(1);
  });

  test('a lost answer is requested again with the same id, also after a restart (I2, I3)', async () => {
    let lost = true;
    const { start, sent, onDisk } = await enrolled(() => (lost ? 'hang up' : pair));
    expect(await start().renew()).toMatchObject({ ok: false, failure: { kind: 'retryable' } });
    lost = false;
    expect((await start().renew()).ok).toBe(true);
    const [first, second] = sent();
    expect(second).toEqual(first);
    expect(onDisk().pending_request_id).toBeNull();
  });

  test('an unanswered E1 is not repeated within a minute (I13)', async () => {
    const { start, sent, time } = await enrolled(() => 'hang up');
    const renewer = start();
    await renewer.renew();
    time.ms = RENEW_PAUSE_MS - 1;
    expect(await renewer.renew()).toMatchObject({ failure: { kind: 'retryable', retryAfterMs: 1 } });
    expect(sent()).toHaveLength(1);
    time.ms = RENEW_PAUSE_MS;
    await renewer.renew();
    expect(sent()).toHaveLength(2);
  });

  test('waits longer than the server may take, on a connection of its own (I13)', async () => {
    const asked: ServerRequest[] = [];
    using folder = tmpDir();
    const config = openConfig(folder.path, configOf(fleet));
    const client: ServerClient = {
      request: async (request) => {
        asked.push(request);
        return { kind: 'unreachable', detail: 'no answer', retryAfterMs: null };
      },
    };
    await createRenewer({ config, client, machineId: fleet.machineId, elapsedMs: () => 0 }).renew();
    expect(asked).toMatchObject([{ path: '/api/v1/agents/renew', ownConnection: true }]);
    expect(asked[0]?.timeoutMs).toBeGreaterThan(SERVER_LIMIT_MS);
    expect(RENEW_PAUSE_MS).toBeGreaterThanOrEqual(60_000);
  });

  test('a proxy that answers for a server that may be at work counts as silence (I13)', async () => {
    const { start, sent } = await enrolled(() => html(504));
    const renewer = start();
    await renewer.renew();
    await renewer.renew();
    expect(sent()).toHaveLength(1);
  });

  test('an answer of the server ends the wait, as no renewal is pending', async () => {
    const { start, sent } = await enrolled(() => problem('unavailable'));
    const renewer = start();
    await renewer.renew();
    await renewer.renew();
    expect(sent()).toHaveLength(2);
  });

  test.each([
    [
      'MACHINE_ID_MISMATCH',
      problem('MACHINE_ID_MISMATCH'),
      { kind: 'terminal', error: 'ErrMachineMismatch' },
    ],
    [
      'a refused token',
      problem('refresh_token_invalid'),
      { kind: 'terminal', error: 'ErrRefreshTokenInvalid' },
    ],
    ['429', problem('rate_limited', { 'retry-after': '9' }), { kind: 'retryable', retryAfterMs: 9_000 }],
    ['503', problem('unavailable'), { kind: 'retryable' }],
    ['a proxy 401', html(401), { kind: 'retryable' }],
    ['a proxy 403', html(403), { kind: 'retryable' }],
    ['a body of unknown form', json({ access_token: 'x' }), { kind: 'retryable' }],
  ])('%s changes no token', async (_, reply, failure) => {
    const { start, onDisk } = await enrolled(() => reply);
    expect(await start().renew()).toMatchObject({ ok: false, failure });
    expect(onDisk()).toMatchObject({ access_token: 'access-0', refresh_token: 'refresh-0' });
    expect(onDisk().pending_request_id).not.toBeNull();
  });

  test('with a full disk nothing is sent, so no token is spent (RT8)', async () => {
    const { start, sent } = await enrolled(() => pair);
    expect(await start(failingFiles(1, 'error').files).renew()).toMatchObject({
      failure: { kind: 'storage' },
    });
    expect(sent()).toHaveLength(0);
  });
});
