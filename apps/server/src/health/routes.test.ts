import type { AdvisoryCheck } from '@tidegate/protocol/health-api';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createOperatorApp } from '../testing/operator-app.ts';

describe.each(ENGINES)('E6 on $name', (engine) => {
  test('answers status, version, uptime and checks, without a limit', async () => {
    const { send } = await createOperatorApp(engine);
    for (let i = 0; i < 20; i++) {
      const answer = await send('GET', '/api/health');
      expect([answer.statusCode, answer.json()]).toEqual([
        200,
        { status: 'ok', version: '1.2.3', uptime_seconds: 60, checks: { database: 'ok', advisories: 'ok' } },
      ]);
    }
  });

  test.each<[AdvisoryCheck, string]>([
    ['loading', 'ok'],
    ['off', 'ok'],
    ['stale', 'degraded'],
    ['missing', 'degraded'],
    ['unreachable', 'degraded'],
  ])('advisories that are %s make the status %s', async (advisories, status) => {
    const { send } = await createOperatorApp(engine, { advisories: () => advisories });
    expect((await send('GET', '/api/health')).json()).toMatchObject({ status, checks: { advisories } });
  });

  test('reports within its time limit that the database is down', async () => {
    const { send, database, clock } = await createOperatorApp(engine);
    expect((await send('GET', '/api/health')).json().status).toBe('ok');
    await database.close();
    clock.advance(1_000);
    expect((await send('GET', '/api/health')).json()).toMatchObject({
      status: 'degraded',
      checks: { database: 'down' },
    });
  });

  test('readiness is a status: 200 while requests may be sent here', async () => {
    const { send } = await createOperatorApp(engine, { advisories: () => 'unreachable' });
    for (let i = 0; i < 20; i++) {
      const answer = await send('GET', '/api/ready');
      expect([answer.statusCode, answer.json()]).toEqual([200, { status: 'ready' }]);
    }
  });

  test('a server without its database is not ready, and alive', async () => {
    const { send, database } = await createOperatorApp(engine);
    await database.close();
    expect(await readiness(send)).toEqual([503, expect.stringContaining('database cannot be reached'), '5']);
    expect((await send('GET', '/api/health')).statusCode).toBe(200);
  });

  test('a server whose database a newer release has upgraded is not ready, and alive', async () => {
    const { send, platform, clock } = await createOperatorApp(engine);
    expect((await send('GET', '/api/ready')).statusCode).toBe(200);
    const newer = { version: 9_999, name: 'from-the-future', applied_at: 0 };
    await platform.database.transact((tx) => tx.insertInto('schema_migrations').values(newer).execute());
    clock.advance(1_000);
    expect(await readiness(send)).toEqual([503, expect.stringContaining('newer release'), '5']);
    expect((await send('GET', '/api/health')).json()).toMatchObject({
      status: 'ok',
      checks: { database: 'ok' },
    });
  });

  test('a server that is about to stop is not ready at once, and alive', async () => {
    let isDraining = false;
    const { send } = await createOperatorApp(engine, { isDraining: () => isDraining });
    expect((await send('GET', '/api/ready')).statusCode).toBe(200);
    isDraining = true;
    expect(await readiness(send)).toEqual([503, 'The server is about to stop.', '5']);
    expect((await send('GET', '/api/health')).json()).toMatchObject({ status: 'ok' });
  });
});

async function readiness(send: Awaited<ReturnType<typeof createOperatorApp>>['send']) {
  const { statusCode, headers, json } = await send('GET', '/api/ready');
  return [statusCode, json().detail, headers['retry-after']];
}
