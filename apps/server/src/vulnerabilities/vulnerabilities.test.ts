import { describe, expect, test } from 'vitest';
import { KEV_MAX_AGE_MS } from '../advisories/exploited/kev-list.ts';
import { replaceKevDates, saveFetched, saveScores, setOffSince } from '../advisories/exploited/store.ts';
import { recordChanges } from '../installed/changes-store.ts';
import { tidyIdentities } from '../installed/tidy-installed.ts';
import { actionOf } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { createInstalledFleet } from '../testing/installed-fleet.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { urgencyOf } from '../unfixed/vulnerability-rows.ts';
import type { UpdateListFilter } from '../updates/filter-store.ts';
import { listUpdates } from '../updates/list-store.ts';
import { listPackages, packageOrder } from '../updates/package-store.ts';
import { updateOrder } from '../updates/sort-store.ts';

const URL = '/api/v1/vulnerabilities';
const DAY_MS = 86_400_000;

test('exploited goes before severity, and severity before the likelihood of exploitation', () => {
  const rising = [
    { severity: null, exploited: null, epss: null },
    { severity: null, exploited: 0 as const, epss: 1 },
    { severity: 'low', exploited: null, epss: 0 },
    { severity: 'low', exploited: null, epss: 1 },
    { severity: 'critical', exploited: null, epss: null },
    { severity: 'critical', exploited: 0 as const, epss: 1 },
    { severity: null, exploited: 1 as const, epss: null },
    { severity: 'critical', exploited: 1 as const, epss: 0.5 },
  ];
  expect(rising.toSorted((a, b) => urgencyOf(a) - urgencyOf(b))).toEqual(rising);
});

