import { tmpDir } from '@tidegate/testkit/tmp';
import { afterEach, expect, test } from 'vitest';
import { openConfig, saveConfig } from '../identity/config-file.ts';
import { accessToken, configOf } from '../testing/agent-config.ts';
import { createFleet, NOW_MS } from '../testing/fleet.ts';
import { html, json, problem, type Reply, type Seen, startServer } from '../testing/scripted-server.ts';
import { createRenewer } from './renew.ts';
import { createServerClient } from './server-client.ts';
import { createSession } from './session.ts';

const fleet = createFleet();
const stops: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
});

/** A session against a server whose E1 works; `answer` is for every other request. */
async function open(
  answer: (request: Seen) => Reply | 'hang up' | Promise<Reply>,
  options: { nowMs?: number; random?: number; renewal?: () => Reply } = {},
) {
  const { nowMs = NOW_MS, random = 0, renewal } = options;
  const folder = tmpDir();
  const server = await startServer((request) => {
    if (request.path !== '/api/v1/agents/renew') return answer(request);
    return renewal?.() ?? pair(++renewals);
  });
  stops.push(server.stop, folder.remove);
  let renewals = 0;
  const start = configOf(fleet, { access_token: accessToken() });
  saveConfig(folder.path, start);
  const config = openConfig(folder.path, start);
  const client = createServerClient({ baseUrl: server.url });
  const time = { ms: 0 };
  const elapsedMs = () => time.ms;
  const { machineId } = fleet;
  const renewer = createRenewer({ config, client, machineId, elapsedMs });
  const parts = { config, client, renewer, machineId, elapsedMs, nowMs: () => nowMs, random: () => random };
  const count = () => server.seen.filter(({ path }) => path.endsWith('/renew')).length;
  return { session: createSession(parts), count, seen: server.seen, time };
}

function pair(generation: number): Reply {
  return json({
    access_token: `access-${generation}`,
    expires_in: 900,
    refresh_token: `refresh-${generation}`,
    refresh_expires_at: '2027-01-01T00:00:00Z',
  });
}

const request = { method: 'GET', path: '/x' } as const;
const withNewToken = ({ headers }: Seen) =>
  headers.authorization === 'Bearer access-1' ? json({ ok: true }) : problem('access_token_expired');

test('every request carries the access token and the machine id (section 5)', async () => {
  const { session, seen } = await open(() => json({}));
  await session.call(request);
  expect(seen[0]?.headers).toMatchObject({
    authorization: expect.stringMatching(/^Bearer x\./),
    'x-machine-id': fleet.machineId,
  });
});

test('an expired token is renewed once and the request repeated', async () => {
  const { session, count } = await open(withNewToken);
  expect(await session.call(request)).toMatchObject({ ok: true, value: { body: { ok: true } } });
  expect(count()).toBe(1);
});

test('requests that meet an expired token together renew once', async () => {
  const { session, count } = await open(withNewToken);
  const outcomes = await Promise.all([1, 2, 3, 4].map(() => session.call(request)));
  expect(outcomes.every((outcome) => outcome.ok)).toBe(true);
  expect(count()).toBe(1);
});

test('a request whose 401 comes after another one has renewed does not renew again', async () => {
  const renewed = Promise.withResolvers<void>();
  const { session, count } = await open(async (seen) => {
    if (seen.path === '/late' && seen.headers.authorization !== 'Bearer access-1') await renewed.promise;
    return withNewToken(seen);
  });
  const late = session.call({ method: 'GET', path: '/late' });
  await session.call(request);
  renewed.resolve();
  expect((await late).ok).toBe(true);
  expect(count()).toBe(1);
});

test('401 after one successful renewal is ErrUnauthorized (section 7)', async () => {
  const { session, count } = await open(() => problem('access_token_invalid'));
  expect(await session.call(request)).toMatchObject({
    failure: { kind: 'terminal', error: 'ErrUnauthorized' },
  });
  expect(count()).toBe(1);
});

test('a revoked agent ends with ErrRefreshTokenInvalid (docs/protocol/errors.md)', async () => {
  const refused = () => problem('refresh_token_invalid');
  const { session } = await open(() => problem('access_token_invalid'), { renewal: refused });
  expect(await session.call(request)).toMatchObject({ failure: { error: 'ErrRefreshTokenInvalid' } });
});

