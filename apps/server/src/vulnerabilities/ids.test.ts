import { describe, expect, test } from 'vitest';
import { actionOf } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { createInstalledFleet } from '../testing/installed-fleet.ts';
import { mountUpdates } from '../updates/routes.ts';

/** Records as databases publish them, each here about a package of its own: how they name the same differs. */
const RECORDS = [
  { id: 'DEBIAN-CVE-2024-58382', upstream: ['CVE-2024-58382'] },
  { id: 'UBUNTU-CVE-2025-29769', upstream: ['CVE-2025-29769'] },
  { id: 'DSA-3029-1', aliases: ['CVE-2014-3616'] },
  {
    id: 'DSA-5417-1',
    upstream: ['CVE-2023-0464', 'CVE-2023-0465', 'CVE-2023-0466', 'CVE-2023-2650'],
  },
  { id: 'GHSA-35jh-r3h4-6jhm', aliases: ['CVE-2021-23337'] },
  { id: 'GHSA-pxmp-fwjc-4x7q', aliases: [] },
  { id: 'PYSEC-2021-125', aliases: ['CVE-2021-3532'] },
  { id: 'RHSA-2024:4546', upstream: ['CVE-2023-45288'], related: ['GO-2024-2687'] },
  { id: 'RLSA-2026:66203', upstream: ['CVE-2026-49825'] },
  { id: 'ALSA-2024:3667', related: ['CVE-2024-2947'] },
  { id: 'ALSA-2021:4382', related: ['CVE-2020-13558', 'CVE-2020-24870'] },
  { id: 'MAL-2025-6974' },
] as const;

const IDS = RECORDS.flatMap((record, at) =>
  [
    record.id,
    ...('aliases' in record ? record.aliases : []),
    ...('upstream' in record ? record.upstream : []),
    ...('related' in record ? record.related.filter((id) => id.startsWith('CVE-')) : []),
  ].map((id) => ({ id, at })),
);
const packageOf = (at: number) => `package-${at}`;

describe.each(ENGINES)('every id of a vulnerability on $name', (engine) => {
  test('finds it, its hosts, their updates and packages, in any case', async () => {
    const it = await createInstalledFleet(engine);
    mountUpdates(it.app.routes, {
      platform: it.platform,
      gateOf: async () => null,
      heldOfPackages: async () => new Map(),
    });
    const hosts: string[] = [];
    const updates: string[] = [];
    for (const [at, record] of RECORDS.entries()) {
      const name = packageOf(at);
      it.osv.addRecord(record, [{ ecosystem: 'Debian:12', name, versions: ['1-1'] }]);
      const agentId = await it.addHost({ [name]: '1-1' });
      hosts.push(agentId);
      updates.push(
        await it.addUpdate({ agentId, name, version: '2-1', plan: [actionOf({ name, version: '2-1' })] }),
      );
    }
    const fixed = RECORDS.map((_, at) => ({ ecosystem: 'Debian:12', name: packageOf(at), version: '2-1' }));
    await it.worker.ensureJudged(fixed, 10_000);
    await it.pass();

    const found: object[] = [];
    const wanted: object[] = [];
    const items = async (path: string) => {
      const { status, body } = await it.call('GET', `/api/v1/${path}`);
      return status === 200 ? body.items : body;
    };
    for (const { id, at } of IDS) {
      for (const asked of [id, id.toLowerCase()]) {
        const cve = encodeURIComponent(asked);
        const names = (rows: Record<string, string>[], key: string) => rows.map?.((row) => row[key]) ?? rows;
        const { status, body } = await it.call('GET', `/api/v1/vulnerabilities/${cve}`);
        found.push({
          asked,
          page: [status, body.hosts],
          'hosts of the page': names(await items(`vulnerabilities/${cve}/hosts`), 'agent_id'),
          'cve of vulnerabilities': (await items(`vulnerabilities?cve=${cve}`)).length > 0,
          'search of vulnerabilities': (await items(`vulnerabilities?q=${cve}`)).length > 0,
          hosts: names(await items(`agents?cve=${cve}`), 'id'),
          updates: names(await items(`updates?cve=${cve}`), 'id'),
          'updates by host': names(await items(`updates/by-host?cve=${cve}`), 'agent_id'),
          packages: names(await items(`packages?cve=${cve}`), 'name'),
        });
        wanted.push({
          asked,
          page: [200, 1],
          'hosts of the page': [hosts[at]],
          'cve of vulnerabilities': true,
          'search of vulnerabilities': true,
          hosts: [hosts[at]],
          updates: [updates[at]],
          'updates by host': [hosts[at]],
          packages: [packageOf(at)],
        });
      }
    }
    expect(found).toEqual(wanted);
  });
});
