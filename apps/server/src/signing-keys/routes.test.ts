import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestApp } from '../testing/test-app.ts';

const KEYS = '/api/v1/admin/signing-keys';
const [engine] = ENGINES;

const cases: { weak: { name: string; hex: string }[] } = JSON.parse(
  readFileSync(new URL('../../../../vectors/ed25519-public-keys.json', import.meta.url), 'utf8'),
);

async function open() {
  if (!engine) throw new Error('SQLite is always there');
  const app = await createTestApp(engine);
  const authorization = `Bearer ${await app.adminToken()}`;
  app.platform.clock.advance(61_000);
  return async (method: 'GET' | 'POST', url: string, payload?: object) => {
    const request = { method, url, headers: { authorization }, ...(payload ? { payload } : {}) };
    const answer = await app.http.inject(request);
    return { status: answer.statusCode, body: answer.json() };
  };
}

test('E8 answers only active keys, newest first, each exactly as on the wire, and the key set', async () => {
  const call = await open();
  const second = (await call('POST', KEYS, {})).body;
  const third = (await call('POST', KEYS, {})).body;
  await call('POST', `${KEYS}/${second.version}/revoke`);
  const { body } = await call('GET', '/api/v1/public-keys');
  const key = {
    key_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
    public_key_hex: expect.stringMatching(/^[0-9a-f]{64}$/),
    status: 'active',
    created_at: expect.stringMatching(/Z$/),
  };
  expect(body).toEqual({
    keys: [
      { ...key, version: 3, key_id: third.key_id },
      { ...key, version: 1 },
    ],
    key_set: {
      payloadType: 'application/vnd.tidegate.keyset.v1+json',
      payload: expect.any(String),
      signatures: expect.any(Array),
    },
  });
});

test('R4: a rotation is add, use, revoke; the key in use and the last one stay (409)', async () => {
  const call = await open();
  expect((await call('POST', `${KEYS}/1/revoke`)).body).toMatchObject({ status: 409, code: 'conflict' });
  const added = await call('POST', KEYS, {});
  expect([added.status, added.body]).toEqual([
    201,
    expect.objectContaining({ version: 2, status: 'active', in_use: false, revoked_at: null }),
  ]);
  expect((await call('POST', `${KEYS}/2/use`)).body).toMatchObject({ version: 2, in_use: true });
  expect((await call('POST', `${KEYS}/1/revoke`)).body).toMatchObject({ version: 1, status: 'revoked' });
  expect((await call('POST', `${KEYS}/1/use`)).body).toMatchObject({ status: 409 });
  expect((await call('POST', `${KEYS}/1/revoke`)).body).toMatchObject({ status: 409 });
  expect((await call('POST', `${KEYS}/2/revoke`)).body).toMatchObject({ status: 409 });
  const { items } = (await call('GET', KEYS)).body;
  expect(items.map((key: { version: number; in_use: boolean }) => [key.version, key.in_use])).toEqual([
    [2, true],
    [1, false],
  ]);
});

test('a public half alone is added but cannot sign; a weak or a known one is refused', async () => {
  const call = await open();
  const [first] = (await call('GET', '/api/v1/public-keys')).body.keys;
  expect((await call('POST', KEYS, { public_key_hex: first.public_key_hex })).status).toBe(409);
  for (const { hex } of cases.weak) {
    expect((await call('POST', KEYS, { public_key_hex: hex })).body).toMatchObject({
      status: 400,
      code: 'invalid_request',
      errors: [{ path: '/public_key_hex' }],
    });
  }
  const ours = 'd75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a';
  expect(await call('POST', KEYS, { public_key_hex: ours })).toMatchObject({ status: 201 });
  expect((await call('POST', `${KEYS}/2/use`)).body).toMatchObject({ status: 409, code: 'conflict' });
});

test('signing keys are listed newest first, a page at a time', async () => {
  const call = await open();
  await call('POST', KEYS, {});
  await call('POST', KEYS, {});
  const first = (await call('GET', `${KEYS}?limit=2`)).body;
  expect([first.items.map((key: { version: number }) => key.version), first.total]).toEqual([[3, 2], 3]);
  const second = (await call('GET', `${KEYS}?limit=2&cursor=${first.next_cursor}`)).body;
  expect([second.items.map((key: { version: number }) => key.version), second.next_cursor]).toEqual([
    [1],
    null,
  ]);
});

test('R4: a revocation that would strand hosts is 409 with their number; force revokes anyway', async () => {
  if (!engine) throw new Error('SQLite is always there');
  const app = await createTestApp(engine);
  const authorization = `Bearer ${await app.adminToken()}`;
  app.platform.clock.advance(61_000);
  const call = async (url: string, payload?: object) => {
    const answer = await app.http.inject({
      method: 'POST',
      url,
      headers: { authorization },
      ...(payload && { payload }),
    });
    return { status: answer.statusCode, body: answer.json() };
  };
  const { database } = app.platform;
  const { agentId } = await insertTestAgent(database, { n: 1 });
  await call(KEYS, {});
  await call(`${KEYS}/2/use`);
  await database.transact(async (tx) => {
    await tx.updateTable('agents').set({ key_set_version: 1 }).where('id', '=', agentId).execute();
    await tx.deleteFrom('key_sets').where('version', '=', 1).execute();
  });
  const refused = await call(`${KEYS}/1/revoke`);
  expect(refused).toMatchObject({ status: 409, body: { code: 'conflict' } });
  expect(refused.body.detail).toMatch(
    /^1 agent holds a key set without the key in use, and no stored key set continues from it/,
  );
  expect((await call(`${KEYS}/1/revoke?force=yes`)).status).toBe(400);
  expect((await call(`${KEYS}/1/revoke?force=true`)).body).toMatchObject({ version: 1, status: 'revoked' });
});
