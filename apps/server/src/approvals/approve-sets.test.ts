import type { CommandResult } from '@tidegate/protocol/agent-api';
import { ApprovalPayload } from '@tidegate/protocol/documents';
import { Value } from 'typebox/value';
import { describe, expect, test, vi } from 'vitest';
import { updatesOfTokens } from '../approval-tokens/store.ts';
import { updatesOfCommand } from '../commands/named-updates.ts';
import { recordResult } from '../commands/record-result.ts';
import { endClosed } from '../inventory/record-report.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { recordScan } from '../updates/record-scan.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import { sweepOnce } from './sweep.ts';

const VERSION = '1.1-1';
const bulk = (it: ApprovalsApp, ids: readonly string[]) =>
  it.call('POST', '/api/v1/updates/approve', { update_ids: ids });

/** Updates of these packages, each with a plan of its own: itself and what is in `along`. */
async function addAll(
  it: ApprovalsApp,
  names: readonly string[],
  along: Readonly<Record<string, string[]>> = {},
): Promise<string[]> {
  const ids: string[] = [];
  for (const name of names) {
    it.clock.advance(1);
    const plan = [name, ...(along[name] ?? [])].map((one) => actionOf({ name: one, version: VERSION }));
    ids.push(await it.addUpdate({ name, version: VERSION, plan }));
  }
  return ids;
}

const actionsOf = (...names: string[]) => names.map((name) => actionOf({ name, version: VERSION }));
/** A version that only the joint transaction brings. */
const BAD = { name: 'libbad', version: '6.6-6' };

async function statesOf(it: ApprovalsApp, ids: readonly string[]) {
  const rows = await it.database.read.selectFrom('updates').select(['id', 'state', 'state_reason']).execute();
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.map((id) => byId.get(id)?.state);
}

/** The updates of each live token. */
async function tokensOf(it: ApprovalsApp): Promise<string[][]> {
  const rows = await it.database.read
    .selectFrom('approvals')
    .select(['token_id', 'approved_by', 'envelope'])
    .where('voided_at', 'is', null)
    .execute();
  const sets: string[][] = [];
  for (const { token_id } of rows) sets.push(await updatesOfTokens(it.database.read, [token_id]));
  return sets.toSorted(([a = ''], [b = '']) => (a < b ? -1 : 1));
}

async function planRequests(it: ApprovalsApp) {
  const rows = await it.database.read
    .selectFrom('agent_commands')
    .selectAll()
    .where('action', '=', 'plan_update')
    .orderBy('id')
    .execute();
  return rows.map((row) => ({ id: row.id, status: row.status, updates: updatesOfCommand(row) }));
}

async function eventsOf({ database }: ApprovalsApp, type: string) {
  const rows = await database.read.selectFrom('events').selectAll().where('type', '=', type).execute();
  return rows.map((row) => JSON.parse(row.content));
}

