import { Calendar } from '@tidegate/protocol/calendar-api';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { compareAndSwapStatus } from '../commands/store.ts';
import { insertOperator } from '../operators/store.ts';
import { createRefused } from '../policy-runs/refused.ts';
import { runPoliciesOnce } from '../policy-runs/run-policies.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import { believeClock, jumpAhead } from '../testing/jumping-clock.ts';
import { BLACKOUT, HOLD, STANDING } from '../testing/standing.ts';
import { createDueCounts } from './count-due.ts';
import { countRuns } from './count-runs.ts';
import { daysOf } from './day-rules.ts';
import { readCalendar } from './read-calendar.ts';
import { mountCalendar } from './routes.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const DAY_MS = 24 * HOUR_MS;
const WINDOW = {
  ...{ rrule: 'FREQ=DAILY', starts_on: '2026-11-01', start: '02:30' },
  ...{ zone: 'Asia/Kolkata', duration_minutes: 120 },
};

/** The clock of tests starts at 09:00 UTC on 21 November. */
describe.each(ENGINES)('the calendar on $name', (engine) => {
  async function scene() {
    const it = await createApprovalsApp(engine);
    const { database, platform, call, clock } = it;
    const due = createDueCounts(platform);
    mountCalendar(it.app.routes, { platform, due });
    await database.transact(async (tx) => {
      const ada = { id: '01900000-0000-7000-a000-000000000001', username: 'ada', password_hash: 'x' };
      await insertOperator(tx, { ...ada, role: 'approver', groups: null, created_at: 1, disabled_at: null });
    });
    const made = async (url: string, body: object): Promise<string> => {
      const answer = await call('POST', url, body);
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return answer.body.id;
    };
    /** Ends the installations under way, as their hosts report it. */
    const end = async (status: 'success' | 'failed' | 'refused') => {
      const rows = await database.read
        .selectFrom('agent_commands')
        .select('id')
        .where('action', '=', 'install_update')
        .where('status', '=', 'pending')
        .execute();
      await database.transact(async (tx) => {
        for (const { id } of rows) {
          await compareAndSwapStatus(tx, {
            id,
            from: ['pending'],
            change: { status },
            nowMs: platform.now(),
          });
        }
      });
      return rows.length;
    };
    return {
      ...{ ...it, due, end },
      publish: (change: object = {}) => made('/api/v1/policies', { ...STANDING, ...change }),
      freeze: (change: object = {}) => made('/api/v1/blackouts', { ...BLACKOUT, ...change }),
      hold: (change: object = {}) => made('/api/v1/holds', { ...HOLD, ...change }),
      runPolicies: () => runPoliciesOnce(it.deps, createRefused()),
      async count() {
        clock.advance(2 * MINUTE_MS);
        while (await countRuns(platform));
      },
      async read({ from = '2026-11-21', days = 3, zone = 'UTC' } = {}): Promise<Calendar> {
        const answer = await call('GET', `/api/v1/calendar?from=${from}&days=${days}&zone=${zone}`);
        expect(answer.status, JSON.stringify(answer.body)).toBe(200);
        return Value.Parse(Calendar, answer.body);
      },
    };
  }
  const brief = ({ entries }: Calendar) =>
    entries.map(({ kind, name, starts_at, ends_at, zone, live, count }) =>
      [kind, name, starts_at.slice(5, 16), ends_at.slice(5, 16), zone, live, count].join(' '),
    );

  test('has windows in the zone of their schedule, blackouts, and the ends of policies and holds', async () => {
    const it = await scene();
    const policy = await it.publish({ windows: [WINDOW], ends_at: '2026-11-23T20:00:00Z' });
    const always = await it.publish({ name: 'Always' });
    const freeze = await it.freeze();
    await it.hold({ ends_at: '2026-11-22T18:00:00Z', packages: ['a', 'b', 'c', 'd'] });
    const calendar = await it.read();
    expect(brief(calendar)).toEqual([
      'blackout Year end 11-21T12:00 11-22T12:00  true ',
      'window Nightly 11-21T21:00 11-21T23:00 Asia/Kolkata true ',
      'hold_ends a, b, c and 1 more 11-22T18:00 11-22T18:00  true ',
      'window Nightly 11-22T21:00 11-22T23:00 Asia/Kolkata true ',
      'policy_ends Nightly 11-23T20:00 11-23T20:00  true ',
    ]);
    expect(calendar.entries.map(({ id }) => id)).toEqual(expect.arrayContaining([policy, freeze]));
    expect(calendar.always).toEqual([{ id: always, name: 'Always' }]);
  });

  test('has the days of the zone that was asked for, also those with 23 and 25 hours', async () => {
    const it = await scene();
    const { days } = await it.read({ from: '2026-03-29', days: 1, zone: 'Europe/Berlin' });
    expect(days).toEqual([
      { date: '2026-03-29', starts_at: '2026-03-28T23:00:00.000Z', ends_at: '2026-03-29T22:00:00.000Z' },
    ]);
    expect((await it.read({ days: 62 })).days).toHaveLength(62);
  });

  test.each([
    ['days=63', 'querystring/days'],
    ['days=0', 'querystring/days'],
    ['zone=Europe/Atlantis', 'querystring/zone'],
    ['from=2026-02-30', 'querystring/from'],
  ])('%s is refused at its place', async (change, path) => {
    const it = await scene();
    const asked = new URLSearchParams({ from: '2026-11-21', days: '1', zone: 'UTC' });
    for (const [name, value] of new URLSearchParams(change)) asked.set(name, value);
    const { status, body } = await it.call('GET', `/api/v1/calendar?${asked}`);
    expect([status, body.errors[0].path]).toEqual([400, path]);
  });

  test('keeps what was in force: a policy that was revoked, a blackout that was lifted', async () => {
    const it = await scene();
    const policy = await it.publish({ windows: [WINDOW] });
    const freeze = await it.freeze();
    it.clock.advance(5 * HOUR_MS);
    await it.call('DELETE', `/api/v1/policies/${policy}`);
    await it.call('POST', `/api/v1/blackouts/${freeze}/end`, { reason: 'over' });
    expect(brief(await it.read())).toEqual([
      'blackout Year end 11-21T12:00 11-21T14:00  false ',
      'policy_ends Nightly 11-21T14:00 11-21T14:00  false ',
    ]);
  });

  test('says when approvals that no host was given begin and expire, and what a blackout withholds', async () => {
    const it = await scene();
    await it.freeze({ times: { ...BLACKOUT.times, starts_at: '2026-11-21T08:00:00Z' } });
    expect((await it.approve(await it.addUpdate())).status).toBe(200);
    const later = await it.addUpdate({ name: 'curl' });
    expect((await it.approve(later, { not_before: '2026-11-22T06:10:00Z' })).status).toBe(200);
    const entries = brief(await it.read({ days: 12 }));
    expect(entries[0]).toBe('blackout Year end 11-21T08:00 11-22T12:00  true 2');
    expect(entries[1]).toBe('approvals_begin  11-22T06:00 11-22T06:15  false 1');
    expect(entries.slice(2).map((one) => one.replace(/ .*false/, ''))).toEqual([
      'approvals_expire 1',
      'approvals_expire 1',
    ]);
    expect(await it.end('success')).toBe(2);
    it.clock.advance(6_000);
    await it.due.count();
    expect(brief(await it.read({ days: 12 }))).toEqual(['blackout Year end 11-21T08:00 11-22T12:00  true 0']);
  });

  test('counts what ran by day and policy, in the zone of the reader, each installation once', async () => {
    const it = await scene();
    const policy = await it.publish();
    await it.addUpdate();
    await it.runPolicies();
    expect(await it.end('success')).toBe(1);
    it.clock.advance(HOUR_MS);
    const { agentId } = await insertTestAgent(it.database, { n: 2 });
    await it.call('DELETE', `/api/v1/policies/${policy}`);
    for (const [name, status] of [
      ['curl', 'failed'],
      ['git', 'refused'],
    ] as const) {
      expect((await it.approve(await it.addUpdate({ name, agentId }))).status).toBe(200);
      expect(await it.end(status)).toBe(1);
    }
    expect(await it.read()).toMatchObject({ ran_until: null });
    await it.count();
    await it.count();
    const people = { policy_id: null, policy_name: null, approved: null };
    const byPeople = { ...people, installed: 0, failed: 1, refused: 1 };
    const byPolicy = {
      policy_id: policy,
      policy_name: 'Nightly',
      approved: 1,
      installed: 1,
      failed: 0,
      refused: 0,
    };
    const utc = await it.read();
    expect(utc.ran).toEqual([
      { date: '2026-11-21', ...byPeople },
      { date: '2026-11-21', ...byPolicy },
    ]);
    expect(utc.ran_until).toBe('2026-11-21T10:02:00.000Z');
    // Between 09:00 and 10:00 UTC a day ends in this zone: at 14 hours it is the next one.
    const there = await it.read({ from: '2026-11-21', zone: 'Pacific/Kiritimati' });
    expect(there.ran.map(({ date, failed }) => [date, failed])).toEqual([
      ['2026-11-21', 0],
      ['2026-11-22', 1],
    ]);
  });

  test('after a clock that was ahead is set back, installations are counted, each once', async () => {
    const it = await scene();
    expect((await it.approve(await it.addUpdate())).status).toBe(200);
    await it.end('success');
    it.clock.advance(10 * MINUTE_MS);
    await it.count();
    await jumpAhead(it.platform, 365 * DAY_MS);
    await it.count();
    it.clock.advance(-365 * DAY_MS);
    expect((await it.approve(await it.addUpdate({ name: 'curl' }))).status).toBe(200);
    await it.end('success');
    it.clock.advance(10 * MINUTE_MS);
    await it.count();
    expect((await it.read()).ran).toMatchObject([{ installed: 2 }]);
  });

  test('two servers that count at once count each installation once', async () => {
    const it = await scene();
    expect((await it.approve(await it.addUpdate())).status).toBe(200);
    await it.end('success');
    it.clock.advance(10 * MINUTE_MS);
    await Promise.all([countRuns(it.platform), countRuns(it.platform), countRuns(it.platform)]);
    await it.count();
    expect((await it.read()).ran).toMatchObject([{ installed: 1 }]);
  });

  test('what ran is kept for 100 days', async () => {
    const it = await scene();
    await it.publish();
    await it.addUpdate();
    await it.runPolicies();
    await it.end('success');
    it.clock.advance(HOUR_MS);
    await it.count();
    expect((await it.read()).ran).toMatchObject([{ approved: 1, installed: 1 }]);
    await jumpAhead(it.platform, 100 * DAY_MS);
    await it.count();
    const rows = () => it.database.read.selectFrom('run_slots').selectAll().execute();
    expect(await rows()).toHaveLength(1);
    await believeClock(it.platform);
    it.clock.advance(HOUR_MS);
    await it.count();
    expect(await rows()).toEqual([]);
    expect((await it.read()).ran).toEqual([]);
  });

  test('is read with as many statements for many schedules and installations as for few', async () => {
    const it = await scene();
    const statements = async () => {
      const counted = countStatements(it.database);
      const platform = { ...it.platform, database: counted.database };
      const days = daysOf({ from: '2026-11-01', count: 62, zone: 'UTC' });
      await readCalendar({ platform, due: it.due }, { days, zone: 'UTC' });
      return counted.counts().reads;
    };
    await it.due.count();
    const few = await statements();
    for (let i = 0; i < 12; i++) await it.publish({ name: `Policy ${i}`, windows: [WINDOW] });
    for (let i = 0; i < 12; i++) await it.freeze({ name: `Freeze ${i}` });
    expect(await statements()).toBe(few);
  });

  test('leaves out the last of more than 2,000 entries, and says so', async () => {
    const it = await scene();
    const windows = Array.from({ length: 10 }, (_, i) => ({ ...WINDOW, start: `1${i}:00`, zone: 'UTC' }));
    for (let i = 0; i < 4; i++)
      await it.publish({ name: `Policy ${i}`, windows, ends_at: '2027-03-01T00:00:00Z' });
    const { entries, truncated } = await it.read({ days: 62 });
    expect([entries.length, truncated]).toEqual([2_000, true]);
    expect((await it.read({ days: 31 })).truncated).toBe(false);
  });
});
