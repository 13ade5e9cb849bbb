import { describe, expect, test } from 'vitest';
import { decideDivergence } from '../artifacts/decide-divergence.ts';
import { countEnforcements } from '../artifacts/enforcement-store.ts';
import { recordArtifacts } from '../artifacts/record-artifacts.ts';
import { listDivergences } from '../artifacts/store.ts';
import { deliverCommands } from '../commands/deliver-commands.ts';
import { chunks } from '../platform/db/chunks.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { findUpdate } from '../updates/store.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import { enforceDivergences, enforceSlice, SLICE_ENTRIES } from './enforce-divergences.ts';
import { sweepOnce } from './sweep.ts';

const OVERRIDE = { override_supply_chain: true, override_reason: 'needed tonight' };
const MARKER = '[SECURITY] [server] [supply_chain] approval_blocked';
const OPENSSL = { name: 'openssl', version: '3.0.12-1' };

/** Another Debian host gets another file under the name and version of ours. */
async function diverge(it: ApprovalsApp, digit = 'b', of = OPENSSL): Promise<void> {
  const { agentId } = await insertTestAgent(it.database, { n: 100 + digit.charCodeAt(0) });
  const artifact = { filename: 'x.deb', url: 'https://mirror.example/x', size_bytes: 10 };
  const actions = [{ ...actionOf(of), artifact: { ...artifact, sha256: digit.repeat(64) } }];
  await it.database.transact((tx) =>
    recordArtifacts(tx, it.platform, { agentId, ecosystem: 'apt', actions }),
  );
}

async function decide(it: ApprovalsApp, accept: string): Promise<void> {
  const [row] = await listDivergences(it.database.read, { state: 'open', limit: 1, before: null });
  const request = { accept, reason: 'looked at both' };
  await decideDivergence(it.platform, { id: row?.id ?? '', request, operator: 'ada' });
}

const stateOf = async ({ database }: ApprovalsApp, id: string) => {
  const update = await findUpdate(database.read, id);
  return [update?.state, update?.state_reason];
};
const approvalsOf = ({ database }: ApprovalsApp) =>
  database.read.selectFrom('approvals').selectAll().execute();
const commandsOf = ({ database }: ApprovalsApp) =>
  database.read
    .selectFrom('agent_commands')
    .selectAll()
    .where('action', '=', 'install_update')
    .orderBy('id')
    .execute();
const eventsOf = ({ database }: ApprovalsApp, type: string) =>
  database.read.selectFrom('events').selectAll().where('type', '=', type).execute();

