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
});