describe.each(ENGINES)('vulnerabilities on $name', (engine) => {
  async function scene() {
    const it = await createInstalledFleet(engine);
    const get = async (path: string) => {
      const { status, body } = await it.call('GET', path);
      expect(status, JSON.stringify(body)).toBe(200);
      return body;
    };
    return {
      ...it,
      get,
      record(id: string, of: Record<string, unknown> = {}, versions = ['3.0.11-1'], name = 'openssl') {
        it.osv.addRecord({ id, ...of }, [{ ecosystem: 'Debian:12', name, versions }]);
      },
      ids: async (query = '') => (await get(`${URL}${query}`)).items.map((one: { id: string }) => one.id),
      hosts: async (id: string, query = '') =>
        (await get(`${URL}/${id}/hosts${query}`)).items.map((one: { agent_id: string }) => one.agent_id),
      /** A pending update of openssl, judged, that nothing stops. */
      async offer(agentId: string, version: string, state = 'pending'): Promise<string> {
        const plan = [actionOf({ name: 'openssl', version })];
        const id = await it.addUpdate({ agentId, version, plan, state });
        await it.worker.ensureJudged([{ ecosystem: 'Debian:12', name: 'openssl', version }], 10_000);
        await it.database.transact((tx) =>
          tx.updateTable('updates').set({ stopped_under: 'neither' }).where('id', '=', id).execute(),
        );
        return id;
      },
    };
  }

  test('one page tells what it is, and which hosts have it', async () => {
    const it = await scene();
    it.record('DEBIAN-CVE-2024-1', { summary: 'bad', upstream: ['CVE-2024-1'] });
    await it.database.transact(async (tx) => {
      await saveScores(tx, 'kev', [['CVE-2024-1', 1]]);
      await saveScores(tx, 'epss', [['CVE-2024-1', 0.5]]);
      const nowMs = it.platform.now();
      await saveFetched(tx, { feed: 'epss', entries: 1, nowMs, asOfMs: nowMs });
      await saveFetched(tx, { feed: 'kev', entries: 1, nowMs: it.platform.now(), asOfMs: it.platform.now() });
      await replaceKevDates(tx, new Map([['CVE-2024-1', { addedOn: '2026-11-01', dueOn: '2026-11-22' }]]));
    });
    const first = await it.addHost({ openssl: '3.0.11-1' });
    const second = await it.addHost({ openssl: '3.0.11-1' });
    await it.addHost({ openssl: '3.0.12-1' });
    await it.pass();
    const one = await it.get(`${URL}/CVE-2024-1`);
    expect(one).toMatchObject({
      ...{ id: 'CVE-2024-1', names: ['CVE-2024-1', 'DEBIAN-CVE-2024-1'], summary: 'bad', covers: [] },
      ...{ exploited: true, epss: 0.5, exploited_since: '2026-11-01', fix_due_on: '2026-11-22' },
      ...{ hosts: 2, fixable_hosts: 0, waiting_hosts: 0, unfixed_hosts: 2, gone_at: null },
      packages: [{ ecosystem: 'apt', distribution: 'Debian:12', package: 'openssl', fixed_in: null }],
    });
    expect(one.counted_at).not.toBeNull();
    expect(await it.hosts('CVE-2024-1')).toEqual([first, second].sort());
    // Any id, in any case, names the one page; one that nobody knows names none.
    for (const name of ['debian-cve-2024-1', 'cve-2024-1']) {
      expect(await it.get(`${URL}/${name}`)).toEqual(one);
      expect(await it.ids(`?cve=${name}`)).toEqual(['CVE-2024-1']);
    }
    expect(await it.ids('?cve=CVE-2024-9')).toEqual([]);
    expect((await it.call('GET', `${URL}/CVE-2024-9`)).status).toBe(404);
    expect((await it.call('GET', `${URL}/CVE-2024-9/hosts`)).status).toBe(404);
  });

  test('that one is not exploited is said only while the list of exploited ones is current', async () => {
    const it = await scene();
    it.record('CVE-2024-1');
    it.record('CVE-2024-2');
    await it.database.transact(async (tx) => {
      await saveScores(tx, 'kev', [['CVE-2024-1', 1]]);
      await saveFetched(tx, { feed: 'kev', entries: 1, nowMs: it.platform.now(), asOfMs: it.platform.now() });
    });
    const fetched_at = new Date(it.platform.now()).toISOString();
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const exploited = async (id: string) => (await it.get(`${URL}/${id}`)).exploited;
    expect(await it.ids('?exploited=false')).toEqual(['CVE-2024-2']);
    expect(await exploited('CVE-2024-2')).toBe(false);
    const offSince = (ms: number | null) => it.database.transact((tx) => setOffSince(tx, 'kev', ms));
    for (const state of ['off', 'stale']) {
      await offSince(state === 'off' ? it.platform.now() : null);
      if (state === 'stale') it.clock.advance(KEV_MAX_AGE_MS);
      // Whether or not the hosts have been counted since.
      for (const isCounted of [false, true]) {
        if (isCounted) await it.pass();
        expect(await it.ids('?exploited=true'), `${state} ${isCounted}`).toEqual(['CVE-2024-1']);
        expect(await it.ids('?exploited=false'), `${state} ${isCounted}`).toEqual([]);
        expect(await it.ids('?exploited=unknown')).toEqual(['CVE-2024-2']);
        expect([await exploited('CVE-2024-1'), await exploited('CVE-2024-2')]).toEqual([true, null]);
      }
      const list = { exploited_list: { state, fetched_at } };
      expect(await it.get(`${URL}/CVE-2024-2`)).toMatchObject(list);
      expect(await it.get(`${URL}/coverage`)).toMatchObject(list);
      const rows = await it.database.read.selectFrom('vulnerabilities').select('exploited').execute();
      expect(rows.map((row) => row.exploited)).not.toContain(0);
    }
  });

  test('an advisory about several is found by its id, and the list has each of them', async () => {
    const it = await scene();
    it.record('DSA-1', { upstream: ['CVE-2024-1', 'CVE-2024-2'] });
    it.record('DEBIAN-CVE-2024-1', { upstream: ['CVE-2024-1'] });
    const host = await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    expect(await it.ids()).toEqual(['CVE-2024-2', 'CVE-2024-1']);
    expect((await it.ids('?q=dsa-1')).sort()).toEqual(['CVE-2024-1', 'CVE-2024-2', 'DSA-1']);
    expect(await it.get(`${URL}/dsa-1`)).toMatchObject({
      ...{ id: 'DSA-1', covers: ['CVE-2024-1', 'CVE-2024-2'], hosts: 1 },
    });
    for (const cve of ['DSA-1', 'CVE-2024-2', 'debian-cve-2024-1']) {
      const { items } = await it.get(`/api/v1/agents?cve=${cve}`);
      expect(items.map(({ id }: { id: string }) => id)).toEqual([host]);
    }
  });

  test('records that name each other are one, also without a CVE', async () => {
    const it = await scene();
    it.record('GHSA-1', { aliases: ['PYSEC-1'] });
    it.record('PYSEC-1', { aliases: ['GHSA-1'] });
    it.record('GHSA-2', { aliases: ['CVE-2024-2'] });
    it.record('PYSEC-2', { aliases: ['GHSA-2'] });
    const host = await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    expect((await it.ids()).sort()).toEqual(['CVE-2024-2', 'GHSA-1']);
    expect(await it.get(`${URL}/PYSEC-1`)).toMatchObject({
      ...{ id: 'GHSA-1', names: ['GHSA-1', 'PYSEC-1'], hosts: 1 },
    });
    expect(await it.get(`${URL}/PYSEC-2`)).toMatchObject({ id: 'CVE-2024-2', hosts: 1 });
    for (const id of ['PYSEC-1', 'PYSEC-2']) expect(await it.hosts(id)).toEqual([host]);
  });

  test('an id that became an alias leads to the vulnerability that hosts have', async () => {
    const it = await scene();
    it.record('GHSA-1');
    const host = await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    expect(await it.get(`${URL}/GHSA-1`)).toMatchObject({ id: 'GHSA-1', hosts: 1 });
    const modified = '2026-11-02T00:00:00Z';
    const record = JSON.stringify({ id: 'GHSA-1', modified, aliases: ['CVE-2024-1'] });
    await it.database.transact((tx) => tx.updateTable('advisories').set({ record, modified }).execute());
    await it.pass();
    expect(await it.get(`${URL}/GHSA-1`)).toMatchObject({ id: 'CVE-2024-1', hosts: 1, gone_at: null });
    await it.install(host, { openssl: '3.0.12-1' });
    await it.pass();
    expect(await it.get(`${URL}/GHSA-1`)).toMatchObject({ hosts: 0 });
  });

  test('the list is in the order of urgency, page by page, and filtered', async () => {
    const it = await scene();
    const severity = [{ type: 'CVSS_V3', score: 'CVSS:3.1/AV:N/AC:L/PR:N/UI:N/S:U/C:H/I:H/A:H' }];
    it.record('CVE-2024-1', { summary: 'a heap overflow' });
    it.record('CVE-2024-2', { severity });
    it.record('CVE-2024-3');
    it.record('CVE-2024-4', {}, ['5.2-1'], 'bash');
    await it.database.transact(async (tx) => {
      await saveScores(tx, 'kev', [['CVE-2024-3', 1]]);
      await saveFetched(tx, { feed: 'kev', entries: 1, nowMs: it.platform.now(), asOfMs: it.platform.now() });
      await saveScores(tx, 'epss', [['CVE-2024-4', 0.9]]);
      const nowMs = it.platform.now();
      await saveFetched(tx, { feed: 'epss', entries: 1, nowMs, asOfMs: nowMs });
    });
    await it.addHost({ openssl: '3.0.11-1', bash: '5.2-1' });
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const all = ['CVE-2024-3', 'CVE-2024-2', 'CVE-2024-4', 'CVE-2024-1'];
    expect(await it.ids()).toEqual(all);
    const paged: string[] = [];
    for (let cursor = ''; ; ) {
      const page = await it.get(`${URL}?limit=1${cursor}`);
      paged.push(...page.items.map(({ id }: { id: string }) => id));
      expect(page.total).toBe(4);
      if (page.next_cursor === null) break;
      cursor = `&cursor=${page.next_cursor}`;
    }
    expect(paged).toEqual(all);
    expect(await it.ids('?sort=hosts&limit=1')).toEqual(['CVE-2024-4']);
    expect(await it.ids('?severity=critical')).toEqual(['CVE-2024-2']);
    expect(await it.ids('?severity=unknown')).toEqual(['CVE-2024-3', 'CVE-2024-4', 'CVE-2024-1']);
    expect(await it.ids('?exploited=true')).toEqual(['CVE-2024-3']);
    expect(await it.ids('?exploited=false')).toHaveLength(3);
    expect(await it.ids('?q=HEAP')).toEqual(['CVE-2024-1']);
    expect(await it.ids('?q=bash')).toEqual(['CVE-2024-4']);
    expect(await it.ids('?fix=unfixed')).toEqual(all);
    expect(await it.ids('?fix=fixable')).toEqual([]);
  });

  test('hosts are told apart by what an update that fixes it waits for', async () => {
    const it = await scene();
    it.record('CVE-2024-1', {}, ['3.0.11-1', '3.0.12-1']);
    const hosts = await Promise.all([1, 2, 3, 4, 5].map(() => it.addHost({ openssl: '3.0.11-1' })));
    const [fixable = '', planned = '', wrong = '', held = '', stopped = ''] = hosts;
    await it.offer(fixable, '3.0.13-1');
    await it.offer(planned, '3.0.13-1', 'awaiting_plan');
    await it.offer(wrong, '3.0.12-1');
    await it.offer(held, '3.0.13-1');
    const refused = await it.offer(stopped, '3.0.13-1');
    await it.database.transact((tx) =>
      tx.updateTable('updates').set({ stopped_under: 'any' }).where('id', '=', refused).execute(),
    );
    const hold = await it.call('POST', '/api/v1/holds', {
      ...{ ecosystems: ['apt'], packages: ['openssl'], reason: 'a test' },
      ...{
        scope: { kind: 'some', groups: [], hosts: [held], tags: [] },
        ends_at: new Date(it.platform.now() + DAY_MS).toISOString(),
      },
    });
    expect(hold.status, JSON.stringify(hold.body)).toBe(201);
    await it.pass();
    expect(await it.get(`${URL}/CVE-2024-1`)).toMatchObject({
      ...{ hosts: 5, fixable_hosts: 1, waiting_hosts: 3, unfixed_hosts: 1 },
    });
    expect(await it.hosts('CVE-2024-1', '?state=fixable')).toEqual([fixable]);
    expect(await it.hosts('CVE-2024-1', '?state=unfixed')).toEqual([wrong]);
    const waiting = await it.get(`${URL}/CVE-2024-1/hosts?state=waiting`);
    const waits = new Map(
      waiting.items.map((one: { agent_id: string; fixes: { waits_for: string }[] }) => [
        one.agent_id,
        one.fixes.map(({ waits_for }) => waits_for),
      ]),
    );
    expect(waits).toEqual(
      new Map([
        [planned, ['plan']],
        [held, ['hold']],
        [stopped, ['gate']],
      ]),
    );
    expect(await it.ids('?fix=fixable')).toEqual(['CVE-2024-1']);
    expect(await it.ids('?fix=waiting')).toEqual(['CVE-2024-1']);
    // The same updates, in the list and in its text: only those that fix it, of hosts that have it.
    await it.offer(await it.addHost({ openssl: '3.0.14-1' }), '3.0.13-1');
    const order = updateOrder();
    const found = async (filter: UpdateListFilter, mostSorted = 100) => {
      const page = { filter, scope: null, order, limit: 10, after: null, mostSorted };
      return (await listUpdates(it.database.read, page)).rows.map((row) => row.agent_id).sort();
    };
    const own = [fixable, held, stopped].sort();
    expect(await found({ cve: 'cve-2024-1', state: 'pending' })).toEqual(own);
    // The same along an index, as in a fleet of many updates.
    expect(await found({ cve: 'cve-2024-1', state: 'pending' }, 0)).toEqual(own);
    expect(await found({ cve: 'CVE-2024-1', host: 'host-2' })).toEqual([fixable]);
    expect(await found({ cve: 'CVE-2024-9' })).toEqual([]);
    const packages = await listPackages(it.database.read, {
      ...{ filter: { cve: 'CVE-2024-1' }, scope: null, order: packageOrder(), limit: 10, after: null },
    });
    expect(packages.rows).toMatchObject([{ name: 'openssl', hosts: 4 }]);
  });

  test('hosts on which it is fixed are named, with the time', async () => {
    const it = await scene();
    it.record('CVE-2024-1');
    const host = await it.addHost({ openssl: '3.0.11-1' });
    const other = await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    await it.install(host, { openssl: '3.0.12-1' });
    const fixedAt = it.platform.now();
    await it.database.transact(async (tx) => {
      const { id: packageId } = await tx
        .selectFrom('package_identities')
        .select('id')
        .where('name', '=', 'openssl')
        .where('version', '=', '3.0.11-1')
        .executeTakeFirstOrThrow();
      const { number: agentNumber } = await tx
        .selectFrom('inventory_agents')
        .select('number')
        .where('agent_id', '=', host)
        .executeTakeFirstOrThrow();
      const changes = [{ packageId, change: 'removed' as const, held: 0 }];
      await recordChanges(tx, { agentNumber, changes, nowMs: fixedAt });
    });
    expect(await it.hosts('CVE-2024-1')).toEqual([other]);
    await it.pass();
    expect((await it.get(`${URL}/CVE-2024-1/hosts?state=fixed`)).items).toMatchObject([
      { agent_id: host, state: 'fixed', fixed_at: new Date(fixedAt).toISOString() },
    ]);
    await it.install(other, { openssl: '3.0.12-1' });
    await it.pass();
    const gone = await it.get(`${URL}/CVE-2024-1`);
    expect(gone).toMatchObject({ hosts: 0, unfixed_hosts: 0 });
    expect(gone.gone_at).not.toBeNull();
    expect(await it.ids()).toEqual([]);
    // A host that reports the old version again is found before the next count.
    await it.install(other, { openssl: '3.0.11-1' });
    expect(await it.hosts('CVE-2024-1')).toEqual([other]);
    await it.pass();
    expect(await it.get(`${URL}/CVE-2024-1`)).toMatchObject({
      ...{ hosts: 1, gone_at: null, first_seen_at: gone.first_seen_at },
    });
  });

  test('a record that is taken back names no host any more', async () => {
    const it = await scene();
    it.record('CVE-2024-1');
    it.record('CVE-2024-2');
    const host = await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    expect(await it.hosts('CVE-2024-1')).toEqual([host]);
    await it.database.transact((tx) =>
      tx.updateTable('advisory_checks').set({ advisory_ids: '["CVE-2024-2"]' }).execute(),
    );
    await it.pass();
    expect(await it.hosts('CVE-2024-1')).toEqual([]);
    expect(await it.hosts('CVE-2024-2')).toEqual([host]);
  });

  test('an operator who is bound to groups sees the counts and hosts of these alone', async () => {
    const it = await scene();
    it.record('CVE-2024-1');
    it.record('CVE-2024-2', {}, ['5.2-1'], 'bash');
    const own = await it.addHost({ openssl: '3.0.11-1' }, 'ours');
    await it.addHost({ openssl: '3.0.11-1', bash: '5.2-1' }, 'theirs');
    await it.pass();
    expect(await it.get(`${URL}/CVE-2024-1`)).toMatchObject({ hosts: 2 });
    const as = async (path: string) => {
      const headers = { 'x-test-groups': 'ours' };
      const answer = await it.app.inject({ method: 'GET', url: `${URL}${path}`, headers });
      return { status: answer.statusCode, body: answer.json() };
    };
    expect((await as('')).body.items).toMatchObject([{ id: 'CVE-2024-1', hosts: 1 }]);
    expect((await as('/CVE-2024-1')).body).toMatchObject({ hosts: 1, unknown_hosts: 0 });
    expect((await as('/CVE-2024-1/hosts')).body.items).toMatchObject([{ agent_id: own }]);
    expect((await as('/CVE-2024-2')).status).toBe(404);
    expect((await as('/CVE-2024-2/hosts')).status).toBe(404);
    expect((await as('/coverage')).body).toMatchObject({ hosts: 1, not_judged: [] });
  });

  test('an operator who is bound to groups is not told which packages and systems others have', async () => {
    const it = await scene();
    it.osv.addRecord({ id: 'CVE-2024-1', summary: 'bad' }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1'] },
      { ecosystem: 'Debian:11', name: 'openssl-old', versions: ['3.0.11-1'] },
    ]);
    await it.addHost({ openssl: '3.0.11-1' }, 'ours');
    const other = await it.addHost({}, 'theirs');
    const elsewhere = await it.addHost({ 'openssl-old': '3.0.11-1' }, 'theirs');
    const of = { agent_id: other, ecosystem: 'apt', version: '3.0.11-1' };
    const source = { source_name: 'openssl', source_version: '3.0.11-1' };
    await it.database.transact(async (tx) => {
      await insertInstalled(tx, { ...of, ...source, name: 'libsecret' });
      await tx.updateTable('agents').set({ os_version_id: '11' }).where('id', '=', elsewhere).execute();
    });
    await it.pass();
    expect(await it.get(`${URL}/CVE-2024-1`)).toMatchObject({ hosts: 3 });
    expect(await it.ids('?q=libsecret')).toEqual(['CVE-2024-1']);
    const as = async (path: string) => {
      const headers = { 'x-test-groups': 'ours' };
      const answer = await it.app.inject({ method: 'GET', url: path, headers });
      expect([answer.statusCode, answer.body.includes('libsecret')]).toEqual([200, false]);
      return answer.json();
    };
    for (const item of [await as(`${URL}/CVE-2024-1`), (await as(URL)).items[0]]) {
      expect(item.packages).toMatchObject([{ distribution: 'Debian:12', package: 'openssl' }]);
    }
    for (const q of ['CVE-2024', 'bad']) expect((await as(`${URL}?q=${q}`)).total).toBe(1);
    for (const q of ['libsecret', 'openssl-old']) expect((await as(`${URL}?q=${q}`)).total).toBe(0);
    expect((await as('/api/v1/unfixed')).items).toMatchObject([
      { package: 'openssl', hosts: 1, installed_packages: [], fix_offered_at: null },
    ]);
  });

  test('what nobody can judge is said, never left out', async () => {
    const it = await scene();
    it.record('CVE-2024-1');
    const host = await it.addHost({ openssl: '3.0.11-1', bash: '5.2-1' });
    await it.database.transact((tx) =>
      tx.updateTable('package_identities').set({ source_name: null }).where('name', '=', 'bash').execute(),
    );
    await it.pass();
    expect(await it.get(`${URL}/coverage`)).toMatchObject({
      ...{ hosts: 2, unknown_hosts: 2 },
      not_judged: [{ ecosystem: 'apt', os: 'debian 12', reason: 'cannot', packages: 1 }],
    });
    expect(await it.get(`${URL}/CVE-2024-1`)).toMatchObject({ hosts: 1, unknown_hosts: 2 });
    expect(await it.hosts('CVE-2024-1')).toEqual([host]);
  });

  test('a pass without news writes nothing, and a deleted identity leaves no link behind', async () => {
    const it = await scene();
    it.record('CVE-2024-1');
    const host = await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const rows = () => it.database.read.selectFrom('vulnerabilities').selectAll().execute();
    const before = await rows();
    await it.pass();
    expect(await rows()).toEqual(before);
    const links = () => it.database.read.selectFrom('subject_packages').selectAll().execute();
    expect(await links()).toHaveLength(1);
    await it.install(host, { openssl: '3.0.12-1' });
    const tidy = tidyIdentities(it.platform);
    for (let i = 0; i < 4; i++) {
      await tidy.run(() => false);
      it.clock.advance(40 * DAY_MS);
    }
    expect(await links()).toEqual([]);
  });
});
