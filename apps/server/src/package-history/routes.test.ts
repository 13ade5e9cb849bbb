import type { InventoryPackage } from '@tidegate/protocol/agent-api';
import type { PackageChange, PackageDifference, PackageThen } from '@tidegate/protocol/package-history-api';
import type { PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, onTestFinished, test } from 'vitest';
import { insertCommands } from '../commands/store.ts';
import { CHANGES_MAX } from '../installed/changes-store.ts';
import { createLargeReports } from '../inventory/large-reports.ts';
import { mountInventory } from '../inventory/routes.ts';
import { rfc3339 } from '../platform/clock.ts';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import { changeInstalled } from '../testing/installed-rows.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { INSTALLATIONS_MAX, REPORTED_WITHIN_MS } from './causes.ts';
import { mountPackageHistory } from './routes.ts';

const HOUR_MS = 3_600_000;

describe.each(ENGINES)('the history of packages on $name', (engine) => {
  async function setUp() {
    const counted = countStatements(await engine.open());
    const platform = createTestPlatform(counted.database);
    const { clock } = platform;
    const app = createSliceApp(platform);
    const large = createLargeReports(platform);
    onTestFinished(large.stop);
    mountInventory(app.routes, { platform, large });
    mountPackageHistory(app.routes, { platform });
    onTestFinished(() => app.close());
    const key = await insertTestAgent(counted.database, { n: 1 });
    const { agentId } = key;
    let commands = 0;

    /** `curl 1` is version 1 of curl for amd64, `curl 1 all` for all. An hour later. Returns when it was reported. */
    async function report(packages: readonly string[], ecosystem = 'apt'): Promise<string> {
      clock.advance(HOUR_MS);
      const reported: InventoryPackage[] = packages.map((text) => {
        const [name = '', version = '', arch = 'amd64'] = text.split(' ');
        return { name, version, arch };
      });
      const scan = { scanned_at: rfc3339(clock.now()), complete: true, packages: reported, updates: [] };
      const answer = await app.inject({
        method: 'PUT',
        url: `/api/v1/agents/${agentId}/inventory/${ecosystem}`,
        headers: { 'x-machine-id': 'machine-1', 'x-test-agent': agentId, 'x-test-family': key.familyId },
        payload: scan,
      });
      expect(answer.statusCode).toBe(200);
      return rfc3339(clock.now());
    }
    /** An installation that is sent now, with this plan. */
    async function send(
      actions: readonly Partial<PlanAction>[],
      names: readonly string[] = actions.map(({ name = '' }) => name),
    ): Promise<{ id: string; updateIds: string[] }> {
      const updateIds: string[] = [];
      const id = platform.newId();
      for (const name of names) {
        commands++;
        const of = { agentId, n: commands, state: 'installed', expiresAtMs: clock.now() };
        const { updateId } = await insertTestUpdate(counted.database, of);
        updateIds.push(updateId);
        const version = actions.find((one) => one.name === name)?.to_version ?? '';
        await counted.database.transact((tx) =>
          tx
            .updateTable('updates')
            .set({ name, available_version: version })
            .where('id', '=', updateId)
            .execute(),
        );
      }
      await counted.database.transact(async (tx) => {
        const [updateId = ''] = updateIds;
        const approval = await tx
          .selectFrom('approval_updates as m')
          .innerJoin('approvals as a', 'a.token_id', 'm.token_id')
          .select(['a.token_id', 'a.plan_id'])
          .where('m.update_id', '=', updateId)
          .executeTakeFirstOrThrow();
        await tx
          .updateTable('update_plans')
          .set({ actions: JSON.stringify(actions) })
          .where('id', '=', approval.plan_id)
          .execute();
        const row = {
          ...{ id, agent_id: agentId, action: 'install_update', params: '{}', status: 'success', seq: 1 },
          ...{ approval_id: approval.token_id, approval_sha256: null, created_by: 'ada' },
          ...{ created_at: clock.now() - 1, not_before: 1, expires_at: clock.now() },
          ...{ sent_at: clock.now(), changed_at: clock.now() },
        };
        await insertCommands(tx, [{ row, updateIds }]);
      });
      return { id, updateIds };
    }
    async function ask(route: string, query: Record<string, string> = {}, of = agentId) {
      counted.reset();
      const search = new URLSearchParams(query);
      const answer = await app.inject({ url: `/api/v1/agents/${of}/inventory/${route}?${search}` });
      return { status: answer.statusCode, body: answer.json(), ...counted.counts() };
    }
    const changes = async (query: Record<string, string> = {}): Promise<string[]> =>
      (await ask('changes', query)).body.items.map(words);
    const at = async (time: string, query: Record<string, string> = {}): Promise<string[]> =>
      (await ask('at', { at: time, ...query })).body.items.map(
        ({ name, version }: PackageThen) => `${name} ${version}`,
      );
    const difference = async (from: string, to?: string): Promise<string[]> =>
      (await ask('difference', { from, ...(to && { to }) })).body.items.map(words);
    return { ...counted, platform, clock, agentId, report, send, ask, changes, at, difference };
  }

  test('says what changed, what was there at a time, and what differs between two', async () => {
    const { report, changes, at, difference } = await setUp();
    const first = await report(['curl 1', 'sed 1', 'vim 1']);
    const second = await report(['curl 2', 'sed 1', 'vim 1']);
    const third = await report(['curl 3', 'sed 1', 'new 1']);
    const found = await changes();
    expect(found.slice(0, 3).toSorted()).toEqual([
      'changed curl 2 3',
      'installed new - 1',
      'removed vim 1 -',
    ]);
    expect(found.slice(3)).toEqual(['changed curl 1 2']);
    expect(await at(first)).toEqual(['curl 1', 'sed 1', 'vim 1']);
    expect(await at(second)).toEqual(['curl 2', 'sed 1', 'vim 1']);
    expect(await at(third)).toEqual(['curl 3', 'new 1', 'sed 1']);
    expect(await difference(first)).toEqual(['changed curl 1 3', 'installed new - 1', 'removed vim 1 -']);
    expect(await difference(first, second)).toEqual(['changed curl 1 2']);
    expect(await difference(third)).toEqual([]);
  });

  test('what is not known is never shown as known: each ecosystem says from when on it is', async () => {
    const { report, ask, at, difference, clock } = await setUp();
    const nothing = rfc3339(clock.now());
    expect((await ask('at', { at: nothing })).body).toEqual({
      ...{ items: [], next_cursor: null, total: 0, ecosystems: [] },
    });
    const first = await report(['curl 1']);
    const second = await report(['left-pad 1'], 'npm');
    await report(['curl 2']);
    const said = async (time: string) =>
      (await ask('at', { at: time })).body.ecosystems.map(
        (one: { ecosystem: string; known: boolean; known_since: string }) => [
          one.ecosystem,
          one.known,
          one.known_since,
        ],
      );
    expect(await at(nothing)).toEqual([]);
    expect(await said(nothing)).toEqual([
      ['apt', false, first],
      ['npm', false, second],
    ]);
    expect(await at(first)).toEqual(['curl 1']);
    expect(await said(first)).toEqual([
      ['apt', true, first],
      ['npm', false, second],
    ]);
    expect(await at(second)).toEqual(['curl 1', 'left-pad 1']);
    expect(await difference(nothing)).toEqual([]);
    expect((await ask('difference', { from: nothing })).body.ecosystems).toMatchObject([
      { known: false },
      { known: false },
    ]);
  });

  test('a change says which installation brought it and who approved that, or that it came from outside', async () => {
    const { report, send, ask, changes, clock } = await setUp();
    await report(['curl 1', 'sed 1', 'old 1']);
    clock.advance(HOUR_MS);
    const { id, updateIds } = await send(
      [
        { action: 'upgrade', name: 'curl', to_version: '2' },
        { action: 'install', name: 'libcurl', to_version: '2' },
        { action: 'remove', name: 'old' },
      ],
      ['curl'],
    );
    await report(['curl 2', 'libcurl 2', 'sed 2']);
    const { items } = (await ask('changes')).body;
    const command = { id, update_id: updateIds[0], approved_by: 'ada', policy_id: null };
    const found = new Map<string, PackageChange>(items.map((one: PackageChange) => [one.name, one]));
    for (const name of ['curl', 'libcurl', 'old']) {
      expect(found.get(name)).toMatchObject({ cause: 'tidegate', command });
    }
    expect(found.get('sed')).toMatchObject({ kind: 'changed', cause: 'outside', command: null });
    expect(await changes({ cause: 'outside' })).toEqual(['changed sed 1 2']);
    expect(await changes({ cause: 'tidegate', q: 'CURL', kind: 'changed' })).toEqual(['changed curl 1 2']);

    // The same version later, by hand: the installation has been used up.
    await report(['curl 1', 'libcurl 2', 'sed 2']);
    await report(['curl 2', 'libcurl 2', 'sed 2']);
    const again = (await ask('changes', { q: 'curl' })).body.items[0];
    expect(again).toMatchObject({ name: 'curl', to_version: '2', cause: 'outside' });
    // Also on a page that begins after the first one.
    const since = again.reported_at;
    expect((await ask('changes', { since, q: 'curl' })).body.items).toMatchObject([{ cause: 'outside' }]);
  });

  test('what an approved transaction removes comes of its command: dropped, obsoleted, or replaced for another architecture', async () => {
    const { report, send, ask, clock } = await setUp();
    await report(['a 1', 'old 1', 'moved 1', 'k 1', 'k 2', 'gone 1', 'other 1 i386', 'dropped 1']);
    clock.advance(HOUR_MS);
    const upgrade = { action: 'upgrade', from_version: '1', to_version: '2' } as const;
    const { id } = await send(
      [
        { ...upgrade, name: 'a', arch: 'amd64' },
        { ...upgrade, name: 'moved', arch: 'all' },
        { action: 'remove', name: 'old', arch: 'amd64', from_version: '1' },
        { ...upgrade, name: 'k', arch: 'amd64', to_version: '3' },
        { ...upgrade, name: 'gone', arch: 'amd64' },
        { ...upgrade, name: 'other', arch: 'amd64' },
        { action: 'remove', name: 'dropped', arch: 'amd64', from_version: '2' },
      ],
      ['a'],
    );
    await report(['a 2', 'moved 2 all', 'k 3', 'other 2']);
    const { items }: { items: PackageChange[] } = (await ask('changes')).body;
    const causes = items.map(
      (one) => `${words(one)} ${one.arch} ${one.command?.id === id ? 'ours' : one.cause}`,
    );
    expect(causes.toSorted()).toEqual([
      'changed a 1 2 amd64 ours',
      // The approved transaction keeps the second kernel, removes another version, and does not leave a package out.
      'installed k - 3 amd64 ours',
      'installed moved - 2 all ours',
      'installed other - 2 amd64 ours',
      'removed dropped 1 - amd64 outside',
      'removed gone 1 - amd64 outside',
      'removed k 1 - amd64 ours',
      'removed k 2 - amd64 outside',
      'removed moved 1 - amd64 ours',
      'removed old 1 - amd64 ours',
      'removed other 1 - i386 outside',
    ]);
  });

  test('a report long after an installation, or before it, is not said to come of it', async () => {
    const { report, send, changes, clock } = await setUp();
    await report(['curl 1', 'sed 1']);
    await report(['curl 2', 'sed 1']);
    clock.advance(1);
    await send([{ action: 'upgrade', name: 'curl', to_version: '2' }]);
    await send([{ action: 'upgrade', name: 'sed', to_version: '2' }]);
    clock.advance(REPORTED_WITHIN_MS);
    await report(['curl 2', 'sed 2']);
    expect(await changes({ cause: 'tidegate' })).toEqual([]);
    expect(await changes({ cause: 'outside' })).toHaveLength(2);
  });

  test('of more installations than one answer looks through, the rest is unknown and not outside', async () => {
    const { report, send, ask } = await setUp();
    await report(['curl 1']);
    for (let n = 0; n <= INSTALLATIONS_MAX; n++) {
      await send([{ action: 'upgrade', name: 'other', to_version: '2' }]);
    }
    await report(['curl 2']);
    expect((await ask('changes')).body.items).toMatchObject([{ name: 'curl', cause: 'unknown' }]);
  });

  test('pages are complete, whatever their length, and so are their filters', async () => {
    const { report, ask, changes } = await setUp();
    const first = await report(['a 1', 'b 1', 'c 1', 'd 1']);
    const second = await report(['a 2', 'b 2', 'c 1', 'e 1']);
    const third = await report(['a 3', 'c 2', 'e 1']);
    await report(['x 1'], 'npm');
    for (const [route, query, length] of [
      ['changes', {}, 7],
      ['changes', { ecosystem: 'apt', since: third }, 3],
      ['at', { at: third }, 3],
      ['difference', { from: first }, 5],
    ] as const) {
      const whole = (await ask(route, query)).body;
      expect([route, whole.items.length, whole.total]).toEqual([route, length, length]);
      for (const limit of ['1', '2']) {
        const seen: unknown[] = [];
        let cursor: string | null = null;
        // Each page but the last is full: a cursor that leads back or nowhere fails here instead of going on for ever.
        for (let page = 0; page < Math.ceil(length / Number(limit)); page++) {
          const next: Record<string, string> = { ...query, limit, ...(cursor !== null && { cursor }) };
          const { body }: Awaited<ReturnType<typeof ask>> = await ask(route, next);
          seen.push(...body.items);
          cursor = body.next_cursor;
        }
        expect([cursor, seen]).toEqual([null, whole.items]);
      }
    }
    expect(await changes({ until: second })).toEqual([]);
    expect(await changes({ since: second, until: third, kind: 'removed' })).toEqual(['removed d 1 -']);
    const { next_cursor: cursor } = (await ask('changes', { limit: '1' })).body;
    expect((await ask('changes', { cursor, q: 'a' })).status).toBe(400);
    expect((await ask('at', { at: third, cursor })).status).toBe(400);
  });

  test('a time that is not past, or in the wrong order, is refused with what is allowed', async () => {
    const { report, ask, clock } = await setUp();
    const first = await report(['a 1']);
    const later = rfc3339(clock.now() + 1);
    const fault = async (route: string, query: Record<string, string>) => {
      const { status, body } = await ask(route, query);
      return [
        status,
        body.errors?.map((one: { path: string; message: string }) => `${one.path} ${one.message}`),
      ];
    };
    expect(await fault('at', { at: later })).toEqual([400, ['querystring/at must not be later than now']]);
    expect(await fault('difference', { from: first, to: later })).toEqual([
      400,
      ['querystring/to must not be later than now'],
    ]);
    clock.advance(1);
    expect(await fault('difference', { from: later, to: first })).toEqual([
      400,
      ['querystring/from must not be later than to'],
    ]);
    expect((await fault('difference', {}))[0]).toBe(400);
    expect((await fault('at', { at: 'yesterday' }))[0]).toBe(400);
  });

  test('a missing or deleted host is 404', async () => {
    const { database, ask, clock } = await setUp();
    const gone = await insertTestAgent(database, { n: 2, deletedAtMs: 1 });
    const now = rfc3339(clock.now());
    for (const id of [gone.agentId, '01900000-0000-7000-8000-00000000ffff', 'x']) {
      expect((await ask('changes', {}, id)).status).toBe(404);
      expect((await ask('at', { at: now }, id)).status).toBe(404);
      expect((await ask('difference', { from: now }, id)).status).toBe(404);
    }
  });

  test(`with ${CHANGES_MAX} changes of a host the work stays bounded, and a report that is forgotten in part is not shown`, async () => {
    const { database, platform, agentId, clock, report, ask, at } = await setUp();
    const many = Array.from({ length: 1_700 }, (_, n) => `p${String(n).padStart(4, '0')}`);
    const first = await report(many.map((name) => `${name} 1`));
    const times: string[] = [];
    for (const version of ['2', '3']) {
      clock.advance(HOUR_MS);
      const records = (v: string) =>
        many.map((name) => ({
          ...{ name, arch: 'amd64', version: v, held: 0 },
          ...{ source_name: null, source_version: null, origin: null },
        }));
      await database.transact((tx) =>
        changeInstalled(
          tx,
          { agentId, ecosystem: 'apt', nowMs: platform.now() },
          { gone: records(String(Number(version) - 1)), put: records(version) },
        ),
      );
      times.push(rfc3339(platform.now()));
    }
    const [forgotten = '', last = ''] = times;
    const { body, reads } = await ask('changes', { limit: '200' });
    // Of the 3,400 changes of the first report 1,600 are left: none is shown as if it were all.
    expect([body.total, reads]).toEqual([1_700, 5]);
    expect(body.ecosystems).toEqual([{ ecosystem: 'apt', known_since: forgotten, known: false }]);
    expect(await at(first)).toEqual([]);
    expect((await at(forgotten)).slice(0, 2)).toEqual(['p0000 2', 'p0001 2']);
    expect((await at(last)).slice(0, 2)).toEqual(['p0000 3', 'p0001 3']);
  });

  test('random reports: at each time the inventory is what was reported then', async () => {
    const { report, at, difference } = await setUp();
    let seed = 7;
    const random = (n: number) => {
      seed = (seed * 1_103_515_245 + 12_345) % 2_147_483_648;
      return Math.floor((seed / 2_147_483_648) * n);
    };
    const reported: { time: string; packages: string[] }[] = [];
    for (let n = 0; n < 12; n++) {
      const packages = ['a', 'b', 'c', 'd', 'e'].flatMap((name) =>
        ['1', '2', '3'].filter(() => random(3) === 0).map((version) => `${name} ${version}`),
      );
      reported.push({ time: await report(packages), packages });
    }
    for (const { time, packages } of reported) expect(await at(time)).toEqual(packages.toSorted());
    const [from, to] = [reported[2], reported[9]];
    const found = await difference(from?.time ?? '', to?.time ?? '');
    const gone = from?.packages.filter((one) => !to?.packages.includes(one)) ?? [];
    const come = to?.packages.filter((one) => !from?.packages.includes(one)) ?? [];
    const named = found.flatMap((text) => {
      const [, name, a, b] = text.split(' ');
      return [a, b].filter((version) => version !== '-').map((version) => `${name} ${version}`);
    });
    expect(named.toSorted()).toEqual([...gone, ...come].toSorted());
  });
});

function words({ kind, name, from_version: from, to_version: to }: PackageDifference): string {
  return `${kind} ${name} ${from ?? '-'} ${to ?? '-'}`;
}
