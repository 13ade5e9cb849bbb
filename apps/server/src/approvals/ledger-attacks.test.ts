import type { PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, test } from 'vitest';
import { revokeAgent } from '../agents/revoke-agent.ts';
import { recordArtifacts } from '../artifacts/record-artifacts.ts';
import { trustHost } from '../artifacts/trust-host.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { findUpdate } from '../updates/store.ts';
import { enforceDivergences } from './enforce-divergences.ts';
import { recordTrustedHost, TRUSTED_DIFFERING_MAX } from './record-trusted-hosts.ts';

const DAY_MS = 86_400_000;
const TRUE_HASH = 'a'.repeat(64);
const invented = (n: number) => n.toString(16).padStart(64, '0');

interface Report {
  readonly name: string;
  readonly hash: string;
}

function reports(count: number, hash: (i: number) => string): Report[] {
  return Array.from({ length: count }, (_, i) => ({ name: `p${i}`, hash: hash(i) }));
}

async function setUp(engine: (typeof ENGINES)[number]) {
  const it = await createApprovalsApp(engine);
  return {
    it,
    host: async (n: number, group?: string) =>
      (await insertTestAgent(it.database, { n: 100 + n, ...(group === undefined ? {} : { group }) })).agentId,
    report: (agentId: string, reported: readonly Report[]) => report(it, agentId, reported),
    approve: async (id: string) => (await it.approve(id)).status,
    stateOf: async (id: string) => (await findUpdate(it.database.read, id))?.state,
    async tick(times = 1) {
      for (let i = 0; i < times; i++) await enforceDivergences(it.deps);
    },
    events: (type: string) =>
      it.database.read
        .selectFrom('events')
        .select(['agent_id', 'severity', 'content'])
        .where('type', '=', type)
        .orderBy('position')
        .execute(),
    openDivergences: () =>
      it.database.read
        .selectFrom('artifact_divergences')
        .select('name')
        .where('state', '=', 'open')
        .execute(),
  };
}

async function report(it: ApprovalsApp, agentId: string, reported: readonly Report[]): Promise<void> {
  const actions = reported.map(({ name, hash }): PlanAction => {
    const artifact = { filename: 'x.deb', url: 'https://mirror.example/x', size_bytes: 10, sha256: hash };
    return { ...actionOf({ name, version: '1-1' }), artifact };
  });
  await it.database.transact((tx) =>
    recordArtifacts(tx, it.platform, { agentId, ecosystem: 'apt', actions }),
  );
}

