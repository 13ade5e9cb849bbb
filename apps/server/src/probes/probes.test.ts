import { randomBytes } from 'node:crypto';
import { HostProbes, LOOK_MAX_AGE_MS } from '@tidegate/protocol/probes';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { mountAgents } from '../agents/routes.ts';
import { mountCommands } from '../commands/routes.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { hostsUpToDate } from '../withheld/up-to-date-store.ts';
import { mountProbes } from './routes.ts';
import { latestProbes } from './store.ts';

const AT = '2026-11-21T08:59:00.000Z';
const WEB = { name: 'web', kind: 'http', state: 'red', detail: 'answered 502' };
const DB = { name: 'db', kind: 'tcp', state: 'green' };

describe.each(ENGINES)('probes, on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const platform = { ...createTestPlatform(database), random: randomBytes };
    const app = createSliceApp(platform);
    mountAgents(app.routes, {
      platform,
      heldOf: async () => new Map(),
      upToDate: () => hostsUpToDate(platform),
    });
    mountCommands(app.routes, { platform, identify: async () => null });
    mountProbes(app.routes, platform);
    onTestFinished(() => app.close());
    const [one, two] = [await insertTestAgent(database, { n: 1 }), await insertTestAgent(database, { n: 2 })];
    const report = (probes: readonly object[], at = AT) =>
      app.inject({
        method: 'PUT',
        url: `/api/v1/agents/${one.agentId}/probes`,
        headers: { 'x-machine-id': 'machine-1', 'x-test-agent': one.agentId, 'x-test-family': one.familyId },
        payload: { at, probes },
      });
    const get = async (path: string) => (await app.inject({ url: `/api/v1/${path}` })).json();
    const shown = async () => Value.Parse(HostProbes, await get(`agents/${one.agentId}/probes`));
    const found = async (state: string) =>
      (await get(`agents?probes=${state}`)).items
        .map(({ id }: { id: string }) => (id === one.agentId ? 1 : 2))
        .sort();
    const events = () =>
      database.read.selectFrom('events').select('type').where('component', '=', 'probes').execute();
    const ageOf = (ms: number) => platform.clock.advance(Date.parse(AT) + ms - platform.now());
    return { ageOf, app, database, platform, one, two, report, get, shown, found, events };
  }

  test('are unknown until the host reports them, then shown, found and offered to those who wait', async () => {
    const { database, one, two, report, shown, found } = await setUp();
    expect(await shown()).toEqual({ state: 'unknown', since: null, at: null, probes: [] });
    expect(await found('unknown')).toEqual([1, 2]);
    const answer = await report([WEB, DB]);
    expect([answer.statusCode, answer.json()]).toEqual([200, { accepted: true }]);
    expect(await shown()).toEqual({
      ...{ state: 'red', since: AT, at: AT },
      probes: [WEB, DB].map((probe) => ({ ...probe, last_state: probe.state, since: AT })),
    });
    expect([await found('red'), await found('unknown'), await found('green')]).toEqual([[1], [2], []]);
    expect(await latestProbes(database.read, [one.agentId, two.agentId])).toEqual(
      new Map([
        [one.agentId, { state: 'red', atMs: Date.parse(AT), sinceMs: Date.parse(AT) }],
        [two.agentId, { state: 'unknown', atMs: null, sinceMs: null }],
      ]),
    );
    await report([], '2026-11-21T08:59:30Z');
    expect([await found('none'), await found('red')]).toEqual([[1], []]);
  });

  test.each([
    ['green', [DB]],
    ['none', []],
  ] as const)('a report of %s counts for a day, then the host is unknown', async (state, probes) => {
    const { report, shown, found, ageOf } = await setUp();
    await report(probes);
    ageOf(LOOK_MAX_AGE_MS);
    expect([await found(state), await found('unknown')]).toEqual([[1], [2]]);
    expect(await shown()).toMatchObject({ state, since: AT, at: AT });
    ageOf(LOOK_MAX_AGE_MS + 1);
    expect([await found(state), await found('unknown')]).toEqual([[], [1, 2]]);
    expect(await shown()).toEqual({
      ...{ state: 'unknown', since: '2026-11-22T08:59:00.000Z', at: AT },
      probes: probes.map((probe) => ({ ...probe, state: 'unknown', last_state: 'green', since: AT })),
    });
  });

  test('red stays red, however old, beside a probe that was green', async () => {
    const { report, shown, found, ageOf } = await setUp();
    await report([WEB, DB]);
    ageOf(7 * LOOK_MAX_AGE_MS);
    expect([await found('red'), await found('unknown')]).toEqual([[1], [2]]);
    expect(await shown()).toMatchObject({
      ...{ state: 'red', since: AT },
      probes: [
        { name: 'web', state: 'red', last_state: 'red' },
        { name: 'db', state: 'unknown', last_state: 'green' },
      ],
    });
  });

  test('a host with a probe that nobody could tell is unknown, not green', async () => {
    const { report, found } = await setUp();
    await report([DB, { name: 'broken', state: 'unknown' }]);
    expect([await found('green'), await found('unknown')]).toEqual([[], [1, 2]]);
  });

  test('of two reports at once both are taken, one after the other, and red is told once', async () => {
    const { report, events, shown } = await setUp();
    await Promise.all([report([WEB]), report([WEB, DB]), report([WEB]), report([WEB, DB])]);
    expect(await events()).toEqual([{ type: 'probes_red' }]);
    expect((await shown()).state).toBe('red');
  });

  test.each<[string, readonly object[]]>([
    ['a state that does not exist', [{ ...WEB, state: 'yellow' }]],
    ['a name that is a path', [{ ...WEB, name: '../web' }]],
    ['a name that begins with a dot', [{ ...WEB, name: '.web' }]],
    ['a detail of two lines', [{ ...WEB, detail: 'one\ntwo' }]],
    ['a detail that is too long', [{ ...WEB, detail: 'x'.repeat(201) }]],
    ['a command', [{ ...WEB, program: '/bin/true' }]],
    ['51 probes', Array.from({ length: 51 }, (_, n) => ({ name: `p${n}`, state: 'green' }))],
    ['a probe that is named twice', [WEB, { ...WEB, state: 'green' }]],
  ])('%s is refused', async (_, probes) => {
    const { report, shown } = await setUp();
    expect((await report(probes)).statusCode).toBe(400);
    expect((await shown()).at).toBeNull();
  });

  test('the largest report that a host may send fits', async () => {
    const { report } = await setUp();
    const probes = Array.from({ length: 50 }, (_, n) => ({
      ...{ name: `${String(n).padStart(2, '0')}${'p'.repeat(62)}`, kind: 'failed_units', state: 'unknown' },
      detail: '\u{1f525}'.repeat(200),
    }));
    expect((await report(probes)).statusCode).toBe(200);
  });

  test('an approver has a host run them: a command without parameters', async () => {
    const { app, one, get } = await setUp();
    const asked = await app.inject({ method: 'POST', url: `/api/v1/agents/${one.agentId}/probes/run` });
    expect(asked.statusCode).toBe(202);
    expect(await get(`commands/${asked.json().command_id}`)).toMatchObject({
      ...{ action: 'run_probes', params: {}, status: 'pending', probes: null, hooks: null },
    });
  });
});
