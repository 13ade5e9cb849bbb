import { createHash } from 'node:crypto';
import { deltaBetween, type NamedReport } from '@tidegate/protocol/inventory-delta';
import { describe, expect, onTestFinished, test } from 'vitest';
import { tidyIdentities } from '../installed/tidy-installed.ts';
import { createLargeReports } from '../inventory/large-reports.ts';
import { mountInventory } from '../inventory/routes.ts';
import { rfc3339 } from '../platform/clock.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createInstalledFleet } from '../testing/installed-fleet.ts';

const CVE = 'CVE-2023-5363';
const HOUR_MS = 3_600_000;
/** The source package openssl is installed as two packages. */
const OLD = { openssl: '3.0.11-1', libssl3: '3.0.11-1' };
const HALF = { openssl: '3.0.11-1', libssl3: '3.0.13-1' };
const STILL_BAD = { openssl: '3.0.12-1', libssl3: '3.0.12-1' };
const NEW = { openssl: '3.0.13-1', libssl3: '3.0.13-1' };

describe.each(ENGINES)('hosts on which a vulnerability is fixed on $name', (engine) => {
  async function scene() {
    const it = await createInstalledFleet(engine);
    const large = createLargeReports(it.platform);
    onTestFinished(large.stop);
    mountInventory(it.app.routes, { platform: it.platform, large });
    it.osv.addRecord({ id: `DEBIAN-${CVE}`, upstream: [CVE] }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.11-1', '3.0.12-1'] },
    ]);
    let hosts = 10;
    /** A host that reports over HTTP, at first whole and then what changed, an hour after the last report of any. */
    async function enrol() {
      hosts += 1;
      const { agentId, familyId } = await insertTestAgent(it.database, { n: hosts });
      const headers = {
        'content-type': 'application/json',
        ...{ 'x-machine-id': `machine-${hosts}`, 'x-test-agent': agentId, 'x-test-family': familyId },
      };
      let last: NamedReport | null = null;
      /** When it was received. */
      async function report(packages: Record<string, string>): Promise<string> {
        it.clock.advance(HOUR_MS);
        const next = reportOf(packages, it.clock.now());
        const delta = last && deltaBetween(last, next);
        const answer = await it.app.inject({
          method: delta ? 'PATCH' : 'PUT',
          url: `/api/v1/agents/${agentId}/inventory/apt`,
          headers,
          payload: JSON.stringify(delta ?? next.content),
        });
        expect(answer.statusCode, answer.body).toBe(200);
        last = next;
        return rfc3339(it.clock.now());
      }
      return { agentId, report };
    }
    async function listed(state?: 'fixed'): Promise<Record<string, string | null>> {
      const query = state ? `?state=${state}` : '';
      const { status, body } = await it.call('GET', `/api/v1/vulnerabilities/${CVE}/hosts${query}`);
      expect(status).toBe(200);
      return Object.fromEntries(
        body.items.map((one: { agent_id: string; fixed_at: string | null }) => [one.agent_id, one.fixed_at]),
      );
    }
    return { ...it, enrol, listed };
  }

  test('the time is that of the report after which none of its packages had it', async () => {
    const it = await scene();
    const [one, two, three] = [await it.enrol(), await it.enrol(), await it.enrol()];
    for (const host of [one, two, three]) await host.report(OLD);
    await it.pass();
    await one.report(HALF);
    await two.report(STILL_BAD);
    await it.pass();
    expect(await it.listed('fixed')).toEqual({});
    expect(Object.keys(await it.listed()).sort()).toEqual(
      [one, two, three].map(({ agentId }) => agentId).sort(),
    );
    const times = {
      [one.agentId]: await one.report(NEW),
      [two.agentId]: await two.report(NEW),
      // A package that was removed is not vulnerable any more.
      [three.agentId]: await three.report({ bash: '5.2-1' }),
    };
    expect(await it.listed('fixed')).toEqual(times);
    // Neither later reports nor counts move it, also once no host is left that has it.
    await one.report({ ...NEW, curl: '8.0-1' });
    const tidy = tidyIdentities(it.platform);
    for (let i = 0; i < 3; i++) {
      await it.pass();
      await tidy.run(() => false);
    }
    expect(await it.listed('fixed')).toEqual(times);
    expect(await it.listed()).toEqual({});
  });

  test('a host on which it came back is not called fixed, until it is fixed again', async () => {
    const it = await scene();
    const [one, two] = [await it.enrol(), await it.enrol()];
    for (const host of [one, two]) await host.report(OLD);
    await it.pass();
    const first = await one.report(NEW);
    // Nobody has judged the new version yet: it may have it as well.
    expect(await it.listed('fixed')).toEqual({});
    await it.pass();
    expect(await it.listed('fixed')).toEqual({ [one.agentId]: first });
    for (const back of [OLD, HALF, STILL_BAD]) {
      await one.report(back);
      expect([back, await it.listed('fixed')]).toEqual([back, {}]);
      await it.pass();
      expect([back, await it.listed('fixed')]).toEqual([back, {}]);
      expect(Object.keys(await it.listed())).toContain(one.agentId);
    }
    const again = await one.report(NEW);
    expect(await it.listed('fixed')).toEqual({ [one.agentId]: again });
    // One that never had it was not fixed.
    await (await it.enrol()).report(NEW);
    await it.pass();
    expect(await it.listed('fixed')).toEqual({ [one.agentId]: again });
    expect(Object.keys(await it.listed())).toEqual([two.agentId]);
  });
});

function reportOf(packages: Record<string, string>, nowMs: number): NamedReport {
  const content = {
    ...{ scanned_at: rfc3339(nowMs), complete: true, updates: [] },
    packages: Object.entries(packages).map(([name, version]) => {
      const source = name === 'libssl3' ? 'openssl' : name;
      return { name, version, arch: 'amd64', source_name: source, source_version: version };
    }),
  };
  return { sha256: createHash('sha256').update(JSON.stringify(content)).digest('hex'), content };
}
