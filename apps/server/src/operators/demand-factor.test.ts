import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createFactorScene } from '../testing/factor-scene.ts';
import { ADMIN } from '../testing/operator-app.ts';
import { type FactorPolicy, isFactorDemanded } from './demand-factor.ts';

const DAY_MS = 86_400_000;
const RATES = '/api/v1/admin/rate-limits';
const MISSING = '403 second_factor_missing';

test.each([
  ['optional', 'viewer', false],
  ['optional', 'admin', false],
  ['admins', 'viewer', false],
  ['admins', 'approver', false],
  ['admins', 'admin', true],
  ['everyone', 'viewer', true],
] as const)('%s: a second factor of a %s is asked for: %j', (who, role, isDemanded) => {
  expect(isFactorDemanded({ who, graceMs: 0 }, { role })).toBe(isDemanded);
});

describe.each(ENGINES)('a required second factor, on $name', (engine) => {
  async function open(factorPolicy: FactorPolicy) {
    const scene = await createFactorScene(engine, { factorPolicy });
    const probe = async (headers: object, url = RATES) => {
      const answer = await scene.send('GET', url, { headers: { ...headers } });
      return answer.statusCode === 200 ? '200' : `${answer.statusCode} ${answer.json().code}`;
    };
    const dueAt = async (headers: object) =>
      (await scene.send('GET', '/api/v1/auth/session', { headers: { ...headers } })).json()
        .second_factor_due_at;
    return { ...scene, probe, dueAt };
  }

  test('has a grace period from the first login; after it only enrolling one is allowed', async () => {
    const { logIn, probe, dueAt, clock, enrolTotp } = await open({ who: 'everyone', graceMs: 7 * DAY_MS });
    const first = await logIn();
    const due = new Date(clock.now() + 7 * DAY_MS).toISOString();
    expect([await probe(first.headers), await dueAt(first.headers)]).toEqual(['200', due]);
    clock.advance(6 * DAY_MS);
    const second = await logIn();
    expect([await probe(second.headers), await dueAt(second.headers)]).toEqual(['200', due]);
    clock.advance(DAY_MS);
    const late = (await logIn()).headers;
    expect(await probe(late)).toBe(MISSING);
    for (const url of ['session', 'sessions', 'passkeys', 'notices']) {
      expect([url, await probe(late, `/api/v1/auth/${url}`)]).toEqual([url, '200']);
    }
    await enrolTotp(late);
    expect(await probe(late)).toBe('200');
  });

  test('is enforced within an open session too, on time', async () => {
    const { logIn, probe, clock } = await open({ who: 'everyone', graceMs: 60_000 });
    const { headers } = await logIn();
    clock.advance(59_999);
    expect(await probe(headers)).toBe('200');
    clock.advance(1);
    expect(await probe(headers)).toBe(MISSING);
  });

  test('is required of admins only, if so configured', async () => {
    const { logIn, addOperator, enrolTotp, logInWith, probe } = await open({ who: 'admins', graceMs: 0 });
    const { headers } = await logIn();
    expect(await probe(headers)).toBe(MISSING);
    await enrolTotp(headers);
    const vera = await addOperator(headers, 'vera');
    const hers = await logInWith({}, vera.credentials);
    expect(await probe(hers, '/api/v1/auth/session')).toBe('200');
    expect(await probe(hers)).toBe('403 forbidden');
  });

  test('blocks everything at the next login once it is removed', async () => {
    const { logIn, enrolTotp, must, probe } = await open({ who: 'everyone', graceMs: 0 });
    const { headers } = await logIn();
    await enrolTotp(headers);
    await must('DELETE', '/api/v1/auth/totp', { headers });
    expect(await probe((await logIn(ADMIN)).headers)).toBe(MISSING);
  });

  test('is required of nobody when optional', async () => {
    const { logIn, probe, dueAt, clock } = await open({ who: 'optional', graceMs: 0 });
    clock.advance(DAY_MS);
    const { headers } = await logIn();
    expect([await probe(headers), await dueAt(headers)]).toEqual(['200', null]);
  });
});