describe.each(ENGINES)('updates of one host that are approved together on $name', (engine) => {
  test('are one token, if the plan of all of them is there', async () => {
    const it = await createApprovalsApp(engine);
    const ids = await addAll(it, ['curl', 'vim', 'zsh']);
    await it.addPlan(ids, actionsOf('curl', 'vim', 'zsh'));
    const { body } = await bulk(it, ids.toReversed());
    expect(new Set(body.approved.map((one: { token_id: string }) => one.token_id)).size).toBe(1);
    expect(await tokensOf(it)).toEqual([ids]);
    const row = await it.database.read.selectFrom('approvals').select('envelope').executeTakeFirstOrThrow();
    const payload = Value.Parse(
      ApprovalPayload,
      JSON.parse(Buffer.from(JSON.parse(row.envelope).payload, 'base64').toString()),
    );
    expect(payload.actions).toEqual(actionsOf('curl', 'vim', 'zsh'));
  });

  test('whose verdict is known are approved at once; only the others are waited for', async () => {
    const it = await createApprovalsApp(engine, { waitMs: 50 });
    const known = await addAll(it, ['curl', 'vim']);
    await it.addPlan(known, actionsOf('curl', 'vim'));
    for (const id of known) {
      const previewed = async () => (await it.call('POST', `/api/v1/updates/${id}/preview`)).status;
      await expect.poll(previewed).toBe(200);
    }
    const { agentId } = await insertTestAgent(it.database, { n: 2 });
    it.osv.mode = 'hang';
    const others = [
      await it.addUpdate({ name: 'sed', version: VERSION, agentId }),
      await it.addUpdate({ name: 'zsh', version: VERSION, agentId }),
    ];
    await it.addPlan(others, actionsOf('sed', 'zsh'));
    const waits: string[][] = [];
    const { ensureJudged } = it.deps.worker;
    it.deps.worker.ensureJudged = (subjects, timeoutMs) => {
      waits.push(subjects.map(({ name }) => name).toSorted());
      return ensureJudged(subjects, timeoutMs);
    };
    const { body } = await bulk(it, [...others, ...known]);
    expect(body.approved.map((one: { update_id: string }) => one.update_id).toSorted()).toEqual(known);
    expect(body.skipped.map((one: { code: string }) => one.code)).toEqual(Array(2).fill('verdict_pending'));
    expect(waits[0]).toEqual(['sed', 'zsh']);
    expect(waits.flat()).not.toContain('curl');
  });

  test.each([[false], [true]])(
    'are judged again if a check changes before the token is written; vulnerable by then: %s',
    async (isVulnerable) => {
      const it = await createApprovalsApp(engine);
      const ids = await addAll(it, ['curl', 'vim']);
      await it.addPlan(ids, actionsOf('curl', 'vim'));
      for (const id of ids) expect((await it.call('POST', `/api/v1/updates/${id}/preview`)).status).toBe(200);
      const { database } = it.platform;
      const { transact } = database;
      let changed = 0;
      vi.spyOn(database, 'transact').mockImplementation(async (run, ...rest) => {
        // The first transaction that follows the verdict is the one that writes it.
        if (changed++ === 0) {
          await transact((tx) => tx.deleteFrom('advisory_checks').where('name', '=', 'vim').execute());
          if (isVulnerable) it.vulnerable({ name: 'vim', version: VERSION });
        }
        return transact(run, ...rest);
      });
      const { body } = await bulk(it, ids);
      expect(body.skipped).toEqual([]);
      const approved = body.approved.map((one: { update_id: string }) => one.update_id);
      const passed = isVulnerable ? ids.slice(0, 1) : ids;
      expect(approved).toEqual(passed);
      expect(body.blocked).toMatchObject(
        isVulnerable ? [{ update_id: ids[1], blocked_by: 'vulnerability' }] : [],
      );
      expect(await tokensOf(it)).toEqual([passed]);
    },
  );

  test('of npm are waited for even if the gate lacks nothing: a registry has to say the hashes', async () => {
    const it = await createApprovalsApp(engine, { waitMs: 50, settings: { gateEnforcement: 'off' } });
    const of = { ecosystem: 'npm', version: '1.1.0' } as const;
    const names = ['left-pad', 'rimraf'];
    const ids: string[] = [];
    for (const name of names) ids.push(await it.addUpdate({ ...of, name }));
    await it.addPlan(
      ids,
      names.map((name) => actionOf({ ...of, name })),
    );
    for (const id of ids) {
      const previewed = async () => (await it.call('POST', `/api/v1/updates/${id}/preview`)).status;
      await expect.poll(previewed).toBe(200);
    }
    const asked: string[][] = [];
    const { ensureTimed } = it.deps.ageSource;
    it.deps.ageSource.ensureTimed = (subjects, timeoutMs) => {
      asked.push(subjects.map(({ name }) => name).toSorted());
      return ensureTimed(subjects, timeoutMs);
    };
    expect((await bulk(it, ids)).body.approved).toHaveLength(2);
    expect(asked).toEqual([names]);
  });

  test('are judged by what is installed together, not by what one would bring alone', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable(BAD);
    const ids = await addAll(it, ['curl', 'vim'], { curl: [BAD.name] });
    const [curl = ''] = ids;
    await it.addPlan([curl], [...actionsOf('curl'), actionOf(BAD)]);
    await it.addPlan(ids, [...actionsOf('curl', 'vim'), actionOf({ name: BAD.name, version: VERSION })]);
    expect((await bulk(it, [curl])).body).toMatchObject({ approved: [], blocked: [{ update_id: curl }] });
    expect((await bulk(it, ids)).body).toMatchObject({ blocked: [], skipped: [] });
    expect(await tokensOf(it)).toEqual([ids]);
  });

  test('wait for one plan of all otherwise, which the sweep judges and mints for the operator', async () => {
    const it = await createApprovalsApp(engine);
    const ids = await addAll(it, ['curl', 'vim', 'zsh']);
    expect((await bulk(it, ids)).body).toMatchObject({ approved: [], awaiting_plan: ids });
    expect(await planRequests(it)).toMatchObject([{ status: 'pending', updates: ids }]);
    await sweepOnce(it.deps);
    expect(await tokensOf(it)).toEqual([]);
    await it.addPlan(ids, actionsOf('curl', 'vim', 'zsh'));
    await sweepOnce(it.deps);
    expect(await tokensOf(it)).toEqual([ids]);
    const row = await it.database.read.selectFrom('approvals').select('approved_by').executeTakeFirst();
    expect(row).toEqual({ approved_by: 'ada' });
  });

  test('that resolve to one transaction need no other plan', async () => {
    const it = await createApprovalsApp(engine);
    const ids = await addAll(it, ['python3', 'libpython3', 'vim']);
    const [first = '', second = ''] = ids;
    for (const id of [first, second]) await it.addPlan([id], actionsOf('python3', 'libpython3'));
    await bulk(it, [first, second]);
    expect(await tokensOf(it)).toEqual([[first, second]]);
  });

  test('of two hosts, and of two package managers, are a set each', async () => {
    const it = await createApprovalsApp(engine);
    const { agentId } = await insertTestAgent(it.database, { n: 2 });
    const apt = await addAll(it, ['curl', 'vim']);
    const other = [
      await it.addUpdate({ name: 'curl', version: VERSION, agentId }),
      await it.addUpdate({ name: 'vim', version: VERSION, agentId }),
    ];
    const dnf = [await it.addUpdate({ ecosystem: 'dnf', name: 'curl', version: VERSION })];
    await bulk(it, [...apt, ...other, ...dnf]);
    const asked = (await planRequests(it)).map(({ updates }) => updates);
    expect(asked.toSorted()).toEqual([apt, other].toSorted());
  });

  test('asking again for a set that waits changes nothing', async () => {
    const it = await createApprovalsApp(engine);
    const ids = await addAll(it, ['curl', 'vim']);
    await bulk(it, ids);
    expect((await bulk(it, ids)).body).toMatchObject({ awaiting_plan: ids });
    expect(await planRequests(it)).toHaveLength(1);
  });

  test('asking for more makes one larger set, and the request for the smaller one is cancelled', async () => {
    const it = await createApprovalsApp(engine);
    const ids = await addAll(it, ['curl', 'vim', 'zsh']);
    await bulk(it, ids.slice(0, 2));
    await bulk(it, ids);
    expect(await planRequests(it)).toMatchObject([
      { status: 'cancelled', updates: ids.slice(0, 2) },
      { status: 'pending', updates: ids },
    ]);
  });

  test('an update that the gate stops by its own plan is in blocked, and the others are a set', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable({ name: 'bad', version: VERSION });
    const [curl = '', bad = '', vim = ''] = await addAll(it, ['curl', 'bad', 'vim']);
    await it.addPlan([curl, vim], actionsOf('curl', 'vim'));
    const { body } = await bulk(it, [curl, bad, vim]);
    expect(body.blocked).toMatchObject([{ update_id: bad }]);
    expect(await tokensOf(it)).toEqual([[curl, vim]]);
  });

  const TEN = Array.from({ length: 10 }, (_, i) => `p${i}`);
  /** Those that bring the flagged package by their own plans, in a version that is not flagged. */
  const FLAGGED: [string, readonly string[]][] = [
    ['the first of ten', ['p0']],
    ['one in the middle of ten', ['p5']],
    ['the last of ten', ['p9']],
    ['two of ten', ['p2', 'p7']],
    ['all of ten, which share a dependency', TEN],
  ];

  async function flaggedJointly(culprits: readonly string[]) {
    const it = await createApprovalsApp(engine);
    it.vulnerable(BAD);
    const along = Object.fromEntries(culprits.map((name) => [name, [BAD.name]]));
    const ids = await addAll(it, TEN, along);
    const stopped = ids.filter((_, i) => culprits.includes(TEN[i] ?? ''));
    const others = ids.filter((id) => !stopped.includes(id));
    const names = TEN.filter((name) => !culprits.includes(name));
    return { it, ids, stopped, others, names, joint: [...actionsOf(...TEN), actionOf(BAD)] };
  }

  test.each(FLAGGED)(
    'a flagged joint closure stops %s in the request; the rest is planned again',
    async (_, culprits) => {
      const { it, ids, stopped, others, names, joint } = await flaggedJointly(culprits);
      await it.addPlan(ids, joint);
      const { body } = await bulk(it, ids);
      expect(body.blocked.map((one: { update_id: string }) => one.update_id)).toEqual(stopped);
      expect(body.blocked[0]).toMatchObject({ introduces: [{ package: BAD.name, version: BAD.version }] });
      expect(body.awaiting_plan).toEqual(others);
      expect(await tokensOf(it)).toEqual([]);
      if (others.length > 0) await it.addPlan(others, actionsOf(...names));
      await sweepOnce(it.deps);
      expect(await tokensOf(it)).toEqual(others.length > 0 ? [others] : []);
      expect(await statesOf(it, stopped)).toEqual(stopped.map(() => 'pending'));
      expect(await eventsOf(it, 'bulk_approval_blocked')).toMatchObject([{ count: stopped.length }]);
    },
  );

  test.each(FLAGGED)(
    'a flagged joint closure returns %s from the sweep; the rest is planned again',
    async (_, culprits) => {
      const { it, ids, stopped, others, names, joint } = await flaggedJointly(culprits);
      await bulk(it, ids);
      await it.addPlan(ids, joint);
      await sweepOnce(it.deps);
      expect(await tokensOf(it)).toEqual([]);
      expect(await statesOf(it, stopped)).toEqual(stopped.map(() => 'pending'));
      expect(await statesOf(it, others)).toEqual(others.map(() => 'awaiting_plan'));
      const blocked = await eventsOf(it, 'approval_blocked');
      expect(blocked.map(({ update_id }) => update_id).toSorted()).toEqual(stopped);
      if (others.length > 0) await it.addPlan(others, actionsOf(...names));
      await sweepOnce(it.deps);
      expect(await tokensOf(it)).toEqual(others.length > 0 ? [others] : []);
    },
  );

  test('a set that is flagged by nobody’s own plan is halved, until each is judged by itself', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable(BAD);
    const ids = await addAll(it, ['a', 'b', 'c']);
    await it.addPlan(ids, [...actionsOf('a', 'b', 'c'), actionOf(BAD)]);
    expect((await bulk(it, ids)).body).toMatchObject({ blocked: [], awaiting_plan: ids });
    const [a = '', b = '', c = ''] = ids;
    expect((await planRequests(it)).map(({ updates }) => updates)).toEqual([[a, b]]);
    await it.addPlan([a, b], [...actionsOf('a', 'b'), actionOf(BAD)]);
    await sweepOnce(it.deps);
    await sweepOnce(it.deps);
    expect(await tokensOf(it)).toEqual([[a], [b], [c]]);
  });

  test('a set that the host cannot plan is halved', async () => {
    const it = await createApprovalsApp(engine);
    const ids = await addAll(it, ['a', 'b', 'c', 'd']);
    await bulk(it, ids);
    const [request] = await planRequests(it);
    const sent = { status: 'sent', sent_at: 1 };
    await it.database.transact((tx) => tx.updateTable('agent_commands').set(sent).execute());
    const result = { status: 'failed' as const, reason: 'a conflicts with c' };
    const { agentId } = it;
    await it.database.transact((tx) =>
      recordResult(tx, it.platform, { agentId, commandId: request?.id ?? '', result }),
    );
    expect(await statesOf(it, ids)).toEqual(ids.map(() => 'awaiting_plan'));
    await sweepOnce(it.deps);
    const open = (await planRequests(it)).filter(({ status }) => status === 'pending');
    expect(open.map(({ updates }) => updates).toSorted()).toEqual([ids.slice(0, 2), ids.slice(2)]);
  });

  test('an update that ends while its set waits leaves the others to be planned without it', async () => {
    const it = await createApprovalsApp(engine);
    const ids = await addAll(it, ['a', 'b', 'c']);
    await bulk(it, ids);
    const [gone = '', ...others] = ids;
    await it.database.transact((tx) =>
      transitionUpdate(tx, it.platform, {
        updateId: gone,
        from: ['awaiting_plan'],
        to: 'rejected',
        actor: 'bob',
      }),
    );
    await it.addPlan(ids, actionsOf('a', 'b', 'c')); // too late: it brings what was rejected
    await sweepOnce(it.deps);
    expect(await tokensOf(it)).toEqual([]);
    await it.addPlan(others, actionsOf('b', 'c'));
    await sweepOnce(it.deps);
    expect(await tokensOf(it)).toEqual([others]);
    expect(await statesOf(it, [gone])).toEqual(['rejected']);
  });

  test('a set without a plan returns to the operators after a day, as one decision', async () => {
    const it = await createApprovalsApp(engine);
    const ids = await addAll(it, ['a', 'b']);
    await bulk(it, ids);
    it.clock.advance(24 * 3_600_000);
    await sweepOnce(it.deps);
    expect(await statesOf(it, ids)).toEqual(['pending', 'pending']);
    const decisions = await it.database.read.selectFrom('decisions').select('outcome').execute();
    expect(decisions).toEqual([{ outcome: 'handed_back' }]);
  });

  test('of two operators who approve overlapping sets at once no update gets two tokens', async () => {
    const it = await createApprovalsApp(engine);
    const ids = await addAll(it, ['a', 'b', 'c']);
    const [a = '', b = '', c = ''] = ids;
    await it.addPlan([a, b], actionsOf('a', 'b'));
    await it.addPlan([b, c], actionsOf('b', 'c'));
    await Promise.all([bulk(it, [a, b]), bulk(it, [b, c])]);
    await it.addPlan([a], actionsOf('a'));
    await sweepOnce(it.deps);
    await sweepOnce(it.deps);
    expect((await tokensOf(it)).flat().toSorted()).toEqual(ids);
    expect(await statesOf(it, ids)).toEqual(ids.map(() => 'approved'));
  });

  /** Three updates of one token, and its command. */
  async function approveThree() {
    const it = await createApprovalsApp(engine);
    const ids = await addAll(it, ['a', 'b', 'c']);
    await it.addPlan(ids, actionsOf('a', 'b', 'c'));
    await bulk(it, ids);
    const commands = async () => {
      const query = it.database.read.selectFrom('agent_commands').select(['id', 'action', 'status']);
      return query.orderBy('id').execute();
    };
    /** A complete scan that sees these versions installed, and these offered. */
    async function scan(installed: Record<string, string>, offered: Record<string, string>) {
      it.clock.advance(1_000);
      const report = {
        scanned_at: new Date(it.platform.now()).toISOString(),
        complete: true,
        packages: Object.entries(installed).map(([name, version]) => ({ name, version })),
        updates: Object.entries(offered).map(([name, available_version]) => {
          return { name, current_version: '1.0-1', available_version };
        }),
      };
      await it.database.transact(async (tx) => {
        const of = { agentId: it.agentId, ecosystem: 'apt', report } as const;
        await endClosed(tx, it.platform, (await recordScan(tx, it.platform, of)).closed);
      });
    }
    return { it, ids, scan, commands };
  }

  test('keep their token when a scan finds one of them installed: the host finds it done', async () => {
    const { it, ids, scan, commands } = await approveThree();
    await scan({ a: VERSION }, { b: VERSION, c: VERSION });
    expect(await statesOf(it, ids)).toEqual(['installed', 'approved', 'approved']);
    expect(await tokensOf(it)).toEqual([ids]);
    expect(await commands()).toMatchObject([{ action: 'install_update', status: 'pending' }]);
    await scan({ a: VERSION, b: VERSION, c: VERSION }, {});
    expect(await tokensOf(it)).toEqual([]);
    expect(await commands()).toMatchObject([{ action: 'install_update', status: 'cancelled' }]);
  });

  test('are planned without the one that a newer version supersedes, for the same operator', async () => {
    const { it, ids, scan, commands } = await approveThree();
    const [a = '', b = '', c = ''] = ids;
    await scan({}, { a: '1.2-1', b: VERSION, c: VERSION });
    expect(await statesOf(it, ids)).toEqual(['superseded', 'awaiting_plan', 'awaiting_plan']);
    expect(await tokensOf(it)).toEqual([]);
    expect((await commands()).map(({ action, status }) => `${action} ${status}`)).toEqual([
      'install_update cancelled',
      'plan_update pending',
    ]);
    await it.addPlan([b, c], actionsOf('b', 'c'));
    await sweepOnce(it.deps);
    expect(await tokensOf(it)).toEqual([[b, c]]);
    const approvers = await it.database.read.selectFrom('approvals').select('approved_by').execute();
    expect(approvers.map((row) => row.approved_by)).toEqual(['ada', 'ada']);
    expect(a).not.toBe('');
  });

  test('that are being installed end by a scan that sees them, as not out of band', async () => {
    const { it, ids, scan } = await approveThree();
    const [a = ''] = ids;
    const move = { updateId: a, from: ['approved'], to: 'installing', actor: 'agent' } as const;
    await it.database.transact((tx) => transitionUpdate(tx, it.platform, move));
    await scan({ a: '1.5-1' }, { b: VERSION, c: VERSION });
    expect(await statesOf(it, [a])).toEqual(['installing']);
    await scan({ a: VERSION }, { b: VERSION, c: VERSION });
    const row = await it.database.read
      .selectFrom('updates')
      .select(['state', 'state_reason', 'out_of_band'])
      .where('id', '=', a)
      .executeTakeFirst();
    expect(row).toEqual({ state: 'installed', state_reason: 'seen_installed', out_of_band: 0 });
  });

  test.each([
    ['after another approved installation are planned again, and nothing has failed', true],
    ['alone have failed', false],
  ])('whose plan has drifted %s', async (_, hasSibling) => {
    const { it, ids, commands } = await approveThree();
    if (hasSibling) {
      const [other = ''] = await addAll(it, ['other']);
      await it.approve(other);
    }
    await it.database.transact((tx) => tx.updateTable('agent_commands').set({ status: 'sent' }).execute());
    const [install, sibling] = await commands();
    const report = (commandId: string | undefined, result: CommandResult) =>
      it.database.transact((tx) =>
        recordResult(tx, it.platform, { agentId: it.agentId, commandId: commandId ?? '', result }),
      );
    if (sibling) await report(sibling.id, { status: 'success' });
    await report(install?.id, { status: 'refused', reason: 'plan_drift: libc6 is newer' });
    const state = hasSibling ? 'awaiting_plan' : 'failed';
    expect(await statesOf(it, ids)).toEqual(ids.map(() => state));
    expect(await eventsOf(it, 'update_failed')).toHaveLength(hasSibling ? 0 : 1);
    const asked = (await planRequests(it)).map(({ updates }) => updates);
    expect(asked).toEqual(hasSibling ? [ids] : []);
  });

  test('are previewed as one transaction, removals first, with what is left out and why', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable({ name: 'bad', version: VERSION });
    const [curl = '', bad = '', vim = '', unplanned = ''] = [
      ...(await addAll(it, ['curl', 'bad', 'vim'])),
      await it.addUpdate({ name: 'later', plan: null }),
    ];
    await it.addPlan(
      [curl, vim],
      [
        ...actionsOf('curl', 'vim'),
        { ...actionOf({ name: 'libnew', version: VERSION }), action: 'install' },
        { action: 'remove', name: 'libold', from_version: '1' },
      ],
    );
    const ids = [curl, bad, vim, unplanned];
    const preview = () => it.call('POST', '/api/v1/updates/preview', { update_ids: ids });
    // The sources have not been asked about the updates yet, and a preview does not wait for them.
    expect((await preview()).body).toMatchObject({ updates: 1, left_out_count: 3 });
    for (const id of [curl, bad, vim]) await it.call('POST', `/api/v1/updates/${id}/preview`);
    const of = { agent_id: it.agentId, ecosystem: 'apt', place: null };
    const counts = { remove: 1, install: 1, downgrade: 0, upgrade: 2 };
    const plan = { removes: ['libold'], installs: ['libnew'], downgrades: [], counts, download_bytes: 30 };
    await expect
      .poll(async () => (await preview()).body)
      .toMatchObject({
        ...{ updates: 3, hosts: 1, transactions: 2, unplanned: 1 },
        sets: [
          { ...of, update_ids: [curl, vim], plan },
          { ...of, update_ids: [unplanned], plan: null },
        ],
        ...{ left_out: [{ update_id: bad, code: 'vulnerability' }], left_out_count: 1 },
      });
    expect(await tokensOf(it)).toEqual([]);
    expect(await planRequests(it)).toEqual([]);
  });
});
