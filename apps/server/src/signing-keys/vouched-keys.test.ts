import { KEYSET_TYPE, KeySetPayload } from '@tidegate/protocol/documents';
import { generatePrivateKeyHex, loadSigningKey, type SigningKey, signEnvelope } from '@tidegate/signing/sign';
import { loadTrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import type { Database } from '../platform/db/engine.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { createTestApp, type TestApp } from '../testing/test-app.ts';
import { newestKeySet } from './store.ts';

const KEYS = '/api/v1/admin/signing-keys';
const THIEF_ID = '01900000-0000-7000-8000-00000000dead';
const thief = loadSigningKey({
  keyId: THIEF_ID,
  privateKeyHex: generatePrivateKeyHex(Buffer.alloc(32, 66)),
});

/** Acts of an attacker with write access to the database. */
async function insertByHand(database: Database, row: Partial<{ in_use: number; version: number }> = {}) {
  await database.transact((tx) =>
    tx
      .insertInto('signing_keys')
      .values({
        key_id: THIEF_ID,
        version: 99,
        public_key_hex: thief.publicKeyHex,
        status: 'active',
        created_at: 0,
        revoked_at: null,
        in_use: 0,
        first_key_set_version: 0,
        ...row,
      })
      .execute(),
  );
}

async function open(engine: TestEngine) {
  const app = await createTestApp(engine);
  const headers = { authorization: `Bearer ${await app.adminToken()}` };
  app.platform.clock.advance(61_000);
  const send = (method: 'GET' | 'POST', url: string, payload?: object) =>
    app.http.inject({ method, url, headers, ...(payload ? { payload } : {}) });
  return { app, database: app.platform.database, send };
}

/** The keys that an agent trusts which starts with only `first`. */
async function believedKeys(app: TestApp, first: { key_id: string; public_key_hex: string }) {
  const answer = await app.http.inject({ url: '/api/v1/public-keys' });
  const trusted = loadTrustedKey({ keyId: first.key_id, publicKeyHex: first.public_key_hex });
  const verified = verifyEnvelope(answer.json().key_set, [trusted], KEYSET_TYPE);
  const payload: unknown = verified.ok ? JSON.parse(Buffer.from(verified.payload).toString()) : null;
  if (!Value.Check(KeySetPayload, payload)) throw new Error('nobody would believe this key set');
  const listed: string[] = answer.json().keys.map((key: { key_id: string }) => key.key_id);
  return { inSet: payload.keys.map((key) => [key.key_id, key.status]), listed, version: payload.version };
}

async function firstKey(app: TestApp) {
  const [key] = (await app.http.inject({ url: '/api/v1/public-keys' })).json().keys;
  return key;
}

describe.each(ENGINES)('a row added to signing_keys by hand, on $name (reading 11)', (engine) => {
  test('is in no answer of E8, is trusted by nobody and cannot be put in use', async () => {
    const { app, database, send } = await open(engine);
    const first = await firstKey(app);
    await insertByHand(database);
    app.platform.clock.advance(11_000);
    expect((await believedKeys(app, first)).listed).toEqual([first.key_id]);
    expect((await send('POST', `${KEYS}/99/use`)).statusCode).toBe(409);
    const { items } = (await send('GET', KEYS)).json();
    expect(items.find((key: { version: number }) => key.version === 99)).toMatchObject({ trusted_by: 0 });
    expect(app.platform.lines.filter((line) => line.includes('added to the table by hand'))).toHaveLength(1);
  });

  test.each([
    ['a key is added', (send: Sender) => send('POST', KEYS, {})],
    [
      'another key is put in use',
      async (send: Sender) => {
        const added = await send('POST', KEYS, {});
        await send('POST', `${KEYS}/${added.json().version}/use`);
      },
    ],
    [
      'another key is revoked',
      async (send: Sender) => {
        const added = await send('POST', KEYS, {});
        await send('POST', `${KEYS}/${added.json().version}/revoke`);
      },
    ],
  ])('no key set vouches for it when %s', async (_, change) => {
    const { app, database, send } = await open(engine);
    const first = await firstKey(app);
    await insertByHand(database, { version: 98 });
    await change(send);
    const { inSet, listed, version } = await believedKeys(app, first);
    expect(version).toBeGreaterThan(1);
    expect(inSet.map(([keyId]) => keyId)).not.toContain(THIEF_ID);
    expect(listed).not.toContain(THIEF_ID);
  });

  test('no key set vouches for it when the set is renewed, also after its expiry was changed by hand', async () => {
    const { app, database } = await open(engine);
    const first = await firstKey(app);
    await insertByHand(database);
    await database.transact((tx) => tx.updateTable('key_sets').set({ expires_at: 0 }).execute());
    app.platform.clock.advance(11_000);
    const { inSet, version } = await believedKeys(app, first);
    expect(version).toBe(2);
    expect(inSet).toEqual([[first.key_id, 'active']]);
  });

  test('no key set vouches for it if the stored set was replaced or removed by hand', async () => {
    for (const replace of [replacedSet, null]) {
      const { app, database, send } = await open(engine);
      const first = await firstKey(app);
      await insertByHand(database);
      const stored = await newestKeySet(database.read);
      if (!stored) throw new Error('there is a key set');
      await database.transact(async (tx) => {
        if (replace)
          await tx
            .updateTable('key_sets')
            .set({ envelope: replace(thief) })
            .execute();
        else await tx.deleteFrom('key_sets').execute();
      });
      await send('POST', KEYS, {});
      const { inSet, listed } = await believedKeys(app, first);
      expect(inSet.map(([keyId]) => keyId)).not.toContain(THIEF_ID);
      expect(listed).not.toContain(THIEF_ID);
    }
  });

  test('a public half or a revocation changed by hand is not vouched for', async () => {
    const { app, database, send } = await open(engine);
    const first = await firstKey(app);
    const [changed, revived] = [await send('POST', KEYS, {}), await send('POST', KEYS, {})];
    await send('POST', `${KEYS}/${revived.json().version}/revoke`);
    await database.transact(async (tx) => {
      const keys = () => tx.updateTable('signing_keys');
      await keys()
        .set({ public_key_hex: thief.publicKeyHex })
        .where('key_id', '=', changed.json().key_id)
        .execute();
      await keys().set({ status: 'active' }).where('key_id', '=', revived.json().key_id).execute();
    });
    await send('POST', KEYS, {});
    const { inSet, listed } = await believedKeys(app, first);
    const active = inSet.flatMap(([keyId, status]) => (status === 'active' ? [keyId] : []));
    for (const key of [changed, revived]) {
      expect(active).not.toContain(key.json().key_id);
      expect(listed).not.toContain(key.json().key_id);
    }
  });

  test('R4: the next key set passes on a revocation by hand, within ten seconds', async () => {
    const { app, database, send } = await open(engine);
    const first = await firstKey(app);
    const { key_id } = (await send('POST', KEYS, {})).json();
    await database.transact((tx) =>
      tx
        .updateTable('signing_keys')
        .set({ status: 'revoked', revoked_at: app.platform.now() })
        .where('key_id', '=', key_id)
        .execute(),
    );
    app.platform.clock.advance(11_000);
    const { inSet, listed } = await believedKeys(app, first);
    expect(inSet).toContainEqual([key_id, 'revoked']);
    expect(listed).toEqual([first.key_id]);
  });
});

type Sender = Awaited<ReturnType<typeof open>>['send'];

/** A key set signed by the attacker, with only the attacker's key. */
function replacedSet(key: SigningKey): string {
  const entry = {
    key_id: key.keyId,
    version: 1,
    public_key_hex: key.publicKeyHex,
    status: 'active',
    created_at: '2026-01-01T00:00:00Z',
    revoked_at: null,
  };
  const payload = {
    v: 1,
    fleet_id: '01900000-0000-7000-8000-000000000001',
    version: 1,
    issued_at: '2026-01-01T00:00:00Z',
    expires_at: '2036-01-01T00:00:00Z',
    keys: [entry],
  };
  return JSON.stringify(signEnvelope(key, KEYSET_TYPE, Buffer.from(JSON.stringify(payload))));
}
