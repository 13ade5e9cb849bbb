import { describe, expect, test } from 'vitest';
import { readConfig } from '../config.ts';
import { createAgentsApp, enrol, eventTypes, renewal } from '../testing/agents-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { endOfToken, isPastMaxAge } from './family-age-rules.ts';

const DAY_MS = 86_400_000;

describe('the absolute age of a family, which is off unless an operator sets it', () => {
  test.each<[string, { createdAtMs: number; nowMs: number }, number | null, boolean]>([
    ['off', { createdAtMs: 0, nowMs: Number.MAX_SAFE_INTEGER }, null, false],
    ['in its last millisecond', { createdAtMs: 5, nowMs: 5 + DAY_MS - 1 }, DAY_MS, false],
    ['at its age', { createdAtMs: 5, nowMs: 5 + DAY_MS }, DAY_MS, true],
    ['while the clock is before its start', { createdAtMs: 5, nowMs: 0 }, DAY_MS, false],
  ])('%s', (_, times, maxAgeMs, expected) => {
    expect(isPastMaxAge(times, maxAgeMs)).toBe(expected);
  });

  test.each<[string, number, number | null, number]>([
    ['ninety days after its issue (R2)', 10, null, 10 + 90 * DAY_MS],
    ['the same where the family may live longer', 10, 3_650 * DAY_MS, 10 + 90 * DAY_MS],
    ['with its family, where that ends before', 10, 30 * DAY_MS, 30 * DAY_MS],
  ])('a token ends %s', (_, issuedAtMs, maxAgeMs, expected) => {
    expect(endOfToken({ createdAtMs: 0, issuedAtMs }, maxAgeMs)).toBe(expected);
  });

  test.each<[string, number | null | 'refused']>([
    ['', null],
    ['1', 1],
    ['3650', 3_650],
    ['0', 'refused'],
    ['3651', 'refused'],
    ['1.5', 'refused'],
    ['never', 'refused'],
  ])('SERVICE_REFRESH_FAMILY_MAX_DAYS=%s is %s', (text, expected) => {
    const read = readConfig({ SERVICE_REFRESH_FAMILY_MAX_DAYS: text });
    expect(read.ok ? read.config.refreshFamilyMaxDays : 'refused').toBe(expected);
  });
});

describe.each(ENGINES)('a family past its age on $name', (engine) => {
  test('is 401 with an info line, not reuse, and its host enrols again with the same id', async () => {
    const it = createAgentsApp(await engine.open(), { familyMaxAgeMs: 100 * DAY_MS });
    const agent = await enrol(it);
    it.platform.clock.advance(60 * DAY_MS);
    const second = await renewal(it, agent.refresh_token);
    expect(Date.parse(second.body.refresh_expires_at) - it.platform.now()).toBe(40 * DAY_MS);
    await expect(enrol(it)).rejects.toThrow('409');
    it.platform.clock.advance(40 * DAY_MS);
    const stored = () => it.platform.database.read.selectFrom('refresh_families').selectAll().execute();
    const before = await stored();
    for (const token of [second.body.refresh_token, agent.refresh_token]) {
      const answer = await renewal(it, token);
      expect([answer.status, answer.code]).toEqual([401, 'refresh_token_invalid']);
    }
    expect(await stored()).toEqual(before);
    expect(it.platform.lines.filter((line) => line.startsWith('[INFO] renewal refused'))).toEqual([
      expect.stringContaining('why=family_expired'),
      expect.stringContaining('why=family_expired'),
    ]);
    const again = await enrol(it);
    expect(again.agent_id).toBe(agent.agent_id);
    expect((await renewal(it, again.refresh_token)).status).toBe(200);
    expect(await eventTypes(it)).toEqual(['AGENT_ENROLLED', 'AGENT_ENROLLED']);
  });
});