describe.each(ENGINES)('an artifact that diverges, at the gate on $name', (engine) => {
  test.each([
    ['plain', undefined],
    ['with an override, which A3 allows only for A1 and A2', OVERRIDE],
  ])('an approval, %s, is 409 with both hashes, its event and its log line', async (_what, body) => {
    const it = await createApprovalsApp(engine, { settings: { gateEnforcement: 'block' } });
    const id = await it.addUpdate();
    await diverge(it);
    const expected = {
      ...{ blocked_by: 'divergence', reason: 'artifact_divergence', overridable: false },
      divergences: [{ package: 'openssl', version: '3.0.12-1', algorithm: 'sha256', hash: 'a'.repeat(64) }],
    };
    expect(await it.approve(id, body)).toMatchObject({
      ...{ status: 409, code: 'approval_blocked', body: { update_id: id, ...expected } },
    });
    expect((await it.call('POST', `/api/v1/updates/${id}/preview`)).body).toMatchObject(expected);
    expect(await it.gateOf(id)).toMatchObject(expected);
    expect(await approvalsOf(it)).toEqual([]);
    expect(await eventsOf(it, 'approval_blocked')).toHaveLength(1);
    expect(await eventsOf(it, 'supply_chain_override')).toEqual([]);
    const lines = it.platform.lines.filter((line) => line.startsWith(MARKER));
    expect(lines).toHaveLength(1);
    expect(lines[0]).toContain('divergence: artifact_divergence');
  });

  test('bulk returns it in blocked (A6), the sweep returns it to an operator (A8)', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    const awaited = await it.addUpdate({ name: 'curl', version: '8-1', plan: null });
    await it.approve(awaited);
    await it.addPlan([awaited], [actionOf(OPENSSL), actionOf({ name: 'curl', version: '8-1' })]);
    await diverge(it);
    const { body } = await it.call('POST', '/api/v1/updates/approve', { update_ids: [id] });
    expect(body).toMatchObject({
      approved: [],
      blocked: [{ update_id: id, blocked_by: 'divergence', divergences: [{ package: 'openssl' }] }],
    });
    await sweepOnce(it.deps);
    expect(await stateOf(it, awaited)).toEqual(['pending', 'divergence: artifact_divergence']);
    expect(await approvalsOf(it)).toEqual([]);
  });

  test.each([
    ['a'.repeat(64), 200],
    ['all', 200],
    ['b'.repeat(64), 409],
  ])('once an operator has accepted %s, the approval of ours is %i', async (accept, status) => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await diverge(it);
    await decide(it, accept);
    expect((await it.approve(id)).status).toBe(status);
  });

  test('a live approval is withdrawn at the next tick: pending again, command cancelled, token void', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    const other = await it.addUpdate({ name: 'curl', version: '8-1' });
    await it.approve(id);
    await it.approve(other);
    await enforceDivergences(it.deps);
    await diverge(it);
    await enforceDivergences(it.deps);
    expect(await stateOf(it, id)).toEqual(['pending', 'artifact_divergence']);
    expect(await stateOf(it, other)).toEqual(['approved', null]);
    expect((await commandsOf(it)).map(({ status }) => status)).toEqual(['cancelled', 'pending']);
    expect((await approvalsOf(it)).map((row) => row.void_reason)).toContain('artifact_divergence');
    await decide(it, 'all');
    await enforceDivergences(it.deps);
    expect((await it.approve(id)).status).toBe(200);
    expect(await stateOf(it, id)).toEqual(['approved', null]);
    // The operator changes the decision: what is refused now is withdrawn, too.
    const [row] = await listDivergences(it.database.read, { state: null, limit: 1, before: null });
    const request = { accept: 'b'.repeat(64), reason: 'ours was the wrong one' };
    await decideDivergence(it.platform, { id: row?.id ?? '', request, operator: 'ada' });
    await enforceDivergences(it.deps);
    expect(await stateOf(it, id)).toEqual(['pending', 'artifact_divergence']);
  });

  test.each([
    ['oldest', { width: 1, age: 1 }],
    ['widest', { width: 9, age: -1 }],
  ])(
    'a genuine withdrawal that is the %s is done in the first slice, although 5,000 wait',
    async (_which, place) => {
      const it = await createApprovalsApp(engine);
      const id = await it.addUpdate();
      await it.approve(id);
      await diverge(it);
      const nowMs = it.platform.now();
      await it.database.transact(async (tx) => {
        const genuine = { width: place.width, queued_at: nowMs - place.age };
        await tx.updateTable('artifact_enforcements').set(genuine).execute();
        const flood = Array.from(
          { length: 5_000 },
          (_, i) => `01900000-0000-7000-c000-${String(i).padStart(12, '0')}`,
        );
        for (const part of chunks(flood)) {
          const rows = part.map(
            (subject) => ({ kind: 'divergence', subject, width: 2, queued_at: nowMs }) as const,
          );
          await tx.insertInto('artifact_enforcements').values(rows).execute();
        }
      });
      expect(await enforceSlice(it.deps)).toBe(true);
      expect(await stateOf(it, id)).toEqual(['pending', 'artifact_divergence']);
      expect(await countEnforcements(it.database.read)).toBe(5_001 - SLICE_ENTRIES);
    },
  );

  test('an installation under way is left to its host', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await it.approve(id);
    const move = { updateId: id, from: ['approved'], to: 'installing', actor: 'agent' } as const;
    await it.database.transact((tx) => transitionUpdate(tx, it.platform, move));
    await diverge(it);
    await enforceDivergences(it.deps);
    expect(await stateOf(it, id)).toEqual(['installing', null]);
    expect(await approvalsOf(it)).toMatchObject([{ voided_at: null }]);
  });

  test('the token is withheld from its host even before the tick', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await it.approve(id);
    const [{ token_id: tokenId } = { token_id: '' }] = await approvalsOf(it);
    const fetchToken = () =>
      it.app.inject({
        method: 'GET',
        url: `/api/v1/agents/${it.agentId}/approvals/${tokenId}`,
        headers: {
          ...{ 'x-machine-id': 'machine-1', 'x-test-agent': it.agentId, 'x-test-family': it.familyId },
        },
      });
    expect((await fetchToken()).statusCode).toBe(200);
    await diverge(it);
    expect((await fetchToken()).statusCode).toBe(404);
  });

  test('an approval minted while the divergence was being raised is withheld at delivery', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await it.approve(id);
    await diverge(it);
    // As if the tick had run before the approval was there.
    await it.database.transact((tx) => tx.deleteFrom('artifact_enforcements').execute());
    const delivery = { agentId: it.agentId, machineId: 'machine-1', received: [] };
    const given = await it.database.transact((tx) => deliverCommands(tx, it.platform, it.keyRing, delivery));
    expect(given).toEqual([]);
    expect(await commandsOf(it)).toMatchObject([{ status: 'cancelled', reason: 'artifact_divergence' }]);
    await enforceDivergences(it.deps);
    expect(await stateOf(it, id)).toEqual(['pending', 'artifact_divergence']);
    expect(await eventsOf(it, 'COMMAND_REFUSED')).toEqual([]);
  });

  test('a divergence between the judgement and the token prevents the token', async () => {
    let it: ApprovalsApp | null = null;
    let raised = false;
    it = await createApprovalsApp(engine, {
      wrap: (database) => ({
        ...database,
        async transact(work) {
          if (it && armed && !raised) {
            raised = true;
            await diverge(it);
          }
          return database.transact(work);
        },
      }),
    });
    let armed = false;
    const id = await it.addUpdate();
    await it.call('POST', `/api/v1/updates/${id}/preview`);
    armed = true;
    expect(await it.approve(id)).toMatchObject({ status: 409, body: { blocked_by: 'divergence' } });
    expect(await approvalsOf(it)).toEqual([]);
  });
});
