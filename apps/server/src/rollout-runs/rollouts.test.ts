import { describe, expect, test } from 'vitest';
import { changeTags } from '../agents/tag-store.ts';
import type { Asker } from '../approvals/asker.ts';
import { bulkApprove } from '../approvals/bulk-approve.ts';
import { NO_PROGRESS } from '../approvals/bulk-progress.ts';
import { sweepOnce } from '../approvals/sweep.ts';
import { rfc3339 } from '../platform/clock.ts';
import { createListening, type Listening } from '../platform/listening.ts';
import { policiesInForce } from '../policies/store.ts';
import { askerOf } from '../policy-runs/run-policies.ts';
import { findRollout } from '../rollouts/store.ts';
import { ENGINES } from '../testing/engines.ts';
import { CANARY_THEN_REST, REST, ringOf } from '../testing/rollout-rings.ts';
import { createRolloutScene } from '../testing/rollout-scene.ts';
import { STANDING } from '../testing/standing.ts';
import { rollBackRing } from './roll-back-ring.ts';

describe.each(ENGINES)('rollouts on $name', (engine) => {
  const scene = () => createRolloutScene(engine);
  const gateOf = (change: object) => {
    const { gate } = ringOf('canary');
    return gate && { ...gate, ...change };
  };
  const rings = (change: object) => [ringOf('canary', change), REST];

  test('give a version to the first ring alone, and to the next when its gate is met', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host('canary'), await it.host()];
    const { id } = await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    expect([await it.stateOf(canary), await it.stateOf(rest)]).toEqual(['approved', 'pending']);
    expect((await it.rollout()).waits_for).toBe(
      'Waits in ring "canary": 1 host must have installed; 0 of 1.',
    );
    const { body } = await it.call('GET', `/api/v1/policies/${id}/preview`);
    expect(body.reasons).toEqual([{ reason: 'ring_not_entered', count: 1 }]);
    await it.install(canary);
    await it.run();
    expect(await it.stateOf(rest)).toBe('approved');
    await it.install(rest);
    await it.run();
    expect(await it.rollout()).toMatchObject({
      ...{ state: 'finished', ring: 1, outcomes: { installed: 2 } },
      waits_for: 'Finished: 2 hosts installed.',
    });
  });

  test('halt by themselves when a host fails, with an event that names it, and nobody else gets the version', async () => {
    const it = await scene();
    const [first, second, rest] = [await it.host('canary'), await it.host('canary'), await it.host()];
    await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    await it.visit(first);
    await it.report(first, 'failed', { reason: 'dpkg failed' });
    await it.run();
    expect(await it.rollout()).toMatchObject({ state: 'halted', halt: { by: 'server' } });
    expect(await it.eventsOf('rollout_halted')).toMatchObject([
      {
        ...{ severity: 'critical', hosts: [{ agent_id: first.agentId, outcome: 'failed' }] },
        reason: '1 of 2 hosts of ring "canary" failed; at most 0 % may.',
      },
    ]);
    // What no host has taken yet is withdrawn.
    expect(await it.visit(second)).not.toContain('install_update');
    await it.run();
    expect([await it.stateOf(second), await it.stateOf(rest)]).toEqual(['pending', 'pending']);
  });

  test('go on when a person resumes them, who answers for the hosts that failed', async () => {
    const it = await scene();
    const [first, second, rest] = [await it.host('canary'), await it.host('canary'), await it.host()];
    await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    await it.visit(first);
    await it.report(first, 'failed');
    await it.run();
    expect((await it.act('resume')).status).toBe(200);
    expect(await it.eventsOf('rollout_resumed')).toMatchObject([{ excused: 1, reason: 'It was looked at.' }]);
    await it.run();
    await it.install(second);
    await it.run();
    expect(await it.rollout()).toMatchObject({ state: 'running', ring: 1 });
    expect(await it.stateOf(rest)).toBe('approved');
    expect((await it.act('resume')).status).toBe(409);
  });

  test('count a host as failed whose probes turn red, whatever its own clock says', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(rings({ gate: gateOf({ soak_minutes: 10 }) }));
    await it.run();
    await it.run();
    await it.visit(canary);
    // Its clock is an hour behind.
    const behind = { finished_at: new Date(it.platform.now() - 3_600_000).toISOString() };
    await it.report(canary, 'success', behind);
    await it.run();
    expect((await it.rollout()).lanes[0]).toMatchObject({ outcomes: { installed: 1 } });
    await it.look(canary, 'red', -3_599_000);
    await it.run();
    expect(await it.rollout()).toMatchObject({
      state: 'halted',
      lanes: [{ outcomes: { probe_failed: 1 } }, {}],
    });
    expect(await it.stateOf(rest)).toBe('pending');
  });

  test('neither release nor blame a host whose probes were red before', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    await it.visit(canary);
    const at = new Date(it.platform.now()).toISOString();
    const before = { at, probes: [{ name: 'web', kind: 'tcp', state: 'red' } as const] };
    await it.report(canary, 'success', { probes: { before: { ...before, probes: [...before.probes] } } });
    await it.look(canary, 'red');
    await it.run();
    const { state, lanes } = await it.rollout();
    expect([state, lanes[0]?.outcomes.unfit]).toEqual(['running', 1]);
    expect(await it.stateOf(rest)).toBe('pending');
  });

  test('count a host that took its updates and says nothing as failed from its deadline on', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    await it.visit(canary);
    it.minutes(29);
    await it.run();
    expect(await it.rollout()).toMatchObject({ state: 'running', lanes: [{ outcomes: { running: 1 } }, {}] });
    it.minutes(1);
    await it.run();
    expect(await it.rollout()).toMatchObject({ state: 'halted', lanes: [{ outcomes: { silent: 1 } }, {}] });
    expect(await it.stateOf(rest)).toBe('pending');
  });

  test.each([
    ['started again', () => createListening(60_000)],
    ['stood still', (before: Listening) => before],
  ])('judge no deadline before a server that %s has listened to its hosts', async (_, after) => {
    const it = await scene();
    const [canary, dead] = [await it.host('canary'), await it.host('canary')];
    await it.publish(CANARY_THEN_REST);
    let listening: Listening = createListening(60_000);
    for (let i = 0; i < 5; i += 1) {
      await it.run(listening);
      it.minutes(1);
    }
    for (const host of [canary, dead]) {
      await it.visit(host);
      await it.report(host, 'running');
    }
    await it.run(listening);
    it.minutes(60);
    listening = after(listening);
    await it.run(listening);
    expect((await it.rollout()).state).toBe('running');
    await it.report(canary, 'success');
    for (let i = 0; i < 2; i += 1) {
      it.minutes(1);
      await it.run(listening);
    }
    expect(await it.rollout()).toMatchObject({
      ...{ state: 'running', lanes: [{ outcomes: { installed: 1, running: 1 } }, {}] },
    });
    it.minutes(1);
    await it.run(listening);
    expect(await it.rollout()).toMatchObject({
      ...{ state: 'halted', lanes: [{ outcomes: { installed: 1, silent: 1 } }, {}] },
    });
    // The next start takes nothing back.
    await it.run(createListening(60_000));
    expect((await it.rollout()).lanes[0]).toMatchObject({ outcomes: { silent: 1 } });
  });

  test('count a host that never took anything neither way, and say so', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    it.minutes(60);
    await it.seen(rest.agentId);
    await it.run();
    expect(await it.rollout()).toMatchObject({
      ...{ state: 'running', ring: 0, lanes: [{ outcomes: { offline: 1 } }, {}] },
      waits_for: 'Waits for ring "canary": its only host is offline.',
    });
    expect([await it.stateOf(canary), await it.stateOf(rest)]).toEqual(['approved', 'pending']);
  });

  test('wait for the soak, for green probes after it, and for a person, each if the ring asks for it', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(rings({ gate: gateOf({ soak_minutes: 60, probes: 'green', approval: true }) }));
    await it.run();
    await it.run();
    await it.install(canary);
    await it.look(canary, 'green');
    await it.run();
    expect((await it.rollout()).waits_for).toBe(
      'Waits in ring "canary": 1 host must have run the update for 1 hour; 0 of 1.',
    );
    it.minutes(60);
    await it.run();
    expect((await it.rollout()).waits_for).toBe(
      'Waits in ring "canary": 1 host must have green probes; 0 of 1.',
    );
    // Its probes after the installation say nothing about an hour later: it is asked.
    expect(await it.visit(canary)).toContain('run_probes');
    await it.look(canary, 'green');
    await it.run();
    expect((await it.rollout()).waits_for).toBe(
      'Waits in ring "canary": a person approves the next ring; nobody has.',
    );
    expect(await it.stateOf(rest)).toBe('pending');
    expect((await it.act('approve', { ring: 1 })).status).toBe(409);
    expect((await it.act('approve', { ring: 0 })).status).toBe(200);
    await it.run();
    expect(await it.stateOf(rest)).toBe('approved');
  });

  test('skip the soak in an emergency, and nothing else', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(rings({ gate: gateOf({ soak_minutes: 6_000 }) }));
    await it.run();
    await it.run();
    expect((await it.act('emergency')).body.lane).toBe('emergency');
    await it.run();
    expect(await it.stateOf(rest)).toBe('pending');
    await it.install(canary);
    await it.run();
    expect(await it.stateOf(rest)).toBe('approved');
    expect(await it.eventsOf('rollout_expedited')).toHaveLength(1);
  });

  test('are halted and cancelled by a person at once; a cancelled version is not carried again', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    expect((await it.act('halt', { reason: 'Not on a Friday.' })).body).toMatchObject({
      waits_for: 'Halted by ada: Not on a Friday. It goes on when somebody resumes it.',
    });
    await it.run();
    expect(await it.visit(canary)).not.toContain('install_update');
    expect((await it.act('cancel', { reason: 'The next one is near.' })).status).toBe(200);
    await it.run();
    await it.run();
    expect(await it.rollouts()).toMatchObject([{ state: 'cancelled' }]);
    expect([await it.stateOf(canary), await it.stateOf(rest)]).toEqual(['pending', 'pending']);
    await it.offerTo(canary.agentId, { version: '3.0.13-1' });
    await it.run();
    expect(await it.rollouts()).toMatchObject([
      { state: 'running', package_list: [{ version: '3.0.13-1', hosts: 1 }] },
      { state: 'cancelled' },
    ]);
    expect((await it.act('halt', { reason: '' })).status).toBe(400);
  });

  test('leave a halted command that a host has begun to its end', async () => {
    const it = await scene();
    const [first, second] = [await it.host('canary'), await it.host('canary')];
    await it.publish(rings({ gate: gateOf({ min_success_count: 2 }) }));
    await it.run();
    await it.run();
    await it.visit(first);
    await it.report(first, 'running');
    await it.act('halt');
    await it.run();
    expect([await it.stateOf(first), await it.stateOf(second)]).toEqual(['installing', 'pending']);
    await it.report(first, 'success');
    await it.run();
    expect((await it.rollout()).lanes[0]?.outcomes).toMatchObject({ installed: 1, waiting: 1 });
  });

  test('leave a package alone in outer rings that no inner ring installed, such as that of another architecture', async () => {
    const it = await scene();
    const canary = await it.host('canary');
    const other = await it.host(undefined, { arch: 'arm64' });
    const { id } = await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    await it.install(canary);
    await it.run();
    await it.run();
    expect(await it.stateOf(other)).toBe('pending');
    expect((await it.rollout()).waits_for).toBe(
      'Waits for 1 host of ring "rest": 0 running, 1 waiting, 0 offline. The gate stops 1 update of its policy: 1 unproven.',
    );
    const { body } = await it.call('GET', `/api/v1/policies/${id}/preview`);
    expect(body).toMatchObject({
      ...{ approves: 0, reasons: [{ reason: 'unproven', count: 1 }] },
      rings: { rings: [{ hosts: 1 }, { hosts: 2 }], unrepresented: [{ arch: 'arm64', hosts: 1 }] },
    });
  });

  test('let what no inner ring has wait for some days, where the policy says so', async () => {
    const it = await scene();
    const canary = await it.host('canary');
    const other = await it.host();
    const wget = await it.offerTo(other.agentId, { name: 'wget', version: '8.0-1' });
    await it.publish(CANARY_THEN_REST, { unproven: { wait_days: 2 } });
    await it.run();
    await it.run();
    await it.install(canary);
    await it.run();
    expect(await it.stateOf({ updateId: wget })).toBe('pending');
    it.minutes(2 * 24 * 60);
    await it.run();
    // Its plan is too old by now.
    await it.planFor(wget, 'wget', '8.0-1');
    await sweepOnce(it.deps);
    expect(await it.stateOf({ updateId: wget })).toBe('approved');
  });

  test('stop before a ring when a record of a vulnerability appears after the ring before it', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(rings({ gate: gateOf({ approval: true }) }));
    await it.run();
    await it.run();
    await it.install(canary);
    it.vulnerable();
    it.minutes(48 * 60);
    await it.act('approve', { ring: 0 });
    await it.run();
    await it.run();
    expect(await it.rollout()).toMatchObject({
      ...{ ring: 1, state: 'running' },
      waits_for:
        'Waits for 1 host of ring "rest" that is offline. The gate stops 1 update of its policy: 1 known vulnerability.',
    });
    expect(await it.stateOf(rest)).toBe('pending');
  });

  test('put a host that joins later into the last ring', async () => {
    const it = await scene();
    const canary = await it.host('canary');
    await it.publish(rings({ gate: gateOf({ min_success_count: 2 }) }));
    await it.run();
    await it.run();
    await it.install(canary);
    await it.run();
    const late = await it.host('canary', { enrolledAtMs: it.platform.now() });
    await it.run();
    await it.run();
    expect(await it.stateOf(late)).toBe('pending');
    expect((await it.rollout()).lanes).toMatchObject([{ hosts: 1 }, { hosts: 1, late: 1 }]);
  });

  test('go by tags that operators set', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host(), await it.host()];
    await it.database.transact((tx) =>
      changeTags(tx, { agentId: canary.agentId, set: ['ring=canary'], remove: [], by: 'ada', atMs: 1 }),
    );
    const members = { kind: 'some', groups: [], hosts: [], tags: ['ring=canary'] } as const;
    await it.publish(rings({ members: { ...members, tags: [...members.tags] } }));
    await it.run();
    await it.run();
    expect([await it.stateOf(canary), await it.stateOf(rest)]).toEqual(['approved', 'pending']);
  });

  test('go on when their policy is changed and keeps its rings, and end when it has others', async () => {
    const it = await scene();
    await it.host('canary');
    await it.host();
    const { id, sha256 } = await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    const soaking = [ringOf('canary', { gate: gateOf({ soak_minutes: 5 }) }), REST];
    const changed = { ...STANDING, text: 'Slower.', rings: soaking, replaces: sha256 };
    const { body } = await it.call('PUT', `/api/v1/policies/${id}`, changed);
    await it.run();
    expect(await it.rollouts()).toMatchObject([
      {
        state: 'running',
        policy_sha256: body.sha256,
        lanes: [{ conditions: [{}, {}, { kind: 'soak' }, {}] }, {}],
      },
    ]);
    const others = [ringOf('first', { members: { kind: 'percent', percent: 10 } }), REST];
    const again = { ...STANDING, rings: others, replaces: body.sha256 };
    expect((await it.call('PUT', `/api/v1/policies/${id}`, again)).status).toBe(200);
    await it.run();
    expect(await it.rollouts()).toMatchObject([{ state: 'running' }, { state: 'cancelled' }]);
  });

  test('do not mint what was asked for when they are halted before its plan comes', async () => {
    const it = await scene();
    const canary = await it.host('canary', { offers: false });
    const updateId = await it.addUpdate({ agentId: canary.agentId, plan: null });
    await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    expect(await it.stateOf({ updateId })).toBe('awaiting_plan');
    await it.act('halt');
    await it.planFor(updateId);
    await sweepOnce(it.deps);
    expect(await it.stateOf({ updateId })).not.toBe('approved');
  });

  test('are held by the gate, not by what their worker asks for', async () => {
    const it = await scene();
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(CANARY_THEN_REST);
    const [row] = await policiesInForce(it.database.read, { nowMs: it.platform.now(), limit: 1 });
    if (!row) throw new Error('there is no policy');
    const asked = async () => {
      const request = { update_ids: [canary.updateId, rest.updateId] };
      const done = await bulkApprove(it.deps, {
        ...{ request, asker: askerOf(it.deps, row, { isCatchUp: false }), progress: NO_PROGRESS },
      });
      if (done.kind !== 'done') throw new Error(`nobody can ask for it: ${done.kind}`);
      return done.answer.blocked.map(({ reason }) => reason);
    };
    // No rollout carries it yet.
    expect(await asked()).toEqual(['ring_not_entered', 'ring_not_entered']);
    await it.run();
    await it.act('halt');
    expect(await asked()).toEqual(['ring_not_entered', 'ring_not_entered']);
    await it.act('resume');
    expect(await asked()).toEqual(['ring_not_entered']);
    expect([await it.stateOf(canary), await it.stateOf(rest)]).toEqual(['approved', 'pending']);
  });

  test('mint nothing that was judged before they were halted', async () => {
    const it = await scene();
    const [first, second] = [await it.host('canary'), await it.host('canary')];
    await it.publish(CANARY_THEN_REST);
    const [row] = await policiesInForce(it.database.read, { nowMs: it.platform.now(), limit: 1 });
    if (!row) throw new Error('there is no policy');
    // The first pass begins the rollout, and asks for nothing.
    await it.run();
    const { requestOf, ...asker } = askerOf(it.deps, row, { isCatchUp: false });
    const halting: Asker = {
      ...asker,
      async requestOf(loaded, facts) {
        const asked = await requestOf(loaded, facts);
        if ((await it.rollout()).state === 'running') await it.act('halt');
        return asked;
      },
    };
    const request = { update_ids: [first.updateId, second.updateId] };
    const done = await bulkApprove(it.deps, { request, asker: halting, progress: NO_PROGRESS });
    expect(done).toMatchObject({ kind: 'done', answer: { approved: [] } });
    expect([await it.stateOf(first), await it.stateOf(second)]).toEqual(['pending', 'pending']);
  });

  test('ask for the reboots of hosts that have installed, in the rings that were entered alone', async () => {
    const it = await createRolloutScene(engine, { authorRole: 'admin' });
    const [canary, rest] = [await it.host('canary'), await it.host()];
    await it.publish(CANARY_THEN_REST, { reboot: { when: 'needed', warn_minutes: 5 } });
    await it.run();
    await it.run();
    const asked = () => it.database.read.selectFrom('host_reboots').select('agent_id').execute();
    for (const host of [canary, rest]) await it.needsReboot(host);
    await it.run();
    expect(await asked()).toEqual([]);
    await it.install(canary);
    await it.run();
    await it.run();
    expect(await asked()).toEqual([{ agent_id: canary.agentId }]);
  });

  test('that stand still can be undone on all hosts of a ring at once, and nothing else with them', async () => {
    const it = await scene();
    const [first, second] = [await it.host('canary'), await it.host('canary')];
    const [byPerson, rest] = [await it.host('canary'), await it.host()];
    await it.publish(CANARY_THEN_REST);
    await it.run();
    expect((await it.approve(byPerson.updateId)).status).toBe(200);
    await it.run();
    for (const host of [first, byPerson]) {
      await it.install(host);
      await it.reportsInstalled(host, { openssl: '3.0.12-1' });
    }
    const undo = (body: object) => it.act('rollback', { ring: 0, reason: 'It does not start.', ...body });
    expect(await undo({})).toMatchObject({ status: 409, code: 'conflict' });
    await it.visit(second);
    await it.report(second, 'failed');
    await it.run();
    expect((await it.rollout()).state).toBe('halted');

    expect(await undo({ ring: 2 })).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(await undo({ reason: undefined })).toMatchObject({ status: 400, code: 'invalid_request' });
    const expected = {
      requested: [{ agent_id: first.agentId, undoes: [first.updateId] }],
      skipped: [{ update_id: second.updateId, agent_id: second.agentId, code: 'not_installed' }],
      next: null,
    };
    const dry = await undo({ reason: undefined, dry_run: true });
    expect(dry.body).toMatchObject(expected);
    expect(dry.body.requested[0].update_id).toBeNull();
    expect((await undo({})).body).toMatchObject(expected);
    expect(await it.eventsOf('rollback_requested')).toMatchObject([{ reason: 'It does not start.' }]);
    // What is under way is not asked for twice, and the outer ring has nothing to undo.
    expect((await undo({})).body).toMatchObject({ ...expected, requested: [] });
    expect((await undo({ ring: 1 })).body).toEqual({ requested: [], skipped: [], next: null });
    expect(await it.stateOf(rest)).toBe('pending');
  });

  test('are undone in parts, each of which says where the next begins', async () => {
    const it = await scene();
    const hosts = [await it.host('canary'), await it.host('canary'), await it.host('canary')];
    await it.publish(CANARY_THEN_REST);
    await it.run();
    await it.run();
    for (const host of hosts) await it.install(host);
    for (const host of hosts) await it.reportsInstalled(host, { openssl: '3.0.12-1' });
    await it.act('cancel');
    const rollout = await findRollout(it.database.read, (await it.rollout()).id);
    if (!rollout) throw new Error('there is no rollout');
    const undone: string[] = [];
    let after: string | null = null;
    do {
      const by = { operator: 'ada', actor: 'ada', reason: 'It does not start.', dryRun: false };
      const part = await rollBackRing(it.platform, { rollout, ring: 0, after, limit: 2, ...by });
      undone.push(...(part?.requested ?? []).map(({ agent_id: id }) => id));
      expect(part?.next === null).toBe(undone.length === 3);
      after = part?.next ?? null;
    } while (after !== null);
    expect(undone.toSorted()).toEqual(hosts.map(({ agentId }) => agentId).toSorted());
  });

  test('skip a ring in which no host offers anything until its deadline', async () => {
    const it = await scene();
    await it.host('canary', { offers: false });
    const second = await it.host('second');
    await it.publish([ringOf('canary'), ringOf('second'), REST], { unproven: { wait_days: 1 } });
    await it.run();
    const deadlineMs = it.platform.now() + 30 * 60_000;
    it.minutes(29);
    await it.run();
    expect(await it.rollout()).toMatchObject({
      ring: 0,
      waits_for: `Waits for hosts of ring "canary" to offer these versions, until ${rfc3339(deadlineMs)}.`,
    });
    it.minutes(1);
    for (const _ of 'abc') await it.run();
    expect((await it.rollout()).ring).toBe(1);
    expect(await it.stateOf(second)).toBe('pending');
    it.minutes(25 * 60);
    await it.seen(second.agentId);
    await it.run();
    expect(await it.stateOf(second)).toBe('approved');
  });

  test('let hosts of such a ring offer what they found while the server was down', async () => {
    const it = await scene();
    await it.host('canary', { offers: false });
    await it.host();
    await it.publish(CANARY_THEN_REST);
    await it.run();
    it.minutes(60);
    const listening = createListening(60_000);
    for (let i = 0; i < 3; i += 1) {
      await it.run(listening);
      expect((await it.rollout()).ring).toBe(0);
      it.minutes(1);
    }
    await it.run(listening);
    expect((await it.rollout()).ring).toBe(1);
  });

  test('in an emergency, skip such a ring when its hosts were asked to scan and have had 15 minutes', async () => {
    const it = await scene();
    const [first, gone] = [
      await it.host('canary', { offers: false }),
      await it.host('canary', { offers: false }),
    ];
    const second = await it.host('second');
    const deadline_minutes = 6_000;
    const order = [ringOf('canary', { deadline_minutes }), ringOf('second', { deadline_minutes }), REST];
    await it.publish(order, { unproven: { wait_days: 1 } });
    for (const _ of 'abc') await it.run();
    it.minutes(60);
    await it.run();
    expect(await it.visit(first)).toEqual([]);
    await it.act('emergency');
    const askedAtMs = it.platform.now();
    for (const _ of 'abc') await it.run();
    // Once, and only those of the ring.
    expect(await it.visit(first)).toEqual(['scan']);
    expect(await it.visit(second)).toEqual([]);
    const until = rfc3339(askedAtMs + 15 * 60_000);
    expect(await it.rollout()).toMatchObject({
      ring: 0,
      waits_for: `Waits for hosts of ring "canary" to offer these versions, until ${until}.`,
    });
    it.minutes(14);
    await it.run();
    expect((await it.rollout()).ring).toBe(0);
    it.minutes(1);
    await it.seen(second.agentId);
    await it.run();
    expect((await it.rollout()).ring).toBe(1);
    expect(await it.visit(gone)).toEqual(['scan']);
  });

  test('in an emergency, try the version first on a host that offers it after all', async () => {
    const it = await scene();
    const first = await it.host('canary', { offers: false });
    const rest = await it.host();
    await it.publish([ringOf('canary', { deadline_minutes: 6_000 }), REST]);
    for (const _ of 'abc') await it.run();
    await it.act('emergency');
    await it.run();
    expect(await it.visit(first)).toEqual(['scan']);
    const canary = { ...first, updateId: await it.offerTo(first.agentId) };
    await it.run();
    it.minutes(15);
    await it.seen(first.agentId);
    for (const _ of 'abc') await it.run();
    expect([await it.stateOf(canary), await it.stateOf(rest)]).toEqual(['approved', 'pending']);
    await it.install(canary);
    await it.run();
    expect(await it.stateOf(rest)).toBe('approved');
  });

  test('begin with the first ring also where hosts of an outer ring are the first to offer a version', async () => {
    const it = await scene();
    const first = await it.host('canary', { offers: false });
    const rest = await it.host();
    await it.publish(CANARY_THEN_REST);
    for (const _ of 'abc') await it.run();
    const updateId = await it.offerTo(first.agentId);
    const canary = { ...first, updateId };
    for (const _ of 'abc') await it.run();
    expect([await it.stateOf(canary), await it.stateOf(rest)]).toEqual(['approved', 'pending']);
    await it.install(canary);
    await it.run();
    expect(await it.stateOf(rest)).toBe('approved');
    expect(await it.rollout()).toMatchObject({ ring: 1, lanes: [{ late: 1 }, { late: 0 }] });
  });
});
