import { TOTAL_MAX } from '@tidegate/protocol/lists-api';
import { describe, expect, test } from 'vitest';
import { agentOrder, listAgents } from '../agents/list-store.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createInstalledFleet } from '../testing/installed-fleet.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { hostsFixed, hostsHaving } from '../vulnerabilities/hosts-store.ts';
import { findVulnerable } from '../vulnerability-index/filter-store.ts';
import { recordChanges } from './changes-store.ts';
import { findInstalled } from './find-store.ts';

const PAGE = { nowMs: 0, order: agentOrder('enrolled_at', 0), limit: 10, after: null };

describe.each(ENGINES)('hosts found by what is installed, on $name', (engine) => {
  async function scene() {
    const it = await createInstalledFleet(engine);
    const list = async (filter: Parameters<typeof listAgents>[1]['filter']) => {
      const { rows, count } = await listAgents(it.database.read, { filter, scope: null, ...PAGE });
      expect(count).toBe(rows.length);
      return rows.map(({ id }) => id).sort();
    };
    const number = async (agentId: string) =>
      (
        await it.database.read
          .selectFrom('inventory_agents')
          .select('number')
          .where('agent_id', '=', agentId)
          .executeTakeFirstOrThrow()
      ).number;
    return { ...it, list, number };
  }

  test('a package below a version is found in every version that is lower, as its package manager compares them', async () => {
    const it = await scene();
    const hosts: string[] = [];
    for (const openssl of ['3.0.9-1', '3.0.11-1', '3.0.11-1+b2', '1:1.1-1', '3.0.11~rc1-1'])
      hosts.push(await it.addHost({ openssl, bash: '1.0-1' }));
    const [nine, eleven, rebuilt, epoch, candidate] = hosts;
    const other = await it.addHost({ bash: '1.0-1' });
    await it.database.transact((tx) =>
      insertInstalled(tx, {
        ...{ agent_id: other, ecosystem: 'npm', name: 'openssl', arch: '', version: '2.0.0', held: 0 },
        ...{ source_name: null, source_version: null, origin: null },
      }),
    );
    const found = async (query: string) => {
      const { status, body } = await it.call('GET', `/api/v1/agents?${query}`);
      expect(status, JSON.stringify(body)).toBe(200);
      expect(body.total).toBe(body.items.length);
      return body.items.map(({ id }: { id: string }) => id).sort();
    };
    expect(await found('package=openssl&ecosystem=apt&below=3.0.11-1')).toEqual([nine, candidate].sort());
    expect(await found('package=openssl&ecosystem=apt&below=1:1.1-1')).toEqual(
      [nine, eleven, rebuilt, candidate].sort(),
    );
    expect(await found('package=openssl&ecosystem=apt')).toEqual(
      [nine, eleven, rebuilt, epoch, candidate].sort(),
    );
    // Of every package manager, each by its own rules.
    expect(await found('package=openssl&below=3.0.10')).toEqual([nine, other].sort());
    expect(await found('package=openssl&below=1.0')).toEqual([]);
    expect(await found('package=libssl')).toEqual([]);
    expect(await found('package=openssl&below=3.0.11-1&q=host-2')).toEqual([nine]);
    // The same by looking at one host after another, as where very many have it.
    const installed = await findInstalled(it.database.read, {
      ...{ name: 'openssl', ecosystem: 'apt', below: '3.0.11-1' },
    });
    expect(installed.areOnMany).toBe(false);
    expect(installed.numbers).toHaveLength(2);
    for (const how of [{}, { numbers: null }, { numbers: null, areOnMany: true }])
      expect(await it.list({ installed: { ...installed, ...how } })).toEqual([nine, candidate].sort());
  });

  test('a package in more versions than a statement names is found on the same hosts', async () => {
    const it = await scene();
    const hosts: string[] = [];
    for (const openssl of ['3.0.9-1', '3.0.10-1', '3.0.11-1', '3.0.12-1'])
      hosts.push(await it.addHost({ openssl }));
    const asked = { name: 'openssl', below: '3.0.12-1' };
    const few = await findInstalled(it.database.read, asked);
    const many = await findInstalled(it.database.read, asked, { namedMax: 2 });
    expect([few.areTooMany, many.areTooMany]).toEqual([false, true]);
    for (const installed of [few, many])
      expect(await it.list({ installed })).toEqual(hosts.slice(0, 3).sort());
  });

  test('below needs a package and a version that can be compared', async () => {
    const it = await scene();
    for (const query of [
      'below=1.0',
      'package=openssl&ecosystem=apt&below=%21%21',
      'package=openssl&ecosystem=npm&below=a',
    ]) {
      const { status, body } = await it.call('GET', `/api/v1/agents?${query}`);
      expect(status, query).toBe(400);
      expect(body.errors).toMatchObject([{ path: '/below' }]);
    }
  });

  test('a vulnerability of one system is not one of another with the same package', async () => {
    const it = await scene();
    it.osv.addRecord({ id: 'CVE-2024-1' }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1'] },
    ]);
    const host = await it.addHost({ openssl: '3.0.11-1', bash: '1.0-1' });
    const elsewhere = await it.addHost({ openssl: '3.0.11-1' });
    await it.database.transact((tx) =>
      tx.updateTable('agents').set({ os_version_id: '11' }).where('id', '=', elsewhere).execute(),
    );
    await it.pass();
    const found = await findVulnerable(it.database.read, { name: 'cve-2024-1' });
    expect(found).toMatchObject({ hosts: 1, installed: { ids: [expect.any(Number)] } });
    for (const how of [{}, { areTooMany: true }, { numbers: null }, { numbers: null, areOnMany: true }]) {
      const vulnerable = { ...found, installed: { ...found.installed, ...how } };
      expect(await it.list({ vulnerable })).toEqual([host]);
    }
    for (const hosts of [1, 100_000]) {
      const page = { found: { ...found, hosts }, scope: null, after: '', limit: 10 };
      expect((await hostsHaving(it.database.read, page)).map(({ id }) => id)).toEqual([host]);
    }
  });

  test('hosts that are surely more than lists count are not counted, unless more is asked for', async () => {
    const it = await scene();
    it.osv.addRecord({ id: 'CVE-2024-1' }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1'] },
    ]);
    await it.addHost({ openssl: '3.0.11-1' });
    await it.pass();
    const found = await findVulnerable(it.database.read, { name: 'CVE-2024-1' });
    const count = async (vulnerable: typeof found, more = {}, scope: string[] | null = null) =>
      (await listAgents(it.database.read, { filter: { vulnerable, ...more }, scope, ...PAGE })).count;
    const most = { ...found, hosts: TOTAL_MAX + 1 };
    expect(await count(found)).toBe(1);
    expect(await count({ ...found, hosts: TOTAL_MAX })).toBe(1);
    expect(await count(most)).toBe(TOTAL_MAX + 1);
    expect(await count(most, { os: 'debian' })).toBe(1);
    expect(await count(most, {}, ['elsewhere'])).toBe(0);
    // Of a package only those that are not deleted are sure.
    const counts = async (hosts: number, more = {}) => {
      const installed = { ...(await findInstalled(it.database.read, { name: 'openssl' })), hosts };
      return (await listAgents(it.database.read, { filter: { installed, ...more }, scope: null, ...PAGE }))
        .count;
    };
    await insertTestAgent(it.database, { n: 900, deletedAtMs: 1 });
    expect(await counts(TOTAL_MAX + 1)).toBe(1);
    expect(await counts(TOTAL_MAX + 2)).toBe(TOTAL_MAX + 1);
    expect(await counts(TOTAL_MAX + 2, { os: 'debian' })).toBe(1);
  });

  test('where very many had a vulnerability, a page has what is found of the next hosts', async () => {
    const it = await scene();
    it.osv.addRecord({ id: 'CVE-2024-1' }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1'] },
    ]);
    const hosts: string[] = [];
    for (let i = 0; i < 4; i++) hosts.push(await it.addHost({ openssl: '3.0.11-1' }));
    await it.pass();
    const packageOf = async (version: string) => {
      const identities = it.database.read.selectFrom('package_identities').select('id');
      return (await identities.where('version', '=', version).executeTakeFirstOrThrow()).id;
    };
    const packageId = await packageOf('3.0.11-1');
    const fixed = [hosts[0], hosts[3]].map(String);
    // One host removed it and came by the other in another way, one replaced it.
    for (const [n, agentId] of fixed.entries()) {
      await it.install(agentId, { openssl: '3.0.12-1' });
      const agentNumber = await it.number(agentId);
      const newer = { packageId: await packageOf('3.0.12-1'), change: 'added' as const, held: 0 };
      const changes =
        n === 0
          ? [{ packageId, change: 'removed' as const, held: 0 }]
          : [{ ...newer, replacedId: packageId }];
      await it.database.transact((tx) => recordChanges(tx, { agentNumber, changes, nowMs: 5 }));
    }
    const found = await findVulnerable(it.database.read, { id: 'CVE-2024-1' });
    for (const fewChanges of [100, 1]) {
      const all: string[] = [];
      let pages = 0;
      for (let after = ''; ; pages++) {
        const page = { found, scope: null, after, limit: 1, looks: 2, fewChanges };
        const { hosts: some, last } = await hostsFixed(it.database.read, page);
        expect(some.length).toBeLessThanOrEqual(1);
        all.push(...some.map(({ id }) => id));
        if (last === null) break;
        after = last;
      }
      expect(all, `few: ${fewChanges}`).toEqual(fixed);
      // Of few changes each page is full; of many, one that has found nothing goes on.
      expect(pages).toBe(fewChanges === 100 ? 1 : 2);
    }
  });
});