describe.each(ENGINES)('one host’s reports never decide for another, on $name', (engine) => {
  test('101 invented hashes for one version set the host aside, and the true hash passes', async () => {
    const { it, host, report, approve, events, openDivergences } = await setUp(engine);
    const id = await it.addUpdate({ name: 'p0', version: '1-1' });
    const liar = await host(1, 'lab');
    for (let n = 1; n <= 101; n++) await report(liar, [{ name: 'p0', hash: invented(n) }]);
    expect(await approve(id)).toBe(200);
    expect(await openDivergences()).toEqual([]);
    const floods = await events('ARTIFACT_LEDGER_FLOOD');
    expect(floods).toMatchObject([{ agent_id: liar, severity: 'critical' }]);
    expect((await events('ARTIFACT_DIVERGENCE')).length).toBeLessThanOrEqual(5);
  });

  test('the true hash passes once the host that disputed it is revoked and deleted', async () => {
    const { it, host, report, approve } = await setUp(engine);
    const [id = '', later = ''] = [
      await it.addUpdate({ name: 'p0', version: '1-1' }),
      await it.addUpdate({ name: 'p1', version: '1-1' }),
    ];
    const liar = await host(1);
    await report(liar, reports(2, invented));
    expect(await approve(id)).toBe(409);
    await revokeAgent(it.platform, { agentId: liar, act: 'revoke', reason: null, actor: 'ada' });
    expect(await approve(id)).toBe(200);
    await revokeAgent(it.platform, { agentId: liar, act: 'delete', reason: null, actor: 'ada' });
    expect(await approve(later)).toBe(200);
  });

  test('one report that disputes 5,000 versions withdraws no approval of another group', async () => {
    const { it, host, report, approve, stateOf, tick, events, openDivergences } = await setUp(engine);
    const ids: string[] = [];
    for (let i = 0; i < 8; i++) ids.push(await it.addUpdate({ name: `p${i}`, version: '1-1' }));
    const others = reports(5_000, () => TRUE_HASH);
    await report(await host(1, 'prod'), others);
    for (const id of ids.slice(0, 4)) expect(await approve(id)).toBe(200);
    const liar = await host(2, 'lab');
    await report(liar, reports(5_000, invented));
    await tick(3);
    expect(await openDivergences()).toEqual([]);
    for (const id of ids.slice(0, 4)) expect(await stateOf(id)).toBe('approved');
    for (const id of ids.slice(4)) expect(await approve(id)).toBe(200);
    expect(await events('ARTIFACT_DIVERGENCE')).toEqual([]);
    expect(await events('ARTIFACT_LEDGER_FLOOD')).toMatchObject([{ agent_id: liar, severity: 'critical' }]);
  });

  test.each([1, 2])('%i hosts against three block only themselves, and it is reported', async (liars) => {
    const { it, host, report, approve, stateOf, tick, events } = await setUp(engine);
    const id = await it.addUpdate({ name: 'p0', version: '1-1' });
    for (const n of [1, 2]) await report(await host(n), [{ name: 'p0', hash: TRUE_HASH }]);
    expect(await approve(id)).toBe(200);
    for (let n = 0; n < liars; n++) await report(await host(10 + n), [{ name: 'p0', hash: invented(7) }]);
    await tick(2);
    expect(await stateOf(id)).toBe('approved');
    expect(await events('ARTIFACT_DIVERGENCE')).toMatchObject([{ severity: 'critical' }]);
  });

  test('three hosts against three are a dispute that withdraws approvals', async () => {
    const { it, host, report, approve, stateOf, tick } = await setUp(engine);
    const id = await it.addUpdate({ name: 'p0', version: '1-1' });
    for (const n of [1, 2]) await report(await host(n), [{ name: 'p0', hash: TRUE_HASH }]);
    expect(await approve(id)).toBe(200);
    for (const n of [3, 4, 5]) await report(await host(n), [{ name: 'p0', hash: invented(7) }]);
    await tick(2);
    expect(await stateOf(id)).toBe('pending');
  });

  test('a drip below the daily limit opens at most 20 divergences in 30 days', async () => {
    const { it, host, report, events } = await setUp(engine);
    await report(
      await host(1),
      reports(150, () => TRUE_HASH),
    );
    const liar = await host(2);
    for (let day = 0; day < 29; day++) {
      for (const reported of reports(150, invented).slice(day * 5, day * 5 + 5))
        await report(liar, [reported]);
      it.platform.clock.advance(DAY_MS);
    }
    expect(await events('ARTIFACT_DIVERGENCE')).toHaveLength(20);
    expect(await events('ARTIFACT_LEDGER_FLOOD')).toMatchObject([{ agent_id: liar }]);
  });

  test('the same claim reported a hundred times is one claim', async () => {
    const { host, report, events } = await setUp(engine);
    await report(await host(1), [{ name: 'p0', hash: TRUE_HASH }]);
    const other = await host(2);
    for (let n = 0; n < 100; n++) await report(other, [{ name: 'p0', hash: invented(n % 2) }]);
    expect(await events('ARTIFACT_DIVERGENCE')).toHaveLength(2);
    expect(await events('ARTIFACT_LEDGER_FLOOD')).toEqual([]);
  });

  test('a host that was first with false hashes is set aside once a quorum of others contradicts it', async () => {
    const { it, host, report, approve, events } = await setUp(engine);
    const [liar, ...honest] = [await host(1), await host(2), await host(3), await host(4), await host(5)];
    await report(liar, reports(50, invented));
    for (const one of honest)
      await report(
        one,
        reports(50, () => TRUE_HASH),
      );
    const named = (await events('ARTIFACT_LEDGER_FLOOD')).map(({ agent_id }) => agent_id);
    expect(named).toEqual([honest[0], honest[1], liar]);
    const again = (await events('ARTIFACT_HOST_TRUSTED')).map(({ agent_id }) => agent_id);
    expect(again).toEqual([honest[0], honest[1]]);
    expect(await approve(await it.addUpdate({ name: 'p7', version: '1-1' }))).toBe(200);
  });

  test('two hosts that flood against one host do not set that one aside', async () => {
    const { it, host, report, approve, stateOf, tick, events } = await setUp(engine);
    const ids = [];
    for (let i = 0; i < 8; i++) ids.push(await it.addUpdate({ name: `p${i}`, version: '1-1' }));
    for (const id of ids) expect(await approve(id)).toBe(200);
    const liars = [await host(1), await host(2)];
    for (const liar of liars) await report(liar, reports(8, invented));
    await tick();
    for (const id of ids) expect(await stateOf(id)).toBe('approved');
    expect((await events('ARTIFACT_LEDGER_FLOOD')).map(({ agent_id }) => agent_id)).toEqual(liars);
  });

  test('an update of a host that is set aside passes only if others vouch for its hashes', async () => {
    const { it, host, report, approve } = await setUp(engine);
    await report(
      await host(1),
      reports(20, (i) => (i === 3 ? TRUE_HASH : invented(i))),
    );
    const ids = [];
    for (let i = 0; i < 8; i++) ids.push(await it.addUpdate({ name: `q${i}`, version: '1-1' }));
    await report(
      it.agentId,
      reports(20, () => TRUE_HASH),
    );
    const vouched = await it.addUpdate({ name: 'p3', version: '1-1' });
    const contradicted = await it.addUpdate({ name: 'p4', version: '1-1' });
    expect(await approve(vouched)).toBe(200);
    expect(await it.approve(contradicted)).toMatchObject({
      status: 409,
      body: { blocked_by: 'divergence', divergences: [{ package: 'p4', divergence_id: null }] },
    });
    // Its own reports do not count, even where nobody else reports anything.
    expect(await approve(ids[0] ?? '')).toBe(409);
  });

  test('claims that proved right make no room for others: 25 of them do not hide a sixth in a day', async () => {
    const { it, host, report, events } = await setUp(engine);
    const [liar, accomplice] = [await host(1), await host(2)];
    const others = [await host(3), await host(4)];
    for (let i = 0; i < 60; i++) {
      it.platform.clock.advance(1);
      await report(accomplice, [{ name: `early${i}`, hash: invented(i) }]);
      for (const one of [liar, ...others]) await report(one, [{ name: `early${i}`, hash: TRUE_HASH }]);
      if (i % 9 !== 8) continue;
      await report(others[0] ?? '', [{ name: `late${i}`, hash: TRUE_HASH }]);
      await report(liar, [{ name: `late${i}`, hash: invented(i) }]);
    }
    expect((await events('ARTIFACT_LEDGER_FLOOD')).map(({ agent_id }) => agent_id)).toContain(liar);
  });

  test('a flood still counts when it sets aside the hosts that it contradicts', async () => {
    const { host, report, events } = await setUp(engine);
    for (const n of [1, 2, 3])
      await report(
        await host(n),
        reports(50, () => TRUE_HASH),
      );
    const alone = Array.from({ length: 8 }, (_, i) => ({ name: `alone${i}`, hash: TRUE_HASH }));
    const against = alone.map(({ name }, i) => ({ name, hash: invented(i) }));
    await report(await host(4), alone);
    for (const n of [5, 6]) await report(await host(n), against);
    const liar = await host(7);
    await report(liar, [...against, ...reports(50, invented)]);
    expect(await events('ARTIFACT_DIVERGENCE')).toEqual([]);
    const named = (await events('ARTIFACT_LEDGER_FLOOD')).map(({ agent_id }) => agent_id);
    expect(named).toContain(liar);
  });

  test('a host that an operator trusts again is recorded again, and what it contradicts can be decided', async () => {
    const { it, host, report, approve, openDivergences } = await setUp(engine);
    await report(
      await host(1),
      reports(20, (i) => invented(i)),
    );
    const plan = reports(20, () => TRUE_HASH).map(({ name }) => actionOf({ name, version: '1-1' }));
    const id = await it.addUpdate({ name: 'p4', version: '1-1', plan });
    const alone = await it.addUpdate({ name: 'alone', version: '1-1' });
    const blocked = async () => (await it.approve(id)).body.divergences;
    expect(await blocked()).toContainEqual(expect.objectContaining({ package: 'p4', divergence_id: null }));
    expect(await approve(alone)).toBe(409);
    const trusted = { agentId: it.agentId, reason: 'its mirror builds anew', operator: 'ada' };
    expect(await trustHost(it.platform, trusted)).toBe(true);
    expect(await trustHost(it.platform, trusted)).toBe(false);
    await recordTrustedHost(it.deps);
    expect(await openDivergences()).toHaveLength(20);
    const ids = (await blocked()).map((one: { divergence_id: unknown }) => one.divergence_id);
    expect(ids).not.toContain(null);
    expect(await approve(alone)).toBe(200);
    // Within new limits, which the repeated recording does not use up.
    await report(
      it.agentId,
      reports(20, () => TRUE_HASH),
    );
    expect(await openDivergences()).toHaveLength(20);
  });

  test('a host that contradicts too much even then is set aside again', async () => {
    const { it, host, report, events } = await setUp(engine);
    const count = TRUSTED_DIFFERING_MAX + 1;
    await report(
      await host(1),
      reports(count, (i) => invented(i)),
    );
    const plan = reports(count, () => TRUE_HASH).map(({ name }) => actionOf({ name, version: '1-1' }));
    await it.addUpdate({ name: 'p4', version: '1-1', plan });
    await trustHost(it.platform, { agentId: it.agentId, reason: 'it will be right', operator: 'ada' });
    await recordTrustedHost(it.deps);
    const floods = await events('ARTIFACT_LEDGER_FLOOD');
    expect(floods.map(({ agent_id }) => agent_id)).toEqual([it.agentId, it.agentId]);
  });
});
