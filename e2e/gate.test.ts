import { InventoryAnswer, type InventoryReport } from '@tidegate/protocol/agent-api';
import { BulkApproveAnswer } from '@tidegate/protocol/approvals-api';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type BareAgent, enrolBareAgent } from './harness/bare-agent.ts';
import { Approved, Blocked, expectAnswer, logIn, type Operator } from './harness/operator.ts';
import { startServer } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';

/** The versions that the hosts report, with the ecosystem and version by which the database knows them. */
const HOSTS = {
  npm: {
    system: { id: 'debian', version_id: '12' },
    osv: 'npm',
    version: '3.0.12',
    asked: '3.0.12',
    origin: undefined,
  },
  pypi: {
    system: { id: 'debian', version_id: '12' },
    osv: 'PyPI',
    version: '3.0.12',
    asked: '3.0.12',
    origin: undefined,
  },
  apt: {
    system: { id: 'debian', version_id: '12' },
    osv: 'Debian:12',
    version: '3.0.12-1',
    asked: '3.0.12-1',
    origin: 'Debian:12/stable',
  },
  dnf: {
    system: { id: 'almalinux', version_id: '9.4' },
    osv: 'AlmaLinux:9',
    version: '3.0.12-1.el9',
    asked: '0:3.0.12-1.el9',
    origin: 'baseos',
  },
} as const;
type Ecosystem = keyof typeof HOSTS;

describe.each(storyEngines('postgres'))('the gate of the real server on $name', (engine) => {
  test.each(['npm', 'pypi', 'apt', 'dnf'] as const)(
    '%s: vulnerable is blocked (A1), clear is approved, unchecked blocks apt and dnf (A2), and log and events say so',
    async (ecosystem) => {
      const { osv: database, asked, system } = HOSTS[ecosystem];
      const osv = await startFakeOsv({ covered: ['Debian:12', 'AlmaLinux:9'] });
      onTestFinished(() => osv.stop());
      osv.addRecord({ id: 'CVE-2026-1' }, [{ ecosystem: database, name: 'bad', versions: [asked] }]);
      const server = await startServer({ ...(await engine.place()), advisoryUrl: osv.url });
      onTestFinished(async () => void (await server.stop()));
      const operator = await logIn(server.url);
      const agent = await enrolBareAgent(server.url, {
        registrationToken: await operator.registrationToken(),
        machineId: 'machine-1',
        hostname: 'host-1',
        system,
      });
      const first = await offer(agent, ecosystem, ['bad', 'good']);

      const bad = first.get('bad') ?? '';
      const blocked = expectAnswer(await operator.approve(bad), 409, Blocked);
      expect(blocked).toMatchObject({
        blocked_by: 'vulnerability',
        reason: 'known_vulnerability',
        overridable: true,
      });
      expect(blocked.introduces).toMatchObject([{ id: 'CVE-2026-1', package: 'bad', in_closure: 'top' }]);
      const good = expectAnswer(await operator.approve(first.get('good') ?? ''), 200, Approved);
      expect(good.warnings.filter(({ code }) => code === 'closure_unchecked')).toEqual([]);
      expect(await installsOf(operator)).toBe(1);

      // From now on the source serves the page of a captive portal.
      osv.mode = 'garbage';
      const second = await offer(agent, ecosystem, ['bad', 'good', 'late', 'later']);
      const [late = '', later = ''] = [second.get('late'), second.get('later')];
      const isStopped = ecosystem === 'apt' || ecosystem === 'dnf';
      const answer = await operator.approve(late);
      const bulk = expectAnswer(
        await operator.call('POST', '/api/v1/updates/approve', { update_ids: [later, bad] }),
        200,
        BulkApproveAnswer,
      );
      if (isStopped) {
        expect(expectAnswer(answer, 409, Blocked)).toMatchObject({
          blocked_by: 'unchecked',
          reason: 'unreachable',
          overridable: true,
        });
        expect(bulk.approved).toEqual([]);
      } else {
        expect(expectAnswer(answer, 200, Approved).warnings).toContainEqual(
          expect.objectContaining({ code: 'closure_unchecked' }),
        );
        expect(bulk.approved).toMatchObject([{ update_id: later }]);
      }
      // A6: a known finding still counts, and no bulk request passes it.
      expect(bulk.blocked).toContainEqual(
        expect.objectContaining({ update_id: bad, blocked_by: 'vulnerability' }),
      );
      expect(await installsOf(operator)).toBe(isStopped ? 1 : 3);

      const stopped = (await operator.events({ type: 'approval_blocked' })).map(
        ({ content }) => content.update_id,
      );
      expect(stopped.toSorted()).toEqual((isStopped ? [bad, late] : [bad]).toSorted());
      expect(await operator.events({ type: 'bulk_approval_blocked' })).toHaveLength(1);
      const log = server.lines().join('\n');
      expect(log).toContain(
        `[SECURITY] [server] [supply_chain] approval_blocked update_id=${bad} package=bad `,
      );
      expect(log).toContain(
        `[SECURITY] [server] [supply_chain] bulk_approval_blocked count=${isStopped ? 2 : 1} `,
      );
      expect(log).toContain('[WARNING] supply_chain advisory source failed cause="not a valid API response"');
      expect(log.includes('[WARNING] package_age source failed')).toBe(!isStopped);
    },
  );
});

/** Reports updates with their plans; returns the server's ids by name. */
async function offer(
  agent: BareAgent,
  ecosystem: Ecosystem,
  names: readonly string[],
): Promise<Map<string, string>> {
  const { version, origin } = HOSTS[ecosystem];
  const isSystem = ecosystem === 'apt' || ecosystem === 'dnf';
  const arch = isSystem ? 'amd64' : '/srv/app'; // for npm and PyPI it is the folder
  const source = (name: string, at: string) => (isSystem ? { source_name: name, source_version: at } : {});
  const report: InventoryReport = {
    scanned_at: new Date().toISOString(),
    complete: true,
    packages: names.map((name) => ({ name, version: '1.0.0', arch, ...source(name, '1.0.0') })),
    updates: names.map((name) => ({
      name,
      arch,
      current_version: '1.0.0',
      available_version: version,
      plan: {
        resolved_at: new Date().toISOString(),
        actions: [
          {
            action: 'upgrade',
            name,
            arch,
            from_version: '1.0.0',
            to_version: version,
            ...source(name, version),
            ...(origin === undefined ? {} : { origin }),
            artifact: {
              filename: `${name}.pkg`,
              url: `https://mirror.example/${name}.pkg`,
              size_bytes: 10,
              sha256: 'a'.repeat(64),
            },
          },
        ],
      },
    })),
  };
  const answer = await agent.call('PUT', `/inventory/${ecosystem}`, report);
  const { updates } = expectAnswer(answer, 200, InventoryAnswer);
  return new Map(updates.map(({ name, update_id }) => [name, update_id]));
}

async function installsOf(operator: Operator): Promise<number> {
  return (await operator.commands({ action: 'install_update' })).filter(
    ({ action }) => action === 'install_update',
  ).length;
}
