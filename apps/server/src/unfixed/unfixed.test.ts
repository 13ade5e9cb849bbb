import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { KEV_MAX_AGE_MS } from '../advisories/exploited/kev-list.ts';
import { saveFetched, saveScores, setOffSince } from '../advisories/exploited/store.ts';
import { saveChecks } from '../advisories/store.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { actionOf } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { createInstalledFleet, INTERVAL_MS } from '../testing/installed-fleet.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { believeClock, jumpAhead } from '../testing/jumping-clock.ts';
import { readsWithPlugin } from '../testing/with-plugin.ts';
import { RENEWED_EVERY_MS } from './pass-store.ts';
import { runUnfixedPass } from './run-pass.ts';

const URL = '/api/v1/unfixed';
const MINUTE = 60_000;
const DAY_MS = 86_400_000;

interface Item {
  id: string;
  vulnerability: string;
  hosts: number;
  hosts_with_pending_fix: number;
  first_seen_at: string;
  exploited: boolean | null;
  fixed_in: string | null;
}

describe.each(ENGINES)('the list of vulnerabilities without a fix on $name', (engine) => {
  async function scene() {
    const it = await createInstalledFleet(engine);
    return {
      ...it,
      async list(query = ''): Promise<Item[]> {
        const { status, body } = await it.call('GET', `${URL}${query}`);
        expect(status, JSON.stringify(body)).toBe(200);
        return body.items;
      },
      async only(): Promise<Item> {
        const { body } = await it.call('GET', URL);
        expect(body.items).toHaveLength(1);
        return body.items[0];
      },
      async eventsOf(type: string) {
        const rows = await it.database.read
          .selectFrom('events')
          .selectAll()
          .where('type', '=', type)
          .orderBy('position')
          .execute();
        return rows.map(({ content }) => JSON.parse(content));
      },
    };
  }

  test('says for each vulnerability how many hosts have it and since when, and what is known of it', async () => {
    const it = await scene();
    it.osv.addRecord({ id: 'DEBIAN-CVE-1', summary: 'bad', upstream: ['CVE-2024-1'] }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1'] },
    ]);
    await it.addHost({ openssl: '3.0.11-1' });
    const second = await it.addHost({ openssl: '3.0.11-1' });
    await it.addHost({ openssl: '3.0.12-1', bash: '5.2-1' });
    await it.pass();
    const first = await it.only();
    expect(first).toMatchObject({
      ...{ vulnerability: 'DEBIAN-CVE-1', names: ['DEBIAN-CVE-1', 'CVE-2024-1'], package: 'openssl' },
      ...{ distribution: 'Debian:12', ecosystem: 'apt', installed_packages: ['openssl'] },
      ...{ hosts: 2, hosts_with_pending_fix: 0, fixed_in: null, fix_known_at: null, fix_offered_at: null },
      ...{ exploited: null, statements: [], mitigation: null },
      first_seen_at: new Date(it.platform.now()).toISOString(),
    });
    await it.install(second, { openssl: '3.0.12-1' });
    await it.pass();
    expect(await it.only()).toMatchObject({ hosts: 1, first_seen_at: first.first_seen_at, id: first.id });
    expect((await it.call('GET', URL)).body).toMatchObject({ total: 1, next_cursor: null });
  });

  test('an advisory about several CVEs is one row, found by each, with the hosts that each of them has', async () => {
    const it = await scene();
    const cves = ['CVE-2024-11', 'CVE-2024-12', 'CVE-2024-13'];
    const record = (more: { id: string; upstream?: string[]; related?: string[] }) =>
      it.osv.addRecord({ summary: 'bad', ...more }, [
        { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1'] },
      ]);
    record({ id: 'DSA-1-1', upstream: cves });
    record({ id: 'ALSA-2-1', related: ['CVE-2024-21'] });
    await it.addHost({ openssl: '3.0.11-1' });
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const found = async (q: string) => (await it.list(`?q=${q}`)).map(({ vulnerability }) => vulnerability);
    for (const q of ['DSA-1-1', ...cves, 'cve-2024-12']) expect(await found(q), q).toEqual(['DSA-1-1']);
    expect(await found('CVE-2024-21')).toEqual(['ALSA-2-1']);
    expect(await found('CVE-2024-14')).toEqual([]);
    const [advisory] = await it.list('?q=CVE-2024-12');
    // Its CVEs are no names of it: a statement about one says nothing about the others.
    expect(advisory).toMatchObject({ names: ['DSA-1-1'], cves, hosts: 2 });
    for (const id of [...cves, 'DSA-1-1']) {
      const { body } = await it.call('GET', `/api/v1/vulnerabilities/${id}`);
      expect(body, id).toMatchObject({ hosts: 2, unfixed_hosts: 2 });
    }
    // Rows that an earlier release counted have none until the next pass.
    await it.database.transact((tx) => tx.updateTable('unfixed').set({ cves: '[]' }).execute());
    expect(await found('CVE-2024-12')).toEqual([]);
    await it.pass();
    expect(await found('CVE-2024-12')).toEqual(['DSA-1-1']);
  });

  test('each vulnerability of a package has one row, which says all records that tell of it', async () => {
    const it = await scene();
    const record = (
      id: string,
      upstream: string[],
      more: { versions?: string[]; severity?: string } = {},
    ) => {
      const { versions = ['3.0.11-1', '3.0.12-1'], severity = 'LOW' } = more;
      const said = { id, summary: 'bad', upstream, database_specific: { severity } };
      it.osv.addRecord(said, [{ ecosystem: 'Debian:12', name: 'openssl', versions }]);
    };
    const openssl = '3.0.11-1';
    record('DSA-1-1', ['CVE-2024-1', 'CVE-2024-2', 'CVE-2024-3'], { severity: 'CRITICAL' });
    const first = await it.addHost({ openssl }, 'ours');
    await it.addHost({ openssl: '3.0.12-1' });
    await it.pass();
    const { id: wasOne } = await it.only();
    const put = async (mitigation: object | null) =>
      expect((await it.call('PUT', `${URL}/${wasOne}/mitigation`, { mitigation })).status).toBe(200);
    // The record of one of them names fewer versions than the advisory, which still counts.
    record('DEBIAN-CVE-2024-1', ['CVE-2024-1'], { versions: [openssl] });
    record('EUVD-1', ['CVE-2024-1'], { versions: [openssl], severity: 'HIGH' });
    it.clock.advance(2 * DAY_MS);
    await it.pass();
    const rowsOf = async (query = '?sort=first_seen_at') =>
      (await it.list(query)).map(({ vulnerability, hosts }) => `${vulnerability} ${hosts}`).sort();
    expect(await rowsOf()).toEqual(['DEBIAN-CVE-2024-1 2', 'DSA-1-1 2']);
    const [one] = await it.list('?q=CVE-2024-1');
    expect(one).toMatchObject({
      ...{ vulnerability: 'DEBIAN-CVE-2024-1', cves: ['CVE-2024-1'], severity: 'high' },
      ...{ names: ['DEBIAN-CVE-2024-1', 'CVE-2024-1', 'EUVD-1'], hosts: 2 },
      records: ['DEBIAN-CVE-2024-1', 'DSA-1-1', 'EUVD-1'],
    });
    const [rest] = await it.list('?q=CVE-2024-2');
    expect(rest).toMatchObject({ id: wasOne, cves: ['CVE-2024-2', 'CVE-2024-3'], records: ['DSA-1-1'] });
    for (const [q, rows] of [
      ['CVE-2024-1', 1],
      ['EUVD-1', 1],
      ['DSA-1-1', 2],
    ] as const)
      expect(await it.list(`?q=${q}`), q).toHaveLength(rows);
    const hosts = async (vulnerability: string) => {
      const about = `distribution=Debian:12&package=openssl&vulnerability=${vulnerability}`;
      return (await it.call('GET', `${URL}/hosts?${about}`)).body.items;
    };
    expect(await hosts('DEBIAN-CVE-2024-1')).toMatchObject([
      { agent_id: first, packages: [{ name: 'openssl', version: openssl }] },
      { packages: [{ name: 'openssl', version: '3.0.12-1' }] },
    ]);
    await it.pass();
    expect(await rowsOf()).toEqual(['DEBIAN-CVE-2024-1 2', 'DSA-1-1 2']);

    // Once each of them has a record, the advisory has no row of its own, unless somebody noted something there.
    record('DEBIAN-CVE-2024-2', ['CVE-2024-2'], { versions: [openssl] });
    record('DEBIAN-CVE-2024-3', ['CVE-2024-3'], { versions: [openssl] });
    await put({ hook: 'web-firewall', note: 'Blocks the request.' });
    it.clock.advance(2 * DAY_MS);
    await it.pass();
    const each = ['DEBIAN-CVE-2024-1 2', 'DEBIAN-CVE-2024-2 2', 'DEBIAN-CVE-2024-3 2'];
    expect(await rowsOf()).toEqual([...each, 'DSA-1-1 2']);
    await put(null);
    await it.pass();
    expect(await rowsOf()).toEqual(each);
    expect(await rowsOf('?q=dsa-1-1')).toEqual(each);

    // The hosts of a row are those that have what any of its records tells of.
    await it.install(first, { openssl: '3.0.13-1' });
    await it.pass();
    expect(await rowsOf()).toEqual(each.map((row) => row.replace(/2$/, '1')));
    expect(await hosts('DEBIAN-CVE-2024-1')).toHaveLength(1);
  });

  test('exploited is no without a list of exploited ones only when somebody could know', async () => {
    const it = await scene();
    const record = (id: string, upstream: string[]) =>
      it.osv.addRecord({ id, summary: 'bad', upstream }, [
        { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1'] },
      ]);
    record('DEBIAN-CVE-1', ['CVE-2024-1']);
    record('DEBIAN-CVE-2', ['CVE-2024-2']);
    record('DSA-3', []);
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const known = async (exploited: string) =>
      (await it.list(`?exploited=${exploited}`)).map(({ vulnerability }) => vulnerability).sort();
    expect(await known('unknown')).toEqual(['DEBIAN-CVE-1', 'DEBIAN-CVE-2', 'DSA-3']);
    await it.database.transact(async (tx) => {
      await saveScores(tx, 'kev', [['CVE-2024-1', 1]]);
      await saveFetched(tx, { feed: 'kev', entries: 1, nowMs: it.platform.now(), asOfMs: it.platform.now() });
    });
    await it.pass();
    expect(await known('true')).toEqual(['DEBIAN-CVE-1']);
    expect(await known('false')).toEqual(['DEBIAN-CVE-2']);
    // Without a CVE the list could not name it.
    expect(await known('unknown')).toEqual(['DSA-3']);
    const rest = async () => (await it.call('GET', `${URL}/coverage`)).body.exploited_list;
    const { fetched_at, released_on } = await rest();
    expect(await rest()).toEqual({ state: 'current', fetched_at, released_on: fetched_at.slice(0, 10) });
    for (const state of ['off', 'stale']) {
      if (state === 'off') await it.database.transact((tx) => setOffSince(tx, 'kev', it.platform.now()));
      else await it.database.transact((tx) => setOffSince(tx, 'kev', null));
      if (state === 'stale') it.clock.advance(KEV_MAX_AGE_MS);
      expect(await rest()).toEqual({ state, fetched_at, released_on });
      // Whether or not the hosts have been counted since.
      for (const isCounted of [false, true]) {
        if (isCounted) await it.pass();
        expect(await known('true'), `${state} ${isCounted}`).toEqual(['DEBIAN-CVE-1']);
        expect(await known('false'), `${state} ${isCounted}`).toEqual([]);
        expect(await known('unknown')).toEqual(['DEBIAN-CVE-2', 'DSA-3']);
        const said = (await it.list('?sort=first_seen_at')).map(({ exploited }) => exploited);
        expect(said.toSorted()).toEqual([null, null, true]);
      }
      const rows = await it.database.read.selectFrom('unfixed').select('exploited').execute();
      expect(rows.map(({ exploited }) => exploited)).not.toContain(0);
    }
  });

  test('a pending update takes a host off only when it is judged to be free of the vulnerability', async () => {
    const it = await scene();
    it.osv.addRecord({ id: 'CVE-1', summary: 'bad' }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1', '3.0.12-1'] },
    ]);
    const host = await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const offer = async (version: string) => {
      await it.addUpdate({ agentId: host, version });
      await it.pass();
    };
    await offer('3.0.12-1');
    await it.worker.ensureJudged([{ ecosystem: 'Debian:12', name: 'openssl', version: '3.0.12-1' }], 10_000);
    await it.pass();
    expect(await it.only()).toMatchObject({ hosts: 1, hosts_with_pending_fix: 0 });
    await offer('3.0.13-1');
    // Nobody has judged 3.0.13-1 yet.
    expect(await it.only()).toMatchObject({ hosts: 1, hosts_with_pending_fix: 0, fix_offered_at: null });
    await it.worker.ensureJudged([{ ecosystem: 'Debian:12', name: 'openssl', version: '3.0.13-1' }], 10_000);
    await it.pass();
    expect(await it.list()).toEqual([]);
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    expect(await it.only()).toMatchObject({ hosts: 1, hosts_with_pending_fix: 1 });
    // An answer that is too old fixes nothing any more, while what is installed stays known.
    it.clock.advance(30 * DAY_MS);
    await it.osv.stop();
    expect(await runUnfixedPass(it.deps, { intervalMs: INTERVAL_MS })).toBe('ended');
    expect(await it.only()).toMatchObject({ hosts: 2, hosts_with_pending_fix: 0 });
  });

  test('a host is counted until each of its packages of the source has a fix', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    const host = await it.addHost({ openssl: '3.0.11-1' });
    const libssl = { agent_id: host, ecosystem: 'apt', name: 'libssl3', arch: '', version: '3.0.11-1' };
    const source = { source_name: 'openssl', source_version: '3.0.11-1', origin: null, held: 0 };
    await it.database.transact((tx) => insertInstalled(tx, { ...libssl, ...source }));
    await it.worker.ensureJudged([{ ecosystem: 'Debian:12', name: 'openssl', version: '3.0.13-1' }], 10_000);
    await it.addUpdate({ agentId: host, version: '3.0.13-1' });
    await it.pass();
    expect(await it.only()).toMatchObject({ hosts: 1, installed_packages: ['libssl3', 'openssl'] });
    await it.addUpdate({ agentId: host, name: 'libssl3', version: '3.0.13-1' });
    await it.pass();
    expect(await it.list()).toEqual([]);
  });

  test('a fix that appears is an event, once for the database and once for an update', async () => {
    const it = await scene();
    const record = { id: 'CVE-1', summary: 'bad' };
    const affected = { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1'] };
    it.osv.addRecord(record, [affected]);
    const host = await it.addHost({ openssl: '3.0.11-1' });
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    expect(await it.eventsOf('fix_appeared')).toEqual([]);
    await it.addUpdate({ agentId: host, version: '3.0.13-1' });
    await it.worker.ensureJudged([{ ecosystem: 'Debian:12', name: 'openssl', version: '3.0.13-1' }], 10_000);
    await it.pass();
    await it.pass();
    const about = { vulnerability: 'CVE-1', package: 'openssl', distribution: 'Debian:12' };
    expect(await it.eventsOf('fix_appeared')).toEqual([
      { ...about, by: 'update', fixed_in: null, hosts: 1, hosts_with_pending_fix: 1 },
    ]);
    const events = [{ introduced: '0' }, { fixed: '3.0.13-1' }];
    const ranges = [{ type: 'ECOSYSTEM', events }];
    const modified = '2026-11-22T00:00:00Z';
    const said = {
      ...record,
      modified,
      affected: [{ package: { ecosystem: 'Debian:12', name: 'openssl' }, ranges }],
    };
    await it.database.transact((tx) =>
      tx
        .updateTable('advisories')
        .set({ record: JSON.stringify(said) })
        .where('id', '=', 'CVE-1')
        .execute(),
    );
    await it.pass();
    await it.pass();
    expect((await it.eventsOf('fix_appeared')).slice(1)).toEqual([
      { ...about, by: 'database', fixed_in: '3.0.13-1', hosts: 1, hosts_with_pending_fix: 1 },
    ]);
    expect(await it.only()).toMatchObject({ fixed_in: '3.0.13-1', fix_known_at: expect.any(String) });
  });

  test('what is first counted with a fix is no news', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    await it.worker.ensureJudged([{ ecosystem: 'Debian:12', name: 'openssl', version: '3.0.13-1' }], 10_000);
    const host = await it.addHost({ openssl: '3.0.11-1' });
    await it.addUpdate({ agentId: host, version: '3.0.13-1' });
    await it.pass();
    expect(await it.list()).toEqual([]);
    expect(await it.eventsOf('fix_appeared')).toEqual([]);
  });

  test('an operator who is bound to groups sees the counts and hosts of these alone', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    it.vulnerable({ id: 'CVE-2', name: 'bash', version: '5.2-1' });
    await it.addHost({ openssl: '3.0.11-1' }, 'ours');
    const early = await it.list();
    await it.pass();
    it.clock.advance(DAY_MS);
    await it.addHost({ openssl: '3.0.11-1', bash: '5.2-1' }, 'theirs');
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    expect(early).toEqual([]);
    const as = async (groups: string[], path = '') => {
      const headers = { 'x-test-groups': groups.join(',') };
      const answer = await it.app.inject({ method: 'GET', url: `${URL}${path}`, headers });
      expect(answer.statusCode, answer.body).toBe(200);
      return answer.json();
    };
    expect((await it.list()).map(({ hosts }) => hosts)).toEqual([3, 1]);
    const ours = await as(['ours']);
    expect(ours).toMatchObject({ total: 1, items: [{ vulnerability: 'CVE-1', hosts: 1 }] });
    const theirs = await as(['theirs']);
    expect(theirs).toMatchObject({ total: 2 });
    // Since when is that of the group, too.
    const since = theirs.items.find((one: Item) => one.vulnerability === 'CVE-1').first_seen_at;
    expect(since > ours.items[0].first_seen_at).toBe(true);
    expect((await as(['nobody'])).items).toEqual([]);
    expect(await as(['ours'], '/coverage')).toMatchObject({ hosts: 1 });
    const query = '/hosts?distribution=Debian:12&package=openssl&vulnerability=CVE-1';
    expect((await as(['ours'], query)).items.map((one: { group: string }) => one.group)).toEqual(['ours']);
    expect((await as(['theirs', 'ours'], query)).items).toHaveLength(2);
  });

  test('a host without a complete report, or with a package that nobody can judge, is not known whole', async () => {
    const it = await scene();
    const coverage = async () => (await it.call('GET', `${URL}/coverage`)).body;
    const exploited_list = { state: 'absent', fetched_at: null, released_on: null };
    expect(await coverage()).toEqual({ at: null, hosts: 0, unknown_hosts: 0, left_out: 0, exploited_list });
    const known = await it.addHost({ bash: '5.2-1' });
    // The host of the scene has reported nothing.
    await it.pass();
    expect(await coverage()).toMatchObject({ at: expect.any(String), hosts: 2, unknown_hosts: 1 });
    it.vulnerable({ version: '3.0.11-1' });
    await it.install(known, { openssl: '3.0.11-1' }, { complete: 0 });
    await it.pass();
    expect(await coverage()).toMatchObject({ hosts: 2, unknown_hosts: 2 });
    // What such a report says counts nevertheless.
    expect(await it.only()).toMatchObject({ hosts: 1 });
  });

  test('lists go on where they ended, in each order, and filter', async () => {
    const it = await scene();
    const packages: Record<string, string> = {};
    for (const n of [1, 2, 3, 4, 5]) {
      it.vulnerable({ id: `CVE-${n}`, name: `package-${n}`, version: '1.0-1' });
      packages[`package-${n}`] = '1.0-1';
      await it.addHost(packages);
    }
    await it.pass();
    for (const sort of ['-urgency', 'urgency', '-hosts', 'hosts', 'first_seen_at', '-first_seen_at']) {
      const all = (await it.list(`?sort=${sort}`)).map(({ vulnerability }) => vulnerability);
      const paged: string[] = [];
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { body } = await it.call(
          'GET',
          `${URL}?limit=2&sort=${sort}${cursor ? `&cursor=${cursor}` : ''}`,
        );
        expect(body.total).toBe(5);
        paged.push(...body.items.map((one: Item) => one.vulnerability));
        cursor = body.next_cursor;
      }
      expect(paged).toEqual(all);
      expect(new Set(all).size).toBe(5);
    }
    expect((await it.list('?sort=-hosts')).map(({ hosts }) => hosts)).toEqual([5, 4, 3, 2, 1]);
    expect((await it.list('?q=PACKAGE-3')).map(({ vulnerability }) => vulnerability)).toEqual(['CVE-3']);
    expect((await it.list('?q=cve-4')).map(({ vulnerability }) => vulnerability)).toEqual(['CVE-4']);
    expect(await it.list('?ecosystem=npm')).toEqual([]);
  });

  test('a host is counted until its update is free of what each record tells of', async () => {
    const it = await scene();
    const tell = (id: string, ...versions: string[]) =>
      it.osv.addRecord({ id, summary: 'bad', upstream: ['CVE-2024-1'] }, [
        { ecosystem: 'Debian:12', name: 'openssl', versions },
      ]);
    tell('DEBIAN-CVE-2024-1', '3.0.11-1', '3.0.12-1');
    tell('EUVD-1', '3.0.11-1');
    const host = await it.addHost({ openssl: '3.0.11-1' });
    for (const version of ['3.0.12-1', '3.0.13-1'])
      await it.worker.ensureJudged([{ ecosystem: 'Debian:12', name: 'openssl', version }], 10_000);
    await it.addUpdate({ agentId: host, version: '3.0.12-1' });
    await it.pass();
    expect(await it.only()).toMatchObject({ hosts: 1, records: ['DEBIAN-CVE-2024-1', 'EUVD-1'] });
    await it.addUpdate({ agentId: host, version: '3.0.13-1' });
    await it.pass();
    expect(await it.list()).toEqual([]);
  });

  test('known exploited ones come first, then the most severe, then those of most hosts', async () => {
    const it = await scene();
    const packages: Record<string, string> = {};
    for (const [n, severity] of [
      [1, 'LOW'],
      [2, 'LOW'],
      [3, null],
      [4, 'CRITICAL'],
      [5, 'HIGH'],
      [6, 'LOW'],
    ] as const) {
      const said = severity === null ? {} : { database_specific: { severity } };
      it.osv.addRecord({ id: `CVE-2024-${n}`, summary: 'bad', ...said }, [
        { ecosystem: 'Debian:12', name: `package-${n}`, versions: ['1.0-1'] },
      ]);
      packages[`package-${n}`] = '1.0-1';
    }
    await it.database.transact(async (tx) => {
      await saveScores(tx, 'kev', [['CVE-2024-6', 1]]);
      await saveFetched(tx, { feed: 'kev', entries: 1, nowMs: it.platform.now(), asOfMs: it.platform.now() });
    });
    await it.addHost(packages);
    await it.addHost({ 'package-2': '1.0-1' }, 'ours');
    await it.addHost({ 'package-1': '1.0-1' }, 'ours');
    await it.addHost({ 'package-2': '1.0-1' });
    await it.pass();
    const order = (items: Item[]) => items.map(({ vulnerability: id }) => Number(id.slice(-1)));
    expect(order(await it.list())).toEqual([6, 4, 5, 2, 1, 3]);
    expect(order(await it.list('?sort=urgency'))).toEqual([3, 1, 2, 5, 4, 6]);
    const headers = { 'x-test-groups': 'ours' };
    const ours = await it.app.inject({ method: 'GET', url: `${URL}?sort=urgency`, headers });
    expect(order(ours.json().items).sort()).toEqual([1, 2]);
  });

  test('a mitigation is a note with who, when and which hook, and changes no count', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const { id } = await it.only();
    const mitigation = { hook: 'web-firewall', note: 'Blocks the request.' };
    const put = (body: object) => it.call('PUT', `${URL}/${id}/mitigation`, body);
    const noted = { ...mitigation, by: 'ada', at: expect.any(String) };
    expect(await put({ mitigation })).toMatchObject({ status: 200, body: { mitigation: noted } });
    await it.pass();
    expect(await it.only()).toMatchObject({ hosts: 1, mitigation: noted });
    expect(await it.list('?mitigated=false')).toEqual([]);
    expect(await it.list('?mitigated=true')).toHaveLength(1);
    expect(await put({ mitigation: null })).toMatchObject({ status: 200, body: { mitigation: null } });
    const about = { vulnerability: 'CVE-1', distribution: 'Debian:12', package: 'openssl', actor: 'ada' };
    expect(await it.eventsOf('mitigation_noted')).toEqual([
      { ...about, hook_before: null, ...mitigation },
      { ...about, hook_before: 'web-firewall', hook: null, note: null },
    ]);
    expect((await put({ mitigation: { ...mitigation, hook: '../x' } })).status).toBe(400);
  });

  test('a statement in force shows where it is about the same vulnerability, package and distribution', async () => {
    const it = await scene();
    it.vulnerable({ id: 'CVE-2024-1', version: '3.0.11-1' });
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const statement = {
      ...{ vulnerability: 'CVE-2024-1', ecosystem: 'apt', package: 'openssl', distribution: 'debian' },
      ...{ versions: ['3.0.11-1'], scope: { kind: 'all' }, status: 'accepted', justification: null },
      ...{ text: 'Not reachable.', ends_at: '2026-12-01T00:00:00Z' },
    };
    const state = async (more: object) =>
      (await it.call('POST', '/api/v1/admin/vex-statements', { ...statement, ...more })).body.id;
    await state({ distribution: 'ubuntu' });
    await state({ package: 'bash' });
    await state({ vulnerability: 'CVE-2024-2' });
    expect(await it.only()).toMatchObject({ statements: [] });
    const id = await state({});
    const ours = await state({ scope: { kind: 'group', group: 'ours' } });
    const status = 'accepted';
    expect(await it.only()).toMatchObject({
      hosts: 1,
      statements: [
        { id, status },
        { id: ours, status },
      ],
    });
  });

  test('two servers never count at once, and one that died is succeeded', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    await it.addHost({ openssl: '3.0.11-1' });
    const run = (more: object = {}) => runUnfixedPass(it.deps, { intervalMs: INTERVAL_MS, ...more });
    const outcomes = await Promise.all([run(), run(), run()]);
    expect(outcomes.sort()).toEqual(['ended', 'not_due', 'not_due']);
    expect(await run()).toBe('not_due');
    it.clock.advance(MINUTE);
    expect(await run({ isStopped: () => true })).toBe('stopped');
    // A server that dies leaves its claim.
    await it.database.transact((tx) =>
      tx
        .updateTable('unfixed_pass')
        .set({ claim: 'dead', claimed_until: it.platform.now() + 1 })
        .execute(),
    );
    expect(await run()).toBe('not_due');
    it.clock.advance(2);
    expect(await run()).toBe('ended');
    expect(await it.only()).toMatchObject({ hosts: 1 });
  });

  interface Taking {
    hosts: number;
    before?: number;
    after?: number;
    slowMs?: number;
  }
  test.each<[string, Taking]>([
    ['while it reads', { after: 1, hosts: 1 }],
    ['while it renews its claim', { before: 2, hosts: 1, slowMs: RENEWED_EVERY_MS }],
    ['before it writes', { before: 2, hosts: 1 }],
    ['before it ends', { before: 3, hosts: 2 }],
  ])(
    'a server whose claim is taken over %s writes nothing more',
    async (_, { before, after, hosts, slowMs = 0 }) => {
      const it = await scene();
      it.vulnerable({ version: '3.0.11-1' });
      await it.addHost({ openssl: '3.0.11-1' });
      await it.pass();
      await it.addHost({ openssl: '3.0.11-1' });
      it.clock.advance(MINUTE);
      const pass = () => it.database.read.selectFrom('unfixed_pass').selectAll().execute();
      const [earlier] = await pass();
      let writes = 0;
      const takeOver = async () => {
        const taken = { claim: 'other', claimed_until: 0 };
        await it.database.transact((tx) => tx.updateTable('unfixed_pass').set(taken).execute());
      };
      const transact: typeof it.database.transact = async (work, ...more) => {
        writes += 1;
        if (writes === before) await takeOver();
        const result = await it.database.transact(work, ...more);
        if (writes === after) await takeOver();
        if (writes === 1) it.clock.advance(slowMs);
        return result;
      };
      const platform = { ...it.platform, database: { ...it.database, transact } };
      expect(await runUnfixedPass({ ...it.deps, platform }, { intervalMs: INTERVAL_MS })).toBe('claim_lost');
      expect(await it.only()).toMatchObject({ hosts });
      expect(await pass()).toEqual([{ ...earlier, claim: 'other', claimed_until: 0 }]);
    },
  );

  test('counting hosts writes nothing, however many there are', async () => {
    const it = await scene();
    for (let n = 0; n < 3; n++) await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const writes = async (more: number) => {
      for (let n = 0; n < more; n++) await insertTestAgent(it.database, { n: 1_000 + n });
      it.clock.advance(MINUTE);
      let count = 0;
      const transact: typeof it.database.transact = (work, ...rest) => {
        count += 1;
        return it.database.transact(work, ...rest);
      };
      const platform = { ...it.platform, database: { ...it.database, transact } };
      expect(await runUnfixedPass({ ...it.deps, platform }, { intervalMs: INTERVAL_MS })).toBe('ended');
      return count;
    };
    const few = await writes(0);
    expect(await writes(301)).toBe(few); // three more pages
  });

  test('what no source can tell keeps no other package from being looked up', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    const cannotTell = { subject: { ecosystem: 'Debian:12', name: 'bash', version: '5.2-1' } };
    const nowMs = it.platform.now();
    const said = { verdict: 'unchecked', reason: 'undecidable', ids: [], source: 'api' } as const;
    const check = { ...cannotTell, ...said, checkedAtMs: nowMs, snapshot: null };
    await it.database.transact((tx) => saveChecks(tx, [check], { keeps: 'nothing', nowMs }));
    for (const _ of [1, 2]) await it.addHost({ bash: '5.2-1' });
    await it.addHost({ openssl: '3.0.11-1' });
    for (const _ of [1, 2]) {
      it.clock.advance(INTERVAL_MS);
      await runUnfixedPass(it.deps, { intervalMs: INTERVAL_MS, judgedMax: 1 });
    }
    expect(await it.list()).toMatchObject([{ vulnerability: 'CVE-1' }]);
    // It is still counted as what nobody knows, with the host of the scene, which has reported nothing.
    expect((await it.call('GET', `${URL}/coverage`)).body).toMatchObject({ hosts: 4, unknown_hosts: 3 });
  });

  test('what the sources do not answer keeps no other package from being looked up', async () => {
    const it = await scene();
    for (const _ of [1, 2]) await it.addHost({ bash: '5.2-1', curl: '8.0-1' });
    await it.addHost({ openssl: '3.0.11-1' });
    const asked: string[] = [];
    const judgeInBackground = async (subjects: readonly { name: string }[]) => {
      asked.push(...subjects.map(({ name }) => name));
      return { outcome: 'unreachable' as const, unreachable: new Set<string>() };
    };
    const deps = { ...it.deps, worker: { judgeInBackground, wantRecords: () => {} } };
    for (const _ of [1, 2, 3, 4]) {
      it.clock.advance(INTERVAL_MS);
      await runUnfixedPass(deps, { intervalMs: INTERVAL_MS, judgedMax: 1 });
    }
    expect(asked.slice(0, 3).toSorted()).toEqual(['bash', 'curl', 'openssl']);
    expect(asked[3]).toBe(asked[0]);
  });

  test('a record that a server did not store before it ended is fetched, so that its CVE is found', async () => {
    const it = await scene();
    it.osv.addRecord({ id: 'DEBIAN-CVE-1', summary: 'bad', upstream: ['CVE-2024-1'] }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1'] },
    ]);
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    await it.database.transact((tx) => tx.deleteFrom('advisories').execute());
    await it.pass();
    const stored = () => it.database.read.selectFrom('advisories').select('id').execute();
    await expect.poll(stored).toHaveLength(1);
    await it.pass();
    expect((await it.call('GET', '/api/v1/vulnerabilities/CVE-2024-1')).body).toMatchObject({ hosts: 1 });
  });

  test('a report that comes in while a pass reads its host is read by the next one', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    const host = await it.addHost({});
    const early = () => it.install(host, { openssl: '3.0.11-1' }, { digest: 'early' });
    await early();
    let isIn = false;
    const read = readsWithPlugin(it.database, {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (isIn || !result.rows.some((row) => 'digest' in row)) return result;
        isIn = true;
        await it.install(host, { bash: '5.2-1' }, { digest: 'late' });
        return result;
      },
    });
    const platform = { ...it.platform, database: { ...it.database, read } };
    it.clock.advance(INTERVAL_MS);
    expect(await runUnfixedPass({ ...it.deps, platform }, { intervalMs: INTERVAL_MS })).toBe('ended');
    expect(isIn).toBe(true);
    // The host goes back to what it had.
    await early();
    await it.pass();
    expect(await it.only()).toMatchObject({ vulnerability: 'CVE-1', hosts: 1 });
  });

  test('a clock that jumps stops no pass', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    await it.addHost({ openssl: '3.0.11-1' });
    const run = () => runUnfixedPass(it.deps, { intervalMs: INTERVAL_MS });
    // A machine that sleeps for two days in the middle of a pass, which took a moment.
    let isFirst = true;
    const read = readsWithPlugin(it.database, {
      transformQuery: ({ node }) => node,
      async transformResult({ result }) {
        if (isFirst) it.clock.advance(2 * DAY_MS);
        isFirst = false;
        return result;
      },
    });
    const platform = { ...it.platform, database: { ...it.database, read } };
    expect(await runUnfixedPass({ ...it.deps, platform }, { intervalMs: INTERVAL_MS })).toBe('ended');
    it.clock.advance(2 * 60 * MINUTE);
    expect(await run()).toBe('ended');
    // A server that died while its clock was ahead.
    const ahead = { claim: 'dead', claimed_until: it.platform.now() + 300 * DAY_MS };
    await it.database.transact((tx) => tx.updateTable('unfixed_pass').set(ahead).execute());
    it.clock.advance(2 * 60 * MINUTE);
    expect(await run()).toBe('ended');
  });

  test('killed at any write, the next pass ends with the same counts', async () => {
    const it = await scene();
    for (const n of [1, 2, 3]) it.vulnerable({ id: `CVE-${n}`, name: `package-${n}`, version: '1.0-1' });
    const host = await it.addHost(
      { 'package-1': '1.0-1', 'package-2': '1.0-1', 'package-3': '1.0-1' },
      'ours',
    );
    await it.pass();
    const expected = (await it.list()).map(({ vulnerability, hosts }) => [vulnerability, hosts]);
    for (let dies = 0; dies < 8; dies++) {
      await it.install(host, dies % 2 ? { 'package-1': '1.0-1' } : { 'package-2': '1.0-1' });
      it.clock.advance(10 * MINUTE);
      let writes = 0;
      const transact: typeof it.database.transact = (work, ...more) => {
        writes += 1;
        if (writes > dies) throw new Error('killed');
        return it.database.transact(work, ...more);
      };
      const database = { ...it.database, transact };
      const deps = { ...it.deps, platform: { ...it.platform, database } };
      await runUnfixedPass(deps, { intervalMs: INTERVAL_MS }).catch(() => null);
      it.clock.advance(10 * MINUTE);
    }
    await it.install(host, { 'package-1': '1.0-1', 'package-2': '1.0-1', 'package-3': '1.0-1' });
    await it.pass();
    expect((await it.list()).map(({ vulnerability, hosts }) => [vulnerability, hosts])).toEqual(expected);
  });

  test('a pass without news writes no row, and reads no package again', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const before = await it.database.read.selectFrom('unfixed').selectAll().execute();
    // Were the packages read again, the host would have none.
    await it.database.transact((tx) => sql`DELETE FROM installed_packages`.execute(tx));
    await it.pass();
    expect(await it.database.read.selectFrom('unfixed').selectAll().execute()).toEqual(before);
  });

  test('what no host has any more keeps its times for 90 days', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    const host = await it.addHost({ openssl: '3.0.11-1' }, 'ours');
    await it.pass();
    const { first_seen_at, id } = await it.only();
    await it.install(host, { bash: '5.2-1' });
    await it.pass();
    expect(await it.list()).toEqual([]);
    await it.install(host, { openssl: '3.0.11-1' });
    await it.pass();
    expect(await it.only()).toMatchObject({ id, first_seen_at, hosts: 1 });
    await it.install(host, { bash: '5.2-1' });
    await it.pass();
    await jumpAhead(it.platform, 91 * DAY_MS);
    await it.pass();
    expect(await it.database.read.selectFrom('unfixed').selectAll().execute()).toHaveLength(1);
    expect(await it.database.read.selectFrom('vulnerabilities').selectAll().execute()).toHaveLength(1);
    await believeClock(it.platform);
    await it.pass();
    expect(await it.database.read.selectFrom('unfixed').selectAll().execute()).toEqual([]);
    expect(await it.database.read.selectFrom('vulnerabilities').selectAll().execute()).toEqual([]);
    expect(await it.database.read.selectFrom('unfixed_groups').selectAll().execute()).toEqual([]);
  });

  test('the hosts of one are those that have it without a pending fix now', async () => {
    const it = await scene();
    it.vulnerable({ version: '3.0.11-1' });
    const first = await it.addHost({ openssl: '3.0.11-1' });
    const second = await it.addHost({ openssl: '3.0.11-1' });
    const third = await it.addHost({ openssl: '3.0.11-1' });
    await it.addHost({ openssl: '3.0.12-1' });
    await it.addUpdate({
      agentId: second,
      version: '3.0.13-1',
      plan: [actionOf({ name: 'openssl', version: '3.0.13-1' })],
    });
    await it.worker.ensureJudged([{ ecosystem: 'Debian:12', name: 'openssl', version: '3.0.13-1' }], 10_000);
    await it.pass();
    const query = `${URL}/hosts?distribution=Debian:12&package=openssl&vulnerability=CVE-1`;
    const page = async (more = '') => (await it.call('GET', `${query}${more}`)).body;
    const all = await page();
    expect(all.items.map((one: { agent_id: string }) => one.agent_id)).toEqual([first, third]);
    expect(all.items[0]).toEqual({
      ...{
        agent_id: first,
        hostname: 'host-2',
        group: null,
        packages: [{ name: 'openssl', version: '3.0.11-1' }],
      },
    });
    const one = await page('&limit=1');
    expect(one.items).toHaveLength(1);
    const next = await page(`&limit=1&cursor=${one.next_cursor}`);
    expect(next.items.map((host: { agent_id: string }) => host.agent_id)).toEqual([third]);
    expect((await page().then(() => it.call('GET', query.replace('CVE-1', 'CVE-9')))).body.items).toEqual([]);
  });
});
