import { describe, expect, onTestFinished, test } from 'vitest';
import { appendEvent } from '../events/append-event.ts';
import { createSnapshots } from '../overview/keep-snapshots.ts';
import { openFilesMax } from '../platform/http/open-connections.ts';
import { REFUSALS_PER_BUDGET } from '../rate-limits/address-guard.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { insertHostRows } from '../testing/foreign-hosts.ts';
import { createTestApp } from '../testing/test-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createCollectors } from './collectors.ts';
import { METRICS } from './declared.ts';

const TOKEN = 'a-token-of-thirty-two-characters-or-more';

async function open(engine: TestEngine, metricsToken: string | null = TOKEN) {
  const app = await createTestApp(engine, { metricsToken });
  const { clock } = app.platform;
  clock.advance(61_000);
  const get = (authorization: string | null = `Bearer ${TOKEN}`) =>
    app.http.inject({ url: '/metrics', headers: authorization === null ? {} : { authorization } });
  async function scrape(): Promise<ReadonlyMap<string, number>> {
    clock.advance(1_000);
    const answer = await get();
    expect(answer.statusCode).toBe(200);
    return seriesOf(answer.body);
  }
  return { app, get, scrape, clock };
}

/** The value of each series by its name with labels. */
function seriesOf(text: string): ReadonlyMap<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
  return new Map(
    lines.map((line) => {
      const space = line.lastIndexOf(' ');
      return [line.slice(0, space), Number(line.slice(space + 1))];
    }),
  );
}

describe.each(ENGINES)('/metrics on $name', (engine) => {
  test('is nothing without a token in the settings', async () => {
    const { get } = await open(engine, null);
    const answer = await get();
    expect([answer.statusCode, answer.json().code]).toEqual([404, 'not_found']);
  });

  test.each([null, '', 'Bearer', `Bearer ${TOKEN}x`, `Bearer ${TOKEN.slice(1)}`, `Basic ${TOKEN}`])(
    'refuses %j, and says what is needed',
    async (authorization) => {
      const { get } = await open(engine);
      const answer = await get(authorization);
      expect([answer.statusCode, answer.json().code]).toEqual([401, 'unauthenticated']);
      expect(answer.headers['www-authenticate']).toBe('Bearer realm="metrics"');
      expect(answer.body).not.toContain('tidegate_');
    },
  );

  test('has the text format and its media type', async () => {
    const { get } = await open(engine);
    const answer = await get();
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
    expect(answer.headers['cache-control']).toBe('no-store');
    expect(answer.body).toContain('# TYPE tidegate_hosts gauge\n');
  });

  test('counts hosts by state, and names none', async () => {
    const { app, scrape } = await open(engine);
    for (const n of [1, 2, 3]) await insertHostRows(app.platform, { n, group: null });
    const series = await scrape();
    const states = ['online', 'offline', 'unseen', 'revoked'];
    const hosts = states.map((state) => series.get(`tidegate_hosts{state="${state}"}`) ?? Number.NaN);
    expect(hosts.reduce((a, b) => a + b)).toBe(3);
    expect([...series.keys()].filter((name) => /host-\d|01900000/.test(name))).toEqual([]);
  });

  test('counts events from the start, also those of types without any', async () => {
    const { app, scrape } = await open(engine);
    expect((await scrape()).get('tidegate_events_total{type="ROW_SEAL_BROKEN"}')).toBe(0);
    const event = { kind: 'security', type: 'ROW_SEAL_BROKEN', severity: 'critical' } as const;
    for (let n = 0; n < 2; n++) {
      await app.platform.database.transact((tx) =>
        appendEvent(tx, app.platform, { ...event, component: 'security', content: {} }),
      );
    }
    for (let n = 0; n < 2; n++) {
      const series = await scrape();
      expect(series.get('tidegate_events_total{type="ROW_SEAL_BROKEN"}')).toBe(2);
      expect(series.get('tidegate_event_chain_length')).toBe(series.get('tidegate_event_chain_unsigned'));
    }
  });

  test('names requests by the template of their route, and those outside every route by one name', async () => {
    const { app, scrape } = await open(engine);
    for (const url of ['/api/v1/events/1', '/api/v1/events/2', '/no/1', '/no/2', '/no/3']) {
      await app.http.inject({ url });
    }
    const series = await scrape();
    const count = (route: string) =>
      series.get(`tidegate_http_request_duration_seconds_count{route="${route}",status="4xx"}`);
    expect([count('/api/v1/events/:id'), count('none')]).toEqual([2, 3]);
    expect([...series.keys()].filter((name) => name.includes('/no/'))).toEqual([]);
  });

  test('wrong tokens use up the budget of their address, right ones never do', async () => {
    const { get } = await open(engine);
    const budget = 10 * REFUSALS_PER_BUDGET;
    for (let n = 0; n < budget; n++) await get('Bearer wrong');
    expect((await get('Bearer wrong')).statusCode).toBe(429);
    const { get: getOnce } = await open(engine);
    const answers = await Promise.all(Array.from({ length: budget + 1 }, () => getOnce()));
    expect(new Set(answers.map(({ statusCode }) => statusCode))).toEqual(new Set([200]));
  });

  test('tells open connections and how many are taken', async () => {
    const { app, scrape } = await open(engine);
    const url = await app.http.listen({ host: '127.0.0.1', port: 0 });
    onTestFinished(() => app.http.close());
    const answer = await fetch(`${url}/api/v1/health`);
    await answer.bytes();
    const states = (series: ReadonlyMap<string, number>) =>
      ['busy', 'waiting'].map((state) => series.get(`tidegate_connections{state="${state}"}`));
    await expect.poll(async () => states(await scrape())).toEqual([0, 1]);
    const series = await scrape();
    expect(series.get('tidegate_connections_max')).toBe(Math.floor((openFilesMax() ?? 0) * 0.9));
    expect(series.get('tidegate_connections_ended_total{state="waiting"}')).toBe(0);
  });

  test('a collector that fails is told, and its metrics are missing', async () => {
    const { app, scrape } = await open(engine);
    expect((await scrape()).get('tidegate_collector_up{collector="queues"}')).toBe(1);
    await app.platform.database.close();
    const series = await scrape();
    const up = ['fleet', 'queues', 'events', 'database', 'outsiders'].map((name) =>
      series.get(`tidegate_collector_up{collector="${name}"}`),
    );
    // Counts of the fleet are a second old, and still told with their age.
    expect(up).toEqual([1, 0, 0, 0, 0]);
    expect(series.get('tidegate_collector_age_seconds{collector="fleet"}')).toBe(1);
    expect([...series.keys()].filter((name) => /^tidegate_(commands|event_|database_)/.test(name))).toEqual(
      [],
    );
    expect(series.get('tidegate_check_ins_total')).toBe(0);
    app.platform.clock.advance(60_000);
    expect((await scrape()).get('tidegate_collector_up{collector="fleet"}')).toBe(0);
  });
});