test('403 unauthorized is ErrMachineMismatch, the 403 page of a proxy is not (design reading 9)', async () => {
  const differs = await open(() => problem('unauthorized'));
  expect(await differs.session.call(request)).toMatchObject({ failure: { error: 'ErrMachineMismatch' } });
  const proxied = await open(() => html(403));
  expect(await proxied.session.call(request)).toMatchObject({ failure: { kind: 'retryable' } });
  const portal = await open(() => html(401));
  expect(await portal.session.call(request)).toMatchObject({ failure: { kind: 'retryable' } });
  expect(portal.count()).toBe(0);
});

test.each([
  ['rate_limited', 'retryable'],
  ['unavailable', 'retryable'],
  ['binding_pending', 'retryable'],
  ['not_found', 'rejected'],
  ['command_finished', 'rejected'],
  ['forbidden', 'rejected'],
] as const)('%s is %s', async (code, kind) => {
  const { session } = await open(() => problem(code));
  expect(await session.call(request)).toMatchObject({ ok: false, failure: { kind } });
});

test.each([
  [0, 450_000],
  [0.5, 540_000],
  [1, 630_000],
])(
  'with %d drawn it is renewed at %d ms, so that a fleet does not renew at once (jitter)',
  async (random, dueMs) => {
    const { session, count, time } = await open(() => json({}), { random });
    for (const [ms, renewals] of [
      [dueMs - 1, 0],
      [dueMs, 1],
      [2 * dueMs - 1, 1], // the successor too, by its lifetime
      [2 * dueMs, 2],
    ] as const) {
      time.ms = ms;
      await session.call(request);
      expect([ms, count()]).toEqual([ms, renewals]);
    }
  },
);

test.each([
  ['years behind', NOW_MS - 5 * 365 * 86_400_000, 450_000],
  ['years ahead', NOW_MS + 5 * 365 * 86_400_000, 0],
])('a clock that is %s keeps no token from early renewal (RT18)', async (_, nowMs, dueMs) => {
  const { session, count, time } = await open(() => json({}), { nowMs });
  time.ms = dueMs - 1;
  if (dueMs > 0) await session.call(request);
  expect(count()).toBe(0);
  time.ms = dueMs;
  await session.call(request);
  expect(count()).toBe(1);
  time.ms = dueMs + 449_000;
  await session.call(request);
  expect(count()).toBe(1); // and no storm of them afterwards
});

test('a token is renewed early, at half of its life', async () => {
  const { session, count, time } = await open(() => json({}));
  time.ms = 449_000;
  await session.call(request);
  expect(count()).toBe(0);
  time.ms = 450_000;
  await session.call(request);
  expect(count()).toBe(1);
  await session.call(request);
  expect(count()).toBe(1);
});

test('a failed early renewal does not prevent the request', async () => {
  const { session, count } = await open(() => json({ ok: true }), {
    nowMs: NOW_MS + 600_000,
    renewal: () => problem('unavailable'),
  });
  expect((await session.call(request)).ok).toBe(true);
  expect((await session.call(request)).ok).toBe(true);
  expect(count()).toBe(1);
});

test('an expired token and a renewal that the server has no room for: one of each, and then nothing until Retry-After', async () => {
  const { session, count, seen, time } = await open(withNewToken, {
    nowMs: NOW_MS + 900_000,
    renewal: () => (time.ms < 90_000 ? problem('unavailable', { 'retry-after': '90' }) : pair(1)),
  });
  const held = (retryAfterMs: number) => ({ ok: false, failure: { kind: 'retryable', retryAfterMs } });
  expect(await session.call(request)).toMatchObject(held(90_000));
  time.ms = 89_000;
  expect(await session.call(request)).toMatchObject(held(1_000));
  expect([count(), seen.length]).toEqual([1, 2]);
  time.ms = 90_000;
  expect((await session.call(request)).ok).toBe(true);
  expect([count(), seen.length]).toEqual([2, 4]);
});

test('a renewal without room for it does not end an identity, however often it fails (E1)', async () => {
  const { session, count, time } = await open(withNewToken, {
    nowMs: NOW_MS + 900_000,
    renewal: () => (count() < 50 ? problem(count() % 2 === 0 ? 'unavailable' : 'rate_limited') : pair(1)),
  });
  for (let n = 0; n < 49; n++) {
    expect(await session.call(request)).toMatchObject({ failure: { kind: 'retryable' } });
    time.ms += 60_000;
  }
  expect((await session.call(request)).ok).toBe(true);
});
