import { AFFECTED_SAID_MAX } from '@tidegate/protocol/vulnerabilities-api';
import { describe, expect, test } from 'vitest';
import { updateRow } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { createInstalledFleet } from '../testing/installed-fleet.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { insertUpdates } from '../updates/store.ts';
import { identitiesNamed } from '../vulnerability-index/write-store.ts';

const CVE = 'CVE-2024-1';
const OLD = '3.0.11-1';
const HOSTS = `/api/v1/vulnerabilities/${CVE}/hosts`;
const UNFIXED =
  '/api/v1/unfixed/hosts?distribution=Debian:12&package=openssl&vulnerability=DEBIAN-CVE-2024-1';

interface Package {
  readonly name?: string;
  readonly version?: string;
  readonly arch?: string;
}

/** What the root of one host may make up of its packages and of their updates. */
describe.each(ENGINES)('attacks by made-up packages on $name', (engine) => {
  async function scene(versions: readonly string[] = [OLD]) {
    const it = await createInstalledFleet(engine);
    it.osv.addRecord({ id: `DEBIAN-${CVE}`, upstream: [CVE] }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: [...versions] },
    ]);
    const get = async (path: string) => {
      const { status, body } = await it.call('GET', path);
      expect(status, JSON.stringify(body).slice(0, 300)).toBe(200);
      return body.items as {
        agent_id: string;
        id: string;
        packages: object[];
        fixes: object[];
        state: string;
      }[];
    };
    return {
      ...it,
      get,
      ids: async (path: string) => (await get(path)).map((one) => one.agent_id ?? one.id).sort(),
      /** A host with these packages of the source openssl. */
      async addHostOf(packages: readonly Package[]): Promise<string> {
        const agentId = await it.addHost({});
        const rows = packages.map(({ name = 'openssl', version = OLD, arch = '' }) => ({
          ...{ agent_id: agentId, ecosystem: 'apt', name, version, arch },
          ...{ source_name: 'openssl', source_version: version },
        }));
        await it.database.transact((tx) => insertInstalled(tx, rows));
        return agentId;
      },
      async offer(agentId: string, offers: readonly { version: string; arch: string }[]): Promise<void> {
        const rows = offers.map(({ version, arch }) => ({
          ...updateRow({
            ...{ id: it.platform.newId(), agentId, ecosystem: 'apt', name: 'openssl', version },
            ...{ state: 'pending', now: it.platform.now() },
          }),
          ...{ arch, stopped_under: 'neither' as const },
        }));
        await it.database.transact((tx) => insertUpdates(tx, rows));
        const subjects = [...new Set(offers.map(({ version }) => version))].map((version) => ({
          ...{ ecosystem: 'Debian:12', name: 'openssl', version },
        }));
        await it.worker.ensureJudged(subjects, 10_000);
      },
    };
  }

  test('very many packages of one source hide no other host, and break no page', async () => {
    const it = await scene();
    // More than values that SQLite binds, and enrolled before all others.
    const evil = await it.addHostOf(Array.from({ length: 33_000 }, (_, n) => ({ name: `0-${n}` })));
    const others = [await it.addHostOf([{ name: 'libssl3' }]), await it.addHostOf([{ name: 'libssl3' }])];
    await it.pass();
    const all = [evil, ...others].sort();
    expect(await it.ids(HOSTS)).toEqual(all);
    expect(await it.ids(`${HOSTS}?state=unfixed`)).toEqual(all);
    expect(await it.ids(`${HOSTS}?state=fixed`)).toEqual([]);
    expect(await it.ids(`/api/v1/agents?cve=${CVE}`)).toEqual(all);
    for (const { packages } of await it.get(HOSTS))
      expect(packages.length).toBeLessThanOrEqual(AFFECTED_SAID_MAX);
    expect(await it.ids(UNFIXED)).toEqual(expect.arrayContaining(others));
  }, 120_000);

  test('very many updates of one version are one fix, of which a page says the first', async () => {
    const it = await scene();
    const arches = Array.from({ length: 300 }, (_, n) => `arch-${n}`);
    const evil = await it.addHostOf(arches.map((arch) => ({ arch })));
    await it.offer(
      evil,
      arches.map((arch) => ({ arch, version: '3.0.12-1' })),
    );
    await it.pass();
    const [host] = await it.get(HOSTS);
    expect(host).toMatchObject({ agent_id: evil, state: 'fixable', packages: [{ name: 'openssl' }] });
    expect(host?.fixes).toHaveLength(AFFECTED_SAID_MAX);
    expect(await it.get(UNFIXED)).toEqual([]);
  });

  test('where too many updates may fix too many packages of a host, none is taken for a fix', async () => {
    const versions = Array.from({ length: 120 }, (_, n) => `3.0.${n}-1`);
    const it = await scene(versions);
    const evil = await it.addHostOf(versions.map((version) => ({ version })));
    const offers = Array.from({ length: 100 }, (_, n) => ({ arch: `arch-${n}`, version: `3.1.${n}-1` }));
    await it.offer(evil, offers);
    await it.pass();
    expect(await it.ids(UNFIXED)).toEqual([evil]);
  });

  test('the identities of a package are read in the wanted versions alone', async () => {
    const it = await scene();
    await it.addHostOf(Array.from({ length: 50 }, (_, n) => ({ version: `3.0.${n}-1` })));
    const wanted = { ecosystem: 'apt', name: 'openssl', version: '3.0.7-1' };
    expect(await identitiesNamed(it.database.read, [wanted, wanted])).toMatchObject([wanted]);
  });
});
