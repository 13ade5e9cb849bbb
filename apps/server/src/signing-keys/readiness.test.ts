import { expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createTestApp } from '../testing/test-app.ts';
import { chainStart } from './readiness.ts';

const KEYS = '/api/v1/admin/signing-keys';

test.each(ENGINES)('the chain starts after the last missing or unvouched set ($name)', async (engine) => {
  const app = await createTestApp(engine);
  const { database } = app.platform;
  const headers = { authorization: `Bearer ${await app.adminToken()}` };
  app.platform.clock.advance(61_000);
  const call = (url: string) =>
    app.http.inject({ method: 'POST', url, headers, ...(url === KEYS ? { payload: {} } : {}) });
  await call(KEYS);
  await call(`${KEYS}/2/use`);
  await call(`${KEYS}/1/revoke`);
  await call(KEYS);
  expect(await chainStart(database.read)).toBe(1);

  const forge = (version: number, envelope: string) =>
    database.transact((tx) =>
      tx.updateTable('key_sets').set({ envelope }).where('version', '=', version).execute(),
    );
  const third = await database.read
    .selectFrom('key_sets')
    .select('envelope')
    .where('version', '=', 3)
    .executeTakeFirstOrThrow();
  const stranger = JSON.parse(third.envelope);
  await forge(3, JSON.stringify({ ...stranger, signatures: [{ keyid: 'x', sig: 'AAAA' }] }));
  expect(await chainStart(database.read)).toBe(3);
  await database.transact((tx) => tx.deleteFrom('key_sets').where('version', '<', 5).execute());
  expect(await chainStart(database.read)).toBe(5);
});
