import { describe, expect, test } from 'vitest';
import { call, createAgentsApp, enrol, renewal } from '../testing/agents-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { REFUSALS_PER_BUDGET } from './address-guard.ts';

const BUDGET = { requests: 2, windowSeconds: 60, enabled: true };
const RENEW = '/api/v1/agents/renew';

describe.each(ENGINES)('renewal, judged by address before its body is read, on $name', (engine) => {
  test('after many refusals the address is refused without reading the body, until the minute is over', async () => {
    const it = createAgentsApp(await engine.open(), { budgets: { agent_renewal: BUDGET } });
    it.platform.clock.advance(61_000);
    const guess = () => call(it, 'POST', RENEW, { body: { unknown: 1 } });
    for (let i = 0; i < BUDGET.requests * REFUSALS_PER_BUDGET; i++) expect((await guess()).status).toBe(400);
    const refused = await guess();
    expect([refused.status, refused.code]).toEqual([429, 'rate_limited']);
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    // Requests refused by the limit do not count, or nobody would ever come back.
    it.platform.clock.advance(60_000);
    expect((await guess()).status).toBe(400);
  });

  test('a genuine token never counts: hosts behind one address renew as often as they need', async () => {
    const it = createAgentsApp(await engine.open(), { budgets: { agent_renewal: BUDGET } });
    it.platform.clock.advance(61_000);
    const agent = await enrol(it);
    let token = agent.refresh_token;
    for (let i = 0; i < BUDGET.requests * REFUSALS_PER_BUDGET + 1; i++) {
      const renewed = await renewal(it, token);
      expect(renewed.status).toBe(200);
      token = renewed.body.refresh_token;
      // The budget of the family, one per host.
      it.platform.clock.advance(31_000);
    }
  });

  test('429 by address changes no token: the same token renews afterwards', async () => {
    const it = createAgentsApp(await engine.open(), { budgets: { agent_renewal: BUDGET } });
    it.platform.clock.advance(61_000);
    const agent = await enrol(it);
    for (let i = 0; i < BUDGET.requests * REFUSALS_PER_BUDGET; i++)
      await call(it, 'POST', RENEW, { body: {} });
    expect((await renewal(it, agent.refresh_token)).status).toBe(429);
    it.platform.clock.advance(61_000);
    expect((await renewal(it, agent.refresh_token)).status).toBe(200);
  });
});
