import type { PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLargeReports } from '../inventory/large-reports.ts';
import { mountInventory } from '../inventory/routes.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { recordFirstSeen } from './record-first-seen.ts';
import { newVersions } from './seen-rules.ts';

async function setUp(engine: TestEngine) {
  const counted = countStatements(await engine.open());
  const platform = createTestPlatform(counted.database);
  const first = await insertTestAgent(counted.database, { n: 1 });
  const second = await insertTestAgent(counted.database, { n: 2 });
  const app = createSliceApp(platform);
  const large = createLargeReports(platform);
  onTestFinished(large.stop);
  mountInventory(app.routes, { platform, large });
  async function report(of: typeof first, packages: object[], { ecosystem = 'apt', updates = [{}] } = {}) {
    platform.clock.advance(1_000);
    const answer = await app.inject({
      method: 'PUT',
      url: `/api/v1/agents/${of.agentId}/inventory/${ecosystem}`,
      headers: {
        'x-test-agent': of.agentId,
        'x-test-family': of.familyId,
        'x-machine-id': of === first ? 'machine-1' : 'machine-2',
      },
      payload: { scanned_at: '2026-11-21T08:59:00Z', complete: true, packages, updates: updates.slice(1) },
    });
    expect(answer.statusCode).toBe(200);
  }
  const ledger = async () =>
    (
      await platform.database.read
        .selectFrom('first_seen')
        .selectAll()
        .orderBy('name')
        .orderBy('version')
        .execute()
    ).map(({ scope, name, version, arch, agent_id, first_seen_at }) => [
      scope,
      `${name} ${version} ${arch}`,
      agent_id === first.agentId ? 'first' : 'second',
      first_seen_at,
    ]);
  return { ...counted, platform, first, second, report, ledger, app };
}

describe.each(ENGINES)('the ledger of first sightings on $name', (engine) => {
  test('the first host to have a version stays the first; distributions are told apart', async () => {
    const it = await setUp(engine);
    const at = it.platform.now();
    await it.report(it.first, [{ name: 'openssl', version: '3.0.1-1', arch: 'amd64' }]);
    await it.report(it.second, [
      { name: 'openssl', version: '3.0.1-1', arch: 'amd64' },
      { name: 'openssl', version: '3.0.2-1', arch: 'amd64' },
    ]);
    expect(await it.ledger()).toEqual([
      ['debian', 'openssl 3.0.1-1 amd64', 'first', at + 1_000],
      ['debian', 'openssl 3.0.2-1 amd64', 'second', at + 2_000],
    ]);
    await it.app.close();
  });

  test('npm and PyPI versions are the same on any host and in any place', async () => {
    const it = await setUp(engine);
    const place = (n: number) => ({ name: 'Some_Pkg', version: '1.0', arch: `/srv/app-${n}` });
    await it.report(it.first, [place(1), place(2)], { ecosystem: 'pypi' });
    expect((await it.ledger()).map(([scope, name]) => [scope, name])).toEqual([['', 'some-pkg 1.0 ']]);
    await it.app.close();
  });

  test('plans count: a version that a host could have was seen', async () => {
    const it = await setUp(engine);
    const update = {
      name: 'openssl',
      current_version: '3.0.1-1',
      available_version: '3.0.2-1',
      plan: {
        resolved_at: '2026-11-21T08:59:00Z',
        actions: [actionOf({ name: 'openssl', version: '3.0.2-1' })],
      },
    };
    await it.report(it.first, [], { updates: [{}, update] });
    expect((await it.ledger()).map(([, name]) => name)).toEqual(['openssl 3.0.2-1 ']);
    await it.app.close();
  });

  test('an unchanged report costs no statement, a changed one four, and half of them if the fleet has it all', async () => {
    const it = await setUp(engine);
    const some = Array.from({ length: 300 }, (_, i) => ({ name: `p${i}`, version: '1', arch: 'all' }));
    const sighted = { agentId: it.first.agentId, ecosystem: 'apt' as const, actions: [] };
    const statements = async (of: { agentId: string }, packages: readonly (typeof some)[number][]) => {
      it.reset();
      const sight = { ...sighted, agentId: of.agentId, packages };
      await it.platform.database.transact((tx) => recordFirstSeen(tx, it.platform, sight));
      return it.counts().statements;
    };
    // The host, what is new, its daily budget, and the rows.
    expect(await statements(it.first, some)).toBe(4);
    expect(await statements(it.first, [])).toBe(0);
    expect(await statements(it.second, some)).toBe(2);
    const [spent, ...others] = await it.platform.database.read
      .selectFrom('outsider_usage')
      .select(['subject', 'rows'])
      .where('kind', '=', 'first_seen')
      .execute();
    expect([spent, others]).toEqual([{ subject: `agent:${it.first.agentId}`, rows: 300 }, []]);
    await it.app.close();
  });

  test('preview shows when the fleet first had versions new to the host; the age does not apply (A7)', async () => {
    const it = await createApprovalsApp(engine, { settings: { gateEnforcement: 'block' } });
    const actions = [
      actionOf({ name: 'openssl', version: '3.0.12-1' }),
      actionOf({ name: 'never', version: '1' }),
      actionOf({ name: 'here', version: '2' }),
    ];
    const { agentId, platform, database } = it;
    const atMs = platform.now();
    const [openssl, , here] = actions;
    await database.transact(async (tx) => {
      await recordFirstSeen(tx, platform, {
        agentId,
        ecosystem: 'apt',
        packages: [],
        actions: [openssl, here].filter((one) => one !== undefined),
      });
      await insertInstalled(tx, {
        agent_id: agentId,
        ecosystem: 'apt',
        name: 'here',
        arch: '',
        version: '2',
        held: 0,
      });
    });
    it.clock.advance(3_600_000);
    const id = await it.addUpdate({ plan: actions });
    const { body } = await it.call('POST', `/api/v1/updates/${id}/preview`);
    expect(body).toMatchObject({
      blocked_by: null,
      age: null,
      first_seen: [{ package: 'openssl', version: '3.0.12-1', first_seen_at: new Date(atMs).toISOString() }],
    });
    expect(body.first_seen).toHaveLength(1);
  });
});

test('versions that a plan removes or the host already has are not new', () => {
  const actions: PlanAction[] = [
    { action: 'install', name: 'a', to_version: '1' },
    { action: 'upgrade', name: 'b', to_version: '2' },
    { action: 'remove', name: 'c', from_version: '3' },
  ];
  const installed = [{ name: 'b', version: '2' }];
  const versions = newVersions({ ecosystem: 'apt', osId: 'debian', actions, installed });
  expect(versions.map(({ name }) => name)).toEqual(['a']);
});

test('neither are bundled versions, which no registry lists (decision 0011)', () => {
  const artifact = { filename: 'kit.tgz', url: 'https://r.test/kit', size_bytes: 1, sha512: 'a'.repeat(128) };
  const kit: PlanAction = { action: 'install', name: 'kit', to_version: '1', artifact };
  const inner: PlanAction = { ...kit, name: 'inner', source_name: 'kit', source_version: '1' };
  const named = (actions: PlanAction[]) =>
    newVersions({ ecosystem: 'npm', osId: 'debian', actions, installed: [] }).map(({ name }) => name);
  expect(named([kit, inner])).toEqual(['kit']);
  expect(named([inner])).toEqual(['inner']);
});
