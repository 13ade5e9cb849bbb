import { hash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { INVENTORY_MAX_PARTS } from '@tidegate/protocol/agent-api';
import { ECOSYSTEMS } from '@tidegate/protocol/scalars';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { Platform } from '../platform/platform.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { createLargeReports } from './large-reports.ts';
import { mountInventory } from './routes.ts';
import { PARTS_LIFETIME_MS } from './take-part.ts';
import { tidyParts } from './tidy-parts.ts';

const SCAN = { scanned_at: '2026-11-21T08:59:00Z', complete: true };
type Package = Record<string, unknown>;
const CURL = { name: 'curl', version: '8.0-1', arch: 'amd64' };

function report(packages: readonly Package[], more: object = {}): string {
  return JSON.stringify({ ...SCAN, packages, updates: [], ...more });
}

function sha256(text: string): string {
  return hash('sha256', text, 'hex');
}

function nameOf(parts: readonly string[]): string {
  return sha256(parts.map(sha256).join('\n'));
}

function delta(base: string, next: string, more: object = {}): string {
  return JSON.stringify({
    ...{ base_sha256: sha256(base), report_sha256: sha256(next), scanned_at: SCAN.scanned_at },
    ...{ package_count: 1, put: [], gone: [], updates: [], ...more },
  });
}

/** What a thief of one host's files may try by reports. */
describe.each(ENGINES)('attacks by reports on $name', (engine) => {
  async function setUp() {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const hosts = await Promise.all([1, 2].map((n) => insertTestAgent(database, { n })));
    const [mine, other] = [hosts[0], hosts[1]];
    if (!mine || !other) throw new Error('no hosts');
    const names = async (agentId: string) =>
      (
        await database.read
          .selectFrom('host_packages')
          .select(['name', 'version'])
          .where('agent_id', '=', agentId)
          .orderBy('name')
          .execute()
      ).map(({ name, version }) => `${name} ${version}`);
    const kept = async () =>
      (await database.read.selectFrom('inventory_parts').select(['report', 'part']).execute()).length;
    return { database, platform, mine, other, names, kept, ...serve(platform) };
  }

  function serve(platform: Platform) {
    const large = createLargeReports(platform);
    onTestFinished(large.stop);
    const app = createSliceApp(platform);
    mountInventory(app.routes, { platform, large });
    onTestFinished(() => app.close());
    async function send(
      { agentId, familyId }: { agentId: string; familyId: string },
      { method = 'PUT', path, body }: { method?: 'PUT' | 'PATCH'; path: string; body: string | Buffer },
    ) {
      const answer = await app.inject({
        ...{ method, url: `/api/v1/agents/${agentId}/inventory/${path}`, payload: gzipSync(body) },
        headers: {
          ...{ 'content-type': 'application/json', 'content-encoding': 'gzip' },
          ...{ 'x-machine-id': 'machine-1', 'x-test-agent': agentId, 'x-test-family': familyId },
        },
      });
      return { status: answer.statusCode, code: answer.json().code, body: answer.json() };
    }
    return { send, large };
  }

  test('a delta on the digest of another host, or an old one again, changes nothing on any host', async () => {
    const { mine, other, send, names } = await setUp();
    const [first, second, third] = ['1', '2', '3'].map((version) => report([{ ...CURL, version }]));
    if (!first || !second || !third) throw new Error('no reports');
    await send(other, { path: 'apt', body: second });
    await send(mine, { path: 'apt', body: first });
    const step = delta(first, third, { put: [{ ...CURL, version: '3' }], gone: [{ ...CURL, version: '1' }] });
    for (const [base, next] of [
      [second, second],
      [second, third],
    ] as const) {
      const stolen = delta(base, next, { gone: [{ ...CURL, version: '2' }], package_count: 0 });
      expect(await send(mine, { method: 'PATCH', path: 'apt', body: stolen })).toMatchObject({ status: 409 });
    }
    expect(await send(mine, { method: 'PATCH', path: 'apt', body: step })).toMatchObject({ status: 200 });
    // From there back by a whole report: what was once a step is none any more.
    await send(mine, { path: 'apt', body: second });
    expect(await send(mine, { method: 'PATCH', path: 'apt', body: step })).toMatchObject({ status: 409 });
    // A digest that this host never sent, but which another one has, answers nothing of that host.
    const same = delta(first, first);
    expect(await send(other, { method: 'PATCH', path: 'apt', body: same })).toMatchObject({ status: 409 });
    expect([await names(mine.agentId), await names(other.agentId)]).toEqual([['curl 2'], ['curl 2']]);
  });

  test('a delta that claims the digest of another report changes what is known of its own host alone', async () => {
    const { mine, other, send, names } = await setUp();
    const [base, claimed] = [report([CURL]), report([{ ...CURL, version: '9' }])];
    await send(mine, { path: 'apt', body: base });
    await send(other, { path: 'apt', body: claimed });
    const lie = delta(base, claimed, { put: [{ name: 'evil', version: '1' }], package_count: 2 });
    expect(await send(mine, { method: 'PATCH', path: 'apt', body: lie })).toMatchObject({ status: 200 });
    expect(await names(mine.agentId)).toEqual(['curl 8.0-1', 'evil 1']);
    expect(await names(other.agentId)).toEqual(['curl 9']);
    // The whole report with that digest is taken for known: it is the host's own loss.
    expect(await send(other, { path: 'apt', body: claimed })).toMatchObject({ status: 200 });
    expect(await names(other.agentId)).toEqual(['curl 9']);
  });

  test.each([
    ['a NUL', 'a\u0000b'],
    ['a lone surrogate', 'a\ud800b'],
    ['200,000 characters', 'x'.repeat(200_000)],
    ['nothing', ''],
    ['a number', 7],
    ['an object with a prototype', { __proto__: null, name: 'x' }],
  ])(
    'a name of %s in the middle of a delta, in a part or in a report is refused and changes nothing',
    async (_, name) => {
      const { mine, send, names, kept } = await setUp();
      const base = report([CURL]);
      await send(mine, { path: 'apt', body: base });
      const put = [
        { name: 'a', version: '1' },
        { name, version: '1' },
        { name: 'z', version: '1' },
      ];
      const answers = [
        await send(mine, { method: 'PATCH', path: 'apt', body: delta(base, 'x', { put, package_count: 4 }) }),
        await send(mine, { method: 'PATCH', path: 'apt', body: delta(base, 'x', { gone: put }) }),
        await send(mine, { path: 'apt', body: report(put) }),
        await send(mine, { path: `apt/parts/${sha256('x')}/1?parts=2`, body: report(put) }),
      ];
      // A body that unpacks to a multiple of its size is refused by that.
      for (const { status } of answers) expect([400, 413]).toContain(status);
      expect([await names(mine.agentId), await kept()]).toEqual([['curl 8.0-1'], 0]);
    },
  );

  test('names that reverse text or look like other columns stay one name of one host', async () => {
    const { mine, send, names } = await setUp();
    const base = report([CURL]);
    await send(mine, { path: 'apt', body: base });
    const evil = ['\u202ecurl', 'curl\tamd64\t8.0-1', '__proto__', 'constructor', "a' OR 1=1 --", 'a%00b'];
    const put = evil.map((name) => ({ name, version: '1', arch: 'amd64' }));
    const sent = delta(base, 'x', { put, package_count: 1 + put.length });
    const { status } = await send(mine, { method: 'PATCH', path: 'apt', body: sent });
    expect([200, 400]).toContain(status);
    const after = await names(mine.agentId);
    expect(after).toHaveLength(status === 200 ? 1 + put.length : 1);
    if (status === 400) return;
    const gone = put.map(({ name, version, arch }) => ({ name, version, arch }));
    const back = JSON.stringify({ ...JSON.parse(delta('x', 'y', { gone })), base_sha256: sha256('x') });
    expect(await send(mine, { method: 'PATCH', path: 'apt', body: back })).toMatchObject({ status: 200 });
    expect(await names(mine.agentId)).toEqual(['curl 8.0-1']);
  });

  test('parts of two reports that are sent by turns keep one report at a time, of all parts there are', async () => {
    const { mine, other, send, names, kept } = await setUp();
    const of = (from: number) =>
      [from, from + 1].map((n) => report([{ name: `package-${n}`, version: '1' }]));
    const [first, second] = [of(1), of(3)];
    const put = (parts: readonly string[], part: number, host = mine) =>
      send(host, { path: `apt/parts/${nameOf(parts)}/${part}?parts=2`, body: parts[part - 1] ?? '' });
    for (let round = 0; round < 3; round++) {
      for (const part of [1, 2]) {
        expect((await put(first, part)).status).toBe(202);
        expect((await put(second, 3 - part)).status).toBe(202);
        expect(await kept()).toBe(1);
      }
    }
    expect(await names(mine.agentId)).toEqual([]);
    // The other half comes from another host: it has a place of its own.
    await put(first, 1);
    expect(await put(first, 2, other)).toMatchObject({ status: 202, body: { missing: [1] } });
    expect([await names(mine.agentId), await names(other.agentId)]).toEqual([[], []]);
    expect((await put(first, 2)).status).toBe(200);
    expect(await names(mine.agentId)).toEqual(['package-1 1', 'package-2 1']);
    expect(await names(other.agentId)).toEqual([]);
  });

  test('a report whose parts are not of one scan is dropped whole: repeating one part has none read again', async () => {
    const { mine, send, kept, large } = await setUp();
    const parts = [
      ...Array.from({ length: 4 }, (_, n) => report([{ name: `package-${n}`, version: '1' }])),
      report([CURL], { scanned_at: '2026-11-21T08:58:00Z' }),
    ];
    const put = (part: number) =>
      send(mine, { path: `apt/parts/${nameOf(parts)}/${part}?parts=5`, body: parts[part - 1] ?? '' });
    let reads = 0;
    const { read } = large;
    large.read = (...args) => {
      reads++;
      return read(...args);
    };
    for (const part of [1, 2, 3, 4]) await put(part);
    expect(await put(5)).toMatchObject({ status: 400, code: 'invalid_request' });
    expect([reads, await kept()]).toEqual([5, 0]);
    for (let n = 0; n < 10; n++) expect(await put(5)).toMatchObject({ status: 202 });
    expect([reads, await kept()]).toEqual([5, 1]);
  });

  test('a stored part with other bytes than those that arrived is never a part of a report', async () => {
    const { database, mine, send, names, kept } = await setUp();
    const parts = [report([CURL]), report([{ name: 'jq', version: '1' }])];
    const put = (part: number) =>
      send(mine, { path: `apt/parts/${nameOf(parts)}/${part}?parts=2`, body: parts[part - 1] ?? '' });
    for (const data of [
      gzipSync(report([{ name: 'evil', version: '1' }])).toString('base64'),
      'bm90IGd6aXA=',
    ]) {
      await put(1);
      await database.transact((tx) => tx.updateTable('inventory_parts').set({ data }).execute());
      expect(await put(2)).toMatchObject({ status: 503, code: 'unavailable' });
      expect([await names(mine.agentId), await kept()]).toEqual([[], 0]);
    }
    await put(1);
    expect(await put(2)).toMatchObject({ status: 200 });
    expect(await names(mine.agentId)).toEqual(['curl 8.0-1', 'jq 1']);
  });

  test('reports that a host never ends leave within an hour, also where no host sends parts again', async () => {
    const { platform, mine, other, send, kept } = await setUp();
    for (const host of [mine, other]) {
      for (const ecosystem of ECOSYSTEMS.filter((one) => one !== 'tidegate')) {
        for (let part = 1; part < INVENTORY_MAX_PARTS; part += 10) {
          const path = `${ecosystem}/parts/${sha256('never')}/${part}?parts=${INVENTORY_MAX_PARTS}`;
          await send(host, { path, body: report([CURL]) });
        }
      }
    }
    const tidy = tidyParts(platform);
    const there = await kept();
    expect(there).toBeGreaterThan(8);
    expect(await tidy.run(() => false)).toBe(0);
    platform.clock.advance(PARTS_LIFETIME_MS + 1);
    expect(await tidy.run(() => true)).toBe(0);
    expect(await tidy.run(() => false)).toBe(there);
    expect(await kept()).toBe(0);
  });

  test('one part twice at the same moment, at two servers or one, is kept once', async () => {
    const { platform, mine, send, kept, names } = await setUp();
    const second = engine.name === 'postgres' ? serve(platform).send : send;
    const parts = [report([CURL]), report([{ name: 'jq', version: '1' }])];
    const path = (part: number) => `apt/parts/${nameOf(parts)}/${part}?parts=2`;
    for (let round = 0; round < 8; round++) {
      const answers = await Promise.all(
        [send, second].map((by) => by(mine, { path: path(1), body: parts[0] ?? '' })),
      );
      for (const { status } of answers) expect([202, 503]).toContain(status);
      expect(await kept()).toBe(1);
    }
    expect(await send(mine, { path: path(2), body: parts[1] ?? '' })).toMatchObject({ status: 200 });
    expect(await names(mine.agentId)).toEqual(['curl 8.0-1', 'jq 1']);
  });

  test('two processes of one host at once: one answer each, no fault of the server, one report at the end', async () => {
    const { platform, mine, send, names } = await setUp();
    // SQLite has one server, PostgreSQL several.
    const second = engine.name === 'postgres' ? serve(platform).send : send;
    const parts = [report([CURL]), report([{ name: 'jq', version: '1' }])];
    const base = report([CURL]);
    const whole = (version: string) => report([{ ...CURL, version }]);
    for (let round = 0; round < 4; round++) {
      const answers = await Promise.all(
        [send, second, send, second].flatMap((by, n) => [
          ...[1, 2].map((part) =>
            by(mine, { path: `apt/parts/${nameOf(parts)}/${part}?parts=2`, body: parts[part - 1] ?? '' }),
          ),
          by(mine, { path: 'apt', body: whole(`${round}.${n}`) }),
          by(mine, { method: 'PATCH', path: 'apt', body: delta(base, `${n}`, { put: [CURL] }) }),
        ]),
      );
      const statuses = new Set(answers.map(({ status }) => status));
      for (const status of statuses) expect([200, 202, 409, 503]).toContain(status);
    }
    expect(await send(mine, { path: 'apt', body: base })).toMatchObject({ status: 200 });
    expect(await names(mine.agentId)).toEqual(['curl 8.0-1']);
  });
});
