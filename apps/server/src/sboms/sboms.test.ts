import { Spec, Validation } from '@cyclonedx/cyclonedx-library';
import { describe, expect, test } from 'vitest';
import { chunks } from '../platform/db/chunks.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { longestTurn } from '../testing/longest-turn.ts';

const validator = new Validation.JsonStrictValidator(Spec.Version.v1dot6);
/** CPU between two turns of the loop: some ten milliseconds are usual, and all hosts at once took seconds. */
const HELD_MAX_MS = 250;
const SCANNED = Date.parse('2026-11-21T08:00:00Z');

interface Package {
  readonly name: string;
  readonly version: string;
  readonly ecosystem?: string;
  readonly arch?: string;
  readonly source?: readonly [string, string] | null;
}

describe.each(ENGINES)('documents of what is installed, on $name', (engine) => {
  async function scene() {
    const it = await createApprovalsApp(engine);
    let hosts = 1;
    const judge = (name: string, version: string) =>
      it.worker.ensureJudged([{ ecosystem: 'Debian:12', name, version }], 10_000);

    async function addHost(packages: readonly Package[], { group = 'lab', complete = 1, reports = 1 } = {}) {
      hosts += 1;
      const { agentId } = await insertTestAgent(it.database, { n: hosts, group });
      await it.database.transact(async (tx) => {
        for (const {
          name,
          version,
          ecosystem = 'apt',
          arch = '',
          source = [name, version] as const,
        } of packages) {
          const of = { agent_id: agentId, ecosystem, name, arch, version, origin: null, held: 0 };
          const [source_name, source_version] = source ?? [null, null];
          await insertInstalled(tx, { ...of, source_name, source_version });
        }
        if (reports === 0) return;
        const report = { agent_id: agentId, ecosystem: 'apt', digest: 'x', package_count: 1, writing: null };
        const at = { scanned_at: SCANNED, received_at: SCANNED, complete, condition: null };
        await tx
          .insertInto('inventory_reports')
          .values({ ...report, ...at })
          .execute();
      });
      return agentId;
    }

    /** The document as text, which the validator of CycloneDX has accepted. */
    async function cyclonedx(url: string, groups?: string) {
      const headers = groups === undefined ? {} : { 'x-test-groups': groups };
      const { statusCode, body, headers: answered } = await it.app.inject({ url, headers });
      expect([url, statusCode, answered['content-type']]).toEqual([
        url,
        200,
        'application/vnd.cyclonedx+json',
      ]);
      expect(await validator.validate(body)).toBeNull();
      return body;
    }
    const vexOf = async (url: string) => JSON.parse(await cyclonedx(`${url}format=cyclonedx`));
    return { ...it, judge, addHost, cyclonedx, vexOf };
  }

  test('an SBOM of a host names each package by its URL, with what scanners need', async () => {
    const it = await scene();
    const host = await it.addHost([
      { name: 'libssl3', version: '1:3.0.11-1~deb12u2', arch: 'amd64', source: ['openssl', '3.0.11-1'] },
      { name: 'bash', version: '5.2-1+b1', arch: 'amd64' },
      { name: 'kernel', version: '1:6.1-1', arch: 'x86_64', ecosystem: 'dnf', source: null },
      { name: '@scope/left-pad', version: '1.0.0', arch: '/srv/app', ecosystem: 'npm' },
      { name: '@scope/left-pad', version: '1.0.0', arch: '/srv/other', ecosystem: 'npm' },
      { name: 'Zope.Interface', version: '5.4', arch: '/venv', ecosystem: 'pypi' },
    ]);
    const text = await it.cyclonedx(`/api/v1/agents/${host}/sbom`);
    const bom = JSON.parse(text);
    const purls = [
      'pkg:deb/debian/bash@5.2-1%2Bb1?arch=amd64&distro=debian-12',
      'pkg:deb/debian/libssl3@1%3A3.0.11-1~deb12u2?arch=amd64&distro=debian-12&upstream=openssl%403.0.11-1',
      'pkg:npm/%40scope/left-pad@1.0.0',
      'pkg:pypi/zope-interface@5.4',
      'pkg:rpm/debian/kernel@6.1-1?arch=x86_64&distro=debian-12&epoch=1',
    ];
    expect(bom.components.map((one: { purl?: string }) => one.purl).filter(Boolean)).toEqual(purls);
    expect(bom.metadata).toMatchObject({
      timestamp: '2026-11-21T08:00:00.000Z',
      component: { type: 'device', name: 'host-2' },
    });
    expect(bom.dependencies).toEqual([{ ref: `host:${host}`, dependsOn: ['os:debian:12', ...purls] }]);
    expect(bom.compositions).toEqual([{ aggregate: 'complete', dependencies: [`host:${host}`] }]);
    it.clock.advance(60_000);
    expect(await it.cyclonedx(`/api/v1/agents/${host}/sbom`)).toBe(text);
  });

  test('an SBOM of a group has each version once, and says which host has what and how much is known', async () => {
    const it = await scene();
    const [curl, bash] = [
      { name: 'curl', version: '1-1' },
      { name: 'bash', version: '1-1' },
    ];
    const first = await it.addHost([curl, bash]);
    const second = await it.addHost([curl], { complete: 0 });
    const third = await it.addHost([], { reports: 0 });
    await it.addHost([{ name: 'secret', version: '1-1' }], { group: 'theirs' });
    const bom = JSON.parse(await it.cyclonedx('/api/v1/sbom?group=lab', 'lab'));
    const [ofBash, ofCurl] = ['bash', 'curl'].map((name) => `pkg:deb/debian/${name}@1-1?distro=debian-12`);
    expect(bom.components.map((one: { name: string }) => one.name)).toEqual([
      ...['host-2', 'host-3', 'host-4', 'debian', 'bash', 'curl'],
    ]);
    expect(bom.dependencies).toEqual([
      { ref: 'group:lab', dependsOn: [first, second, third].map((id) => `host:${id}`) },
      { ref: `host:${first}`, dependsOn: ['os:debian:12', ofBash, ofCurl] },
      { ref: `host:${second}`, dependsOn: ['os:debian:12', ofCurl] },
      { ref: `host:${third}`, dependsOn: ['os:debian:12'] },
    ]);
    expect(bom.compositions.map((one: { aggregate: string }) => one.aggregate)).toEqual([
      ...['complete', 'incomplete', 'unknown'],
    ]);
  });

  test.each([
    '/api/v1/sbom?group=theirs',
    '/api/v1/vex?group=theirs&format=openvex',
    '/api/v1/sbom?group=nobody',
  ])('%s is not there for operators of another group', async (url) => {
    const it = await scene();
    await it.addHost([{ name: 'curl', version: '1-1' }], { group: 'theirs' });
    const answer = await it.app.inject({ url, headers: { 'x-test-groups': 'lab,nobody' } });
    expect([answer.statusCode, answer.json().detail]).toEqual([404, 'There is no such host in this group.']);
  });

  test('a VEX says what affects, what was fixed, what does not affect and why, and what nobody knows', async () => {
    const it = await scene();
    for (const id of ['CVE-1', 'CVE-2', 'CVE-3'])
      it.osv.addRecord({ id, summary: 'bad' }, [
        { ecosystem: 'Debian:12', name: 'openssl', versions: ['2.0-1'] },
      ]);
    it.osv.addRecord({ id: 'CVE-4', summary: 'bad' }, [
      { ecosystem: 'Debian:12', name: 'curl', versions: ['1.0.0-1'] },
      { ecosystem: 'Debian:12', name: 'bash', versions: ['1.0.0-1'] },
    ]);
    const host = await it.addHost(
      ['openssl', 'curl', 'bash', 'dash'].map((name) => ({ name, version: '2.0-1' })),
    );
    for (const name of ['curl', 'bash']) {
      await it.addUpdate({ agentId: host, name, version: '2.0-1', state: 'installed', plan: null });
      await it.judge(name, '1.0.0-1');
    }
    // Nobody has judged bash and dash as they are now.
    for (const name of ['openssl', 'curl']) await it.judge(name, '2.0-1');
    const about = { ecosystem: 'apt', package: 'openssl', distribution: 'debian', versions: ['2.0-1'] };
    const made = await it.call('POST', '/api/v1/admin/vex-statements', {
      ...{ ...about, vulnerability: 'CVE-2', status: 'not_affected', text: 'TLS is off' },
      ...{ justification: 'vulnerable_code_not_in_execute_path', scope: { kind: 'host', agent_id: host } },
      ends_at: new Date(it.platform.now() + 86_400_000).toISOString(),
    });
    expect(made.status).toBe(201);
    const url = `/api/v1/agents/${host}/vex?`;
    const { vulnerabilities, metadata } = await it.vexOf(url);
    const [openssl, curl, bash] = ['openssl', 'curl', 'bash'].map(
      (name) => `pkg:deb/debian/${name}@2.0-1?distro=debian-12`,
    );
    expect(vulnerabilities).toEqual([
      {
        id: 'CVE-1',
        analysis: { state: 'exploitable', detail: 'No fixed version is known.' },
        affects: [{ ref: openssl }],
      },
      {
        id: 'CVE-2',
        analysis: { state: 'not_affected', justification: 'code_not_reachable', detail: 'TLS is off' },
        affects: [{ ref: openssl }],
      },
      expect.objectContaining({ id: 'CVE-3' }),
      {
        id: 'CVE-4',
        analysis: { state: 'resolved', detail: 'Fixed by the update from 1.0.0-1 to 2.0-1.' },
        affects: [{ ref: curl }],
      },
      {
        id: 'CVE-4',
        analysis: { state: 'in_triage', detail: '1.0.0-1 had it. Whether 2.0-1 has it is not known.' },
        affects: [{ ref: bash }],
      },
    ]);
    expect(metadata.properties).toEqual([
      { name: 'tidegate:packages', value: '4' },
      { name: 'tidegate:packages_not_judged', value: '2' },
    ]);
    const { body } = await it.call('GET', `${url}format=openvex`);
    expect(body.tooling).toContain('2 of 4 packages are not wholly judged');
    expect(body.statements.map((one: { status: string }) => one.status)).toEqual([
      ...['affected', 'not_affected', 'affected', 'fixed', 'under_investigation'],
    ]);
    expect(body.statements[1]).toMatchObject({
      justification: 'vulnerable_code_not_in_execute_path',
      products: [{ '@id': openssl }],
    });

    // On another host of the group the statement does not hold, so that it does not for the group.
    await it.addHost([{ name: 'openssl', version: '2.0-1' }]);
    const ofGroup = await it.vexOf('/api/v1/vex?group=lab&');
    const state = (id: string) =>
      ofGroup.vulnerabilities.find((one: { id: string }) => one.id === id).analysis.state;
    expect([state('CVE-1'), state('CVE-2')]).toEqual(['exploitable', 'exploitable']);
  });

  test('a VEX with nothing to say is refused, and says how little is known', async () => {
    const it = await scene();
    const host = await it.addHost([{ name: 'openssl', version: '2.0-1' }]);
    const { status, body } = await it.call('GET', `/api/v1/agents/${host}/vex?format=openvex`);
    expect([status, body.code]).toEqual([409, 'conflict']);
    expect(body.detail).toContain('1 of 1 packages are not wholly judged');
  });

  test('documents of a group with many vulnerabilities let the loop turn', async () => {
    const it = await scene();
    const ids = Array.from({ length: 1_500 }, (_, n) => `CVE-${n}`);
    const record = (id: string) => ({
      ...{ id, modified: '2026-11-01T00:00:00Z', summary: 'bad' },
      affected: Array.from({ length: 40 }, () => ({
        package: { ecosystem: 'Debian:12', name: 'linux' },
        ranges: [{ type: 'ECOSYSTEM', events: [{ introduced: '0' }, { fixed: '6.2-1' }] }],
      })),
    });
    await it.database.transact(async (tx) => {
      for (const some of chunks(ids)) {
        const rows = some.map((id) => ({
          id,
          modified: '',
          record: JSON.stringify(record(id)),
          fetched_at: 1,
        }));
        await tx.insertInto('advisories').values(rows).execute();
      }
      await tx
        .insertInto('advisory_checks')
        .values({
          ...{ ecosystem: 'Debian:12', name: 'linux', version: '6.1-1', verdict: 'vulnerable', reason: null },
          ...{
            advisory_ids: JSON.stringify(ids),
            checked_at: it.platform.now(),
            source: 'osv',
            snapshot: null,
          },
        })
        .execute();
    });
    const kernel = ['linux-image', 'linux-headers', 'linux-tools'].map((name) => ({
      ...{ name, version: '6.1-1', source: ['linux', '6.1-1'] as const },
    }));
    for (let n = 0; n < 5; n++) await it.addHost(kernel);
    let count = 0;
    const held = await longestTurn(async () => {
      const vex = await it.app.inject({ url: '/api/v1/vex?group=lab' });
      expect((await it.app.inject({ url: '/api/v1/sbom?group=lab' })).statusCode).toBe(200);
      count = vex.body.split('"analysis"').length - 1;
    });
    expect(count).toBe(1_500);
    expect(held).toBeLessThan(HELD_MAX_MS);
  });
});
