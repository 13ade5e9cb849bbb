import type { PlanAction } from '@tidegate/protocol/plan';
import { type FakeNpmMetadata, startFakeNpmMetadata } from '@tidegate/testkit/fake-npm-metadata';
import { describe, expect, onTestFinished, test } from 'vitest';
import { recordArtifacts } from '../artifacts/record-artifacts.ts';
import { listDivergences } from '../artifacts/store.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';

const HOUR_MS = 3_600_000;
const SHA512 = 'ab'.repeat(64);
const FILE = { filename: 'kit-2.0.0.tgz', url: 'https://r.test/kit.tgz', size_bytes: 10, sha512: SHA512 };
const npm = { ecosystem: 'npm' as const };
const kit = actionOf({
  ...npm,
  name: 'kit',
  version: '2.0.0',
  fields: { from_version: '1.0.0', artifact: FILE },
});
const inner: PlanAction = {
  ...{
    action: 'install',
    name: 'inner',
    arch: '/p//node_modules/kit/node_modules/inner',
    to_version: '1.0.0',
  },
  ...{ source_name: 'kit', source_version: '2.0.0', artifact: FILE },
};

/** A host with an update of a package of npm that bundles another one, and the registry. */
async function setUp(engine: TestEngine) {
  const registry: FakeNpmMetadata = await startFakeNpmMetadata();
  const it = await createApprovalsApp(engine, {
    settings: { gateEnforcement: 'block', npmRegistryUrl: registry.url },
  });
  onTestFinished(() => registry.stop());
  const publish = (name: string, version: string, hours: number) =>
    registry.publish(name, version, new Date(it.clock.now() - hours * HOUR_MS).toISOString());
  publish('kit', '2.0.0', 100);
  return {
    ...it,
    registry,
    publish,
    add: (plan: PlanAction[] = [inner, kit]) => it.addUpdate({ ...npm, name: 'kit', version: '2.0.0', plan }),
  };
}

describe.each(ENGINES)('a package inside another one’s file (decision 0011) on $name', (engine) => {
  test('is judged by its own name and version: a vulnerable one blocks the approval (A1)', async () => {
    const it = await setUp(engine);
    it.vulnerable({ name: 'inner', version: '1.0.0', ecosystem: 'npm' });
    const id = await it.add();
    const finding = { package: 'inner', version: '1.0.0', id: 'CVE-1', in_closure: 'dependency' };
    const blocked = { blocked_by: 'vulnerability', reason: 'known_vulnerability', introduces: [finding] };
    const preview = await it.call('POST', `/api/v1/updates/${id}/preview`);
    expect(preview).toMatchObject({ status: 200, body: blocked });
    expect(preview.body.introduces).toHaveLength(1);
    expect(await it.approve(id)).toMatchObject({ status: 409, code: 'approval_blocked', body: blocked });
    const bulk = await it.call('POST', '/api/v1/updates/approve', { update_ids: [id] });
    expect(bulk.body).toMatchObject({ approved: [], blocked: [{ update_id: id }] });
  });

  test('is as old as that file: its registry is not queried about it (A7)', async () => {
    const it = await setUp(engine);
    const id = await it.add();
    const preview = await it.call('POST', `/api/v1/updates/${id}/preview`);
    expect(preview.body.age).toMatchObject({ violations: [], times: [{ package: 'kit', version: '2.0.0' }] });
    expect((await it.approve(id)).status).toBe(200);
    await it.provenance.idle();
    const { provenance } = (await it.call('POST', `/api/v1/updates/${id}/preview`)).body;
    expect(provenance.map((one: { package: string }) => one.package)).toEqual(['kit']);
    expect(it.registry.requests.length).toBeGreaterThan(0);
    expect(it.registry.requests.filter((path) => path.includes('inner'))).toEqual([]);
  });

  test('does not make that file older than it is (A7)', async () => {
    const it = await setUp(engine);
    it.publish('kit', '2.0.0', 1);
    it.publish('inner', '1.0.0', 1_000);
    expect(await it.approve(await it.add())).toMatchObject({
      status: 409,
      body: { blocked_by: 'age', age: { violations: [{ package: 'kit', age_hours: 1 }] } },
    });
  });

  test.each<[string, PlanAction[]]>([
    ['a package that is not in the plan', [kit, { ...inner, source_name: 'absent' }]],
    ['another version of it', [kit, { ...inner, source_version: '1.0.0' }]],
    ['a file of other bytes', [kit, { ...inner, artifact: { ...FILE, sha512: 'cd'.repeat(64) } }]],
    ['a separate file', [kit, { ...inner, artifact: { ...FILE, filename: 'inner.tgz' } }]],
    ['itself', [kit, { ...inner, source_name: 'inner', source_version: '1.0.0' }]],
  ])('is only claimed by a host, in %s: its age is judged as any other (A7)', async (_what, plan) => {
    const it = await setUp(engine);
    it.publish('inner', '1.0.0', 1);
    expect(await it.approve(await it.add(plan))).toMatchObject({
      status: 409,
      body: { blocked_by: 'age', age: { violations: [{ package: 'inner', age_hours: 1 }] } },
    });
    expect(it.registry.requests.some((path) => path.includes('inner'))).toBe(true);
  });

  test('does not diverge from the package of that name, unless it is only claimed to be bundled', async () => {
    const it = await setUp(engine);
    const { agentId } = await insertTestAgent(it.database, { n: 2 });
    const own = { ...FILE, filename: 'inner-1.0.0.tgz', sha512: 'ef'.repeat(64) };
    const real = actionOf({ ...npm, name: 'inner', version: '1.0.0', fields: { artifact: own } });
    await it.database.transact((tx) =>
      recordArtifacts(tx, it.platform, { agentId, ...npm, actions: [real] }),
    );
    const open = async () =>
      (await listDivergences(it.database.read, { state: 'open', limit: 9, before: null })).map(
        ({ name, version }) => `${name}@${version}`,
      );
    const id = await it.add();
    expect(await open()).toEqual([]);
    expect((await it.approve(id)).status).toBe(200);
    const said = [kit, { ...inner, source_name: 'absent' }];
    await it.database.transact((tx) => recordArtifacts(tx, it.platform, { agentId, ...npm, actions: said }));
    expect(await open()).toEqual(['inner@1.0.0']);
  });

  test('diverges if the file of the package around it does', async () => {
    const it = await setUp(engine);
    const { agentId } = await insertTestAgent(it.database, { n: 2 });
    const other = { ...kit, artifact: { ...FILE, sha512: 'ef'.repeat(64) } };
    await it.database.transact((tx) =>
      recordArtifacts(tx, it.platform, { agentId, ...npm, actions: [other] }),
    );
    expect(await it.approve(await it.add())).toMatchObject({
      status: 409,
      body: { blocked_by: 'divergence', divergences: [{ package: 'kit', version: '2.0.0' }] },
    });
  });
});