describe.each(ENGINES)('a scrape on $name', (engine) => {
  test('reads as often for three hundred hosts as for three', async () => {
    const { database, counts, reset } = countStatements(await engine.open());
    const platform = createTestPlatform(database);
    const { collectors } = createCollectors({
      platform,
      snapshots: createSnapshots(platform),
      advisories: () => 'ok',
      connections: () => ({ open: 0, waiting: 0, max: null, ended: { answered: 0, waiting: 0 } }),
      workers: null,
      eventsHead: 0,
    });
    async function readsOfScrape(): Promise<number> {
      await Promise.all(collectors.map(({ collect }) => collect()));
      reset();
      platform.clock.advance(4_000);
      await Promise.all(collectors.map(({ collect }) => collect()));
      return counts().reads;
    }
    const few = await readsOfScrape();
    for (let n = 0; n < 300; n++) await insertTestAgent(database, { n });
    platform.clock.advance(60_000);
    expect(await readsOfScrape()).toBe(few);
    expect(few).toBeLessThan(20);
  });
});

test('every metric has the prefix, its unit and words', () => {
  for (const [name, { kind, help }] of Object.entries(METRICS)) {
    expect(name).toMatch(/^tidegate_[a-z_]+$/);
    expect([name, name.endsWith('_total')]).toEqual([name, kind === 'counter']);
    expect(name).not.toMatch(/_(ms|milliseconds|minutes|hours|days|kib|mib)$/);
    expect(help, name).toMatch(/^\S.{10,}\.$/);
  }
});
