import { APPROVAL_TYPE, ApprovalPayload } from '@tidegate/protocol/documents';
import { POLICY_TYPE, PolicyPayload } from '@tidegate/protocol/policies-api';
import { loadTrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { KEV_MAX_AGE_MS } from '../advisories/exploited/kev-list.ts';
import { saveFetched, saveScores, setOffSince } from '../advisories/exploited/store.ts';
import { reportTags } from '../agents/report-tags.ts';
import { changeTags } from '../agents/tag-store.ts';
import { bulkApprove } from '../approvals/bulk-approve.ts';
import { NO_PROGRESS } from '../approvals/bulk-progress.ts';
import { housekeepOnce } from '../approvals/housekeeping.ts';
import { readRecord } from '../approvals/read-decision.ts';
import { replayDecision } from '../approvals/replay-decision.ts';
import { sweepOnce } from '../approvals/sweep.ts';
import { insertCommands } from '../commands/store.ts';
import { changeOperator, removeOperator } from '../operators/change-operators.ts';
import { createPasswords } from '../operators/passwords/passwords.ts';
import { insertOperator } from '../operators/store.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { policiesInForce } from '../policies/store.ts';
import { recordFirstSeen } from '../release-times/record-first-seen.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import type { ApprovalsAppOptions } from '../testing/approvals-app.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { LISTENS } from '../testing/listens.ts';
import { STANDING, STANDING_TERMS } from '../testing/standing.ts';
import { findUpdate } from '../updates/store.ts';
import { transitionUpdate } from '../updates/transition-update.ts';
import { ASKED_AGAIN_MS, createRefused } from './refused.ts';
import { askerOf, createTurn, RECORDED_AGAIN_MS, runPoliciesOnce } from './run-policies.ts';

const URL = '/api/v1/policies';
const ADA = '01900000-0000-7000-a000-000000000001';
const HOUR_MS = 3_600_000;
describe.each(ENGINES)('policies on $name', (engine) => {
  async function scene(options: ApprovalsAppOptions = {}) {
    const it = await createApprovalsApp(engine, options);
    const operator = {
      id: ADA,
      username: 'ada',
      password_hash: 'x',
      role: 'approver',
      groups: null,
    } as const;
    await it.database.transact(async (tx) => {
      await insertOperator(tx, { ...operator, created_at: 1, disabled_at: null });
      const root = { id: '01900000-0000-7000-a000-000000000002', username: 'root', password_hash: 'x' };
      await insertOperator(tx, { ...root, role: 'admin', groups: null, created_at: 1, disabled_at: null });
    });
    const refused = createRefused();
    const run = () => runPoliciesOnce(it.deps, refused);
    const publish = async (change: object = {}) => {
      const { status, body } = await it.call('POST', URL, { ...STANDING, ...change });
      expect(status, JSON.stringify(body)).toBe(201);
      return body;
    };
    const stateOf = async (id: string) => (await findUpdate(it.database.read, id))?.state;
    const eventsOf = async (type: string) => {
      const rows = await it.database.read.selectFrom('events').selectAll().where('type', '=', type).execute();
      return rows.map(({ content }) => JSON.parse(content));
    };
    const tokens = async () => {
      const rows = await it.database.read.selectFrom('approvals').selectAll().orderBy('token_id').execute();
      return rows.map((row) => {
        const payload = Buffer.from(JSON.parse(row.envelope).payload, 'base64').toString();
        return { row, payload: Value.Parse(ApprovalPayload, JSON.parse(payload)) };
      });
    };
    const decisions = async () => {
      const rows = await it.database.read.selectFrom('decisions').selectAll().orderBy('id').execute();
      return rows.map(readRecord);
    };
    const terms = (change: object) => ({ terms: { ...STANDING_TERMS, ...change } });
    return { ...it, run, refused, publish, stateOf, eventsOf, tokens, decisions, terms };
  }

  test('approve what is clear in their author’s name; token, decision and event name policy and digest', async () => {
    const it = await scene();
    const id = await it.addUpdate({ name: 'curl' });
    const { id: policy_id, sha256, envelope } = await it.publish();
    await it.run();
    expect(await it.stateOf(id)).toBe('approved');
    const [token] = await it.tokens();
    expect(token?.payload).toMatchObject({ policy: { policy_id, sha256 }, override: null });
    expect(token?.row).toMatchObject({ approved_by: 'ada', policy_id, policy_sha256: sha256 });
    const [decision] = await it.decisions();
    expect(decision).toMatchObject({
      ...{ via: 'policy', actor: 'policy', approved_by: 'ada', outcome: 'minted' },
      request: { by: 'policy', override: false, standing: { policy_id, sha256, terms: STANDING_TERMS } },
    });
    expect(await it.eventsOf('update_approved')).toMatchObject([
      { policy: { policy_id, sha256 }, actor: 'policy', approved_by: 'ada' },
    ]);
    const recorded = (headers = {}) => it.app.inject({ url: `/api/v1/updates/${id}/approval`, headers });
    expect((await recorded()).json().approval).toMatchObject({
      ...{ via: 'policy', approved_by: 'ada', policy: { id: policy_id, name: STANDING.name } },
    });
    const bound = await recorded({ 'x-test-groups': 'web' });
    expect(bound.json().approval.policy).toEqual({ id: policy_id, name: null });
    const keys = it.keyRing
      .keySet()
      .keys.map(({ key_id, public_key_hex }) =>
        loadTrustedKey({ keyId: key_id, publicKeyHex: public_key_hex }),
      );
    const verified = verifyEnvelope(envelope, keys, POLICY_TYPE);
    if (!verified.ok) throw new Error('the policy is not signed');
    expect(sha256Hex(verified.payload)).toBe(sha256);
    const payload = Value.Parse(PolicyPayload, JSON.parse(Buffer.from(verified.payload).toString()));
    expect(payload).toMatchObject({ ...STANDING, policy_id, version: 1, author: 'ada' });
    expect(verifyEnvelope(envelope, keys, APPROVAL_TYPE).ok).toBe(false);
    const { body } = await it.call('GET', `${URL}/${policy_id}`);
    expect(body.last_run).toMatchObject({ hosts: 1, approved: 1, awaiting_plan: 0, stopped: 0 });
  });

  test('of a tag reach the hosts that operators gave it, and none that reports it of itself', async () => {
    const it = await scene();
    const { agentId: other } = await insertTestAgent(it.database, { n: 2 });
    const [tagged, reported] = [await it.addUpdate(), await it.addUpdate({ agentId: other })];
    const scope = { kind: 'some', groups: [], hosts: [], tags: ['env=prod'] };
    const { status, body } = await it.call('POST', URL, {
      ...{ ...STANDING, scope: { ...scope, tags: ['host.env=prod'] } },
    });
    expect([status, body.errors]).toMatchObject([400, [{ path: '/scope/tags' }]]);
    await it.publish({ scope });
    const preview = { scope, terms: STANDING_TERMS, windows: [] };
    await reportTags(it.platform, { agentId: other, tags: ['host.env=prod'] });
    await it.run();
    expect((await it.call('POST', `${URL}/preview`, preview)).body).toMatchObject({ hosts: 0, approves: 0 });
    await it.database.transact((tx) =>
      changeTags(tx, { agentId: it.agentId, set: ['env=prod'], remove: [], by: 'ada', atMs: 1 }),
    );
    expect((await it.call('POST', `${URL}/preview`, preview)).body).toMatchObject({ hosts: 1 });
    expect(await it.stateOf(tagged)).toBe('pending');
    await it.run();
    expect([await it.stateOf(tagged), await it.stateOf(reported)]).toEqual(['approved', 'pending']);
  });

  test('never pass what the gate stops (A1)', async () => {
    const it = await scene();
    const [bad, good] = [await it.addUpdate(), await it.addUpdate({ name: 'curl' })];
    it.vulnerable();
    await it.publish();
    await it.run();
    expect(await it.stateOf(bad)).toBe('pending');
    expect(await it.stateOf(good)).toBe('approved');
    expect(await it.eventsOf('supply_chain_override')).toEqual([]);
  });

  test.each(['apt', 'npm', 'pypi'] as const)(
    'never pass what could not be checked, also where a person may (A2, A8): %s',
    async (ecosystem) => {
      const it = await scene();
      it.osv.mode = 'down';
      const id = await it.addUpdate({ name: 'curl', ecosystem, version: '2.0.0' });
      await it.publish(it.terms({ ecosystems: [ecosystem] }));
      await it.run();
      expect(await it.stateOf(id)).toBe('pending');
      expect((await it.approve(id)).status).toBe(ecosystem === 'apt' ? 409 : 200);
    },
  );

  test('leave releases of the agent to people, and so do rings: nothing checks them but the release key (0085)', async () => {
    const it = await scene();
    const release = { name: 'tidegate-agent', ecosystem: 'tidegate', version: '99.0.0' } as const;
    const [bare, packaged] = [
      await it.addUpdate(release),
      await it.addUpdate({ ...release, ecosystem: 'apt' }),
    ];
    it.osv.mode = 'down';
    const { id: policyId } = await it.publish(it.terms({ ecosystems: ['tidegate', 'apt'] }));
    await it.run();
    expect([await it.stateOf(bare), await it.stateOf(packaged)]).toEqual(['pending', 'pending']);
    const { body } = await it.call('GET', `${URL}/${policyId}`);
    expect(body.last_run).toMatchObject({ approved: 0, stopped: 2 });
    expect((await it.approve(bare)).status).toBe(200);
  });

  test.each<[string, object, object]>([
    ['a statement of an operator', {}, {}],
    ['what stays, unless its author said so', { vulnerabilityPolicy: 'introduced' }, {}],
  ])('leave to people what passes by %s', async (_, settings, change) => {
    const it = await scene({ settings });
    await it.database.transact((tx) =>
      insertInstalled(tx, {
        ...{ agent_id: it.agentId, ecosystem: 'apt', name: 'openssl', arch: '', version: '3.0.11-1' },
        ...{ source_name: 'openssl', source_version: '3.0.11-1', origin: null, held: 0 },
      }),
    );
    await it.database.transact(async (tx) => {
      await saveScores(tx, 'kev', []);
      await saveFetched(tx, { feed: 'kev', nowMs: it.platform.now(), entries: 0, asOfMs: it.platform.now() });
    });
    it.osv.addRecord({ id: 'DEBIAN-CVE-2024-1', summary: 'bad', upstream: ['CVE-2024-1'] }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.12-1', '3.0.11-1'] },
    ]);
    const action = actionOf({ name: 'openssl', version: '3.0.12-1' });
    const id = await it.addUpdate({ plan: [{ ...action, from_version: '3.0.11-1' }] });
    if (!('vulnerabilityPolicy' in settings)) {
      const { status } = await it.call('POST', '/api/v1/admin/vex-statements', {
        ...{ vulnerability: 'CVE-2024-1', ecosystem: 'apt', package: 'openssl', distribution: 'debian' },
        ...{ versions: ['3.0.12-1'], scope: { kind: 'all' }, status: 'accepted', justification: null },
        ...{ text: 'Not reachable.', ends_at: '2026-12-01T00:00:00Z' },
      });
      expect(status).toBe(201);
    }
    const { id: policyId, sha256 } = await it.publish(change);
    await it.run();
    expect(await it.stateOf(id)).toBe('pending');
    // A person passes it without an override.
    const { body } = await it.call('POST', `/api/v1/updates/${id}/preview`);
    expect(body.blocked_by).toBeNull();
    if (!('vulnerabilityPolicy' in settings)) return;
    const lenient = { ...STANDING, ...it.terms({ remaining_vulnerabilities: 'approve' }), replaces: sha256 };
    expect((await it.call('PUT', `${URL}/${policyId}`, lenient)).status).toBe(200);
    // Of a list that is too old or switched off nobody knows whether it is exploited.
    const fetchedAtMs = it.platform.now();
    const fetched = (nowMs: number, offSinceMs: number | null) =>
      it.database.transact(async (tx) => {
        await saveFetched(tx, { feed: 'kev', nowMs, entries: 0, asOfMs: nowMs });
        await setOffSince(tx, 'kev', offSinceMs);
      });
    for (const [atMs, offSinceMs] of [
      [fetchedAtMs - KEV_MAX_AGE_MS, null],
      [fetchedAtMs, fetchedAtMs],
    ] as const) {
      await fetched(atMs, offSinceMs);
      await runPoliciesOnce(it.deps, createRefused());
      expect(await it.stateOf(id)).toBe('pending');
    }
    await fetched(fetchedAtMs, null);
    await runPoliciesOnce(it.deps, createRefused());
    expect(await it.stateOf(id)).toBe('approved');
  });

  test('leave to people what is known to be exploited, also if it stays', async () => {
    const it = await scene({ settings: { vulnerabilityPolicy: 'introduced' } });
    await it.database.transact(async (tx) => {
      await insertInstalled(tx, {
        ...{ agent_id: it.agentId, ecosystem: 'apt', name: 'openssl', arch: '', version: '3.0.11-1' },
        ...{ source_name: 'openssl', source_version: '3.0.11-1', origin: null, held: 0 },
      });
      await saveScores(tx, 'kev', [['CVE-2024-1', 1]]);
      await saveFetched(tx, { feed: 'kev', nowMs: it.platform.now(), entries: 1, asOfMs: it.platform.now() });
    });
    it.osv.addRecord({ id: 'DEBIAN-CVE-2024-1', summary: 'bad', upstream: ['CVE-2024-1'] }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.12-1', '3.0.11-1'] },
    ]);
    const action = actionOf({ name: 'openssl', version: '3.0.12-1' });
    const id = await it.addUpdate({ plan: [{ ...action, from_version: '3.0.11-1' }] });
    await it.publish(it.terms({ remaining_vulnerabilities: 'approve' }));
    await it.run();
    expect(await it.stateOf(id)).toBe('pending');
    expect((await it.approve(id)).status).toBe(200);
  });

  test('leave to people what passes the age gate by an exception (A7)', async () => {
    const it = await scene({ settings: { gateEnforcement: 'block' } });
    const id = await it.addUpdate({ name: 'left-pad', version: '2.0.0', ecosystem: 'npm' });
    await it.call('POST', '/api/v1/admin/age-exceptions', {
      ...{ ecosystem: 'npm', name: 'left-pad', version: '2.0.0', reason: 'needed' },
      expires_at: '2026-12-01T00:00:00Z',
    });
    await it.publish(it.terms({ ecosystems: ['npm'] }));
    await it.run();
    expect(await it.stateOf(id)).toBe('pending');
  });

  test('wait until what an update brings is old enough for them', async () => {
    const it = await scene();
    const id = await it.addUpdate({ name: 'curl' });
    await it.publish(it.terms({ min_age_hours: 24 }));
    await it.run();
    expect(await it.stateOf(id)).toBe('pending');
    const seen = { agentId: it.agentId, ecosystem: 'apt', packages: [] } as const;
    const actions = [actionOf({ name: 'curl', version: '3.0.12-1' })];
    await it.database.transact((tx) => recordFirstSeen(tx, it.platform, { ...seen, actions }));
    it.clock.advance(23 * HOUR_MS);
    await it.run();
    expect(await it.stateOf(id)).toBe('pending');
    it.clock.advance(HOUR_MS);
    await it.run();
    expect(await it.stateOf(id)).toBe('approved');
  });

  test('reach only the hosts of their scope, and only their packages', async () => {
    const it = await scene();
    const { agentId: web } = await insertTestAgent(it.database, { n: 2, group: 'web' });
    const { agentId: db } = await insertTestAgent(it.database, { n: 3, group: 'db' });
    const ids = {
      other: await it.addUpdate({ name: 'curl' }),
      web: await it.addUpdate({ name: 'curl', agentId: web }),
      excepted: await it.addUpdate({ name: 'linux-image-1', agentId: web }),
      db: await it.addUpdate({ name: 'curl', agentId: db }),
      elsewhere: await it.addUpdate({ name: 'vim', agentId: db }),
    };
    await it.publish({
      scope: { kind: 'some', groups: ['web'], hosts: [] },
      ...it.terms({ except_packages: ['linux-*'] }),
    });
    await it.publish({
      name: 'curl',
      scope: { kind: 'some', groups: [], hosts: [db] },
      ...it.terms({ packages: ['curl'] }),
    });
    await it.run();
    const states = Object.entries(ids).map(async ([name, id]) => [name, await it.stateOf(id)]);
    expect(Object.fromEntries(await Promise.all(states))).toEqual({
      ...{ other: 'pending', web: 'approved', excepted: 'pending', db: 'approved', elsewhere: 'pending' },
    });
  });

  test('get to every host, however many updates of those before it stay refused', async () => {
    const it = await scene();
    it.vulnerable({ name: 'bad' });
    const hosts = [it.agentId];
    for (const n of [2, 3]) hosts.push((await insertTestAgent(it.database, { n })).agentId);
    const [first, second, third] = hosts;
    for (const agentId of [first, second]) await it.addUpdate({ name: 'bad', ...(agentId && { agentId }) });
    const id = await it.addUpdate({ name: 'curl', ...(third && { agentId: third }) });
    await it.publish();
    // A pass has room for one update, and one that was refused is remembered.
    const [refused, turn] = [createRefused(1), createTurn({ updatesMax: 1, pageHosts: 1 })];
    for (const _ of [1, 2, 3]) await runPoliciesOnce(it.deps, refused, () => false, turn);
    expect(await it.stateOf(id)).toBe('approved');
    // Once around, each host again.
    const again = await it.addUpdate({ name: 'vim', ...(first && { agentId: first }) });
    for (const _ of [1, 2]) await runPoliciesOnce(it.deps, refused, () => false, turn);
    expect(await it.stateOf(again)).not.toBe('pending');
  });

  test('approve the updates of one host as one transaction, and wait for its plan', async () => {
    const it = await scene();
    const ids = [await it.addUpdate({ name: 'curl' }), await it.addUpdate({ name: 'vim' })];
    const { id: policy_id, sha256 } = await it.publish();
    await it.run();
    expect(await Promise.all(ids.map(it.stateOf))).toEqual(['awaiting_plan', 'awaiting_plan']);
    await it.addPlan(
      ids,
      ['curl', 'vim'].map((name) => actionOf({ name, version: '3.0.12-1' })),
    );
    await sweepOnce(it.deps);
    const tokens = await it.tokens();
    expect(tokens).toHaveLength(1);
    expect(tokens[0]?.payload).toMatchObject({ policy: { policy_id, sha256 } });
    expect(tokens[0]?.payload.updates).toHaveLength(2);
    expect((await it.decisions()).at(-1)).toMatchObject({
      ...{ via: 'sweep', approved_by: 'ada' },
      request: { by: 'sweep', standing: { policy_id } },
    });
  });

  test('mint nothing for what waits once they are revoked; their tokens stay', async () => {
    const it = await scene();
    const first = await it.addUpdate({ name: 'zsh' });
    const { id } = await it.publish();
    await it.run();
    const ids = [await it.addUpdate({ name: 'curl' }), await it.addUpdate({ name: 'vim' })];
    await it.run();
    expect(await it.stateOf(ids[0] ?? '')).toBe('awaiting_plan');
    expect((await it.call('DELETE', `${URL}/${id}`)).status).toBe(204);
    await it.addPlan(
      ids,
      ['curl', 'vim'].map((name) => actionOf({ name, version: '3.0.12-1' })),
    );
    await sweepOnce(it.deps);
    await it.run();
    expect(await Promise.all(ids.map(it.stateOf))).toEqual(['pending', 'pending']);
    expect((await findUpdate(it.database.read, ids[0] ?? ''))?.state_reason).toBe('policy_ended');
    expect(await it.stateOf(first)).toBe('approved');
    expect((await it.call('GET', `${URL}/${id}`)).body).toMatchObject({
      ...{ state: 'revoked', end_reason: 'revoked', ended_by: 'ada' },
    });
    expect((await it.call('DELETE', `${URL}/${id}`)).status).toBe(404);
  });

  test('a policy that was revoked while its requests were judged mints nothing', async () => {
    const it = await scene();
    const update = await it.addUpdate({ name: 'curl' });
    const { id } = await it.publish();
    const [row] = await policiesInForce(it.database.read, { nowMs: it.platform.now(), limit: 1 });
    if (!row) throw new Error('there is no policy');
    await it.call('DELETE', `${URL}/${id}`);
    const request = { update_ids: [update] };
    const asked = { request, asker: askerOf(it.deps, row, { isCatchUp: false }), progress: NO_PROGRESS };
    expect(await bulkApprove(it.deps, asked)).toMatchObject({ kind: 'done', answer: { approved: [] } });
    expect(await it.stateOf(update)).toBe('pending');
    expect(await it.tokens()).toEqual([]);
  });

  test('leave an update to people once a person has taken its approval back', async () => {
    const it = await scene();
    const id = await it.addUpdate({ name: 'curl' });
    await it.publish();
    await it.run();
    expect((await it.call('POST', `/api/v1/updates/${id}/reopen`, { reason: 'not today' })).status).toBe(200);
    await it.run();
    expect(await it.stateOf(id)).toBe('pending');
    const { body } = await it.call('POST', `${URL}/preview`, {
      ...{ scope: STANDING.scope, terms: STANDING_TERMS, windows: [] },
    });
    expect(body).toMatchObject({ approves: 0, reasons: [{ reason: 'taken_back', count: 1 }] });
  });

  test('are changed only by a new digest that names the one it replaces', async () => {
    const it = await scene();
    const { id, sha256 } = await it.publish();
    const change = { ...STANDING, ...it.terms({ packages: ['curl'] }) };
    const wrong = await it.call('PUT', `${URL}/${id}`, { ...change, replaces: 'a'.repeat(64) });
    expect(wrong).toMatchObject({ status: 409, body: { detail: expect.stringContaining(sha256) } });
    const { body } = await it.call('PUT', `${URL}/${id}`, { ...change, replaces: sha256 });
    expect(body).toMatchObject({ id, version: 2, state: 'in_force', terms: { packages: ['curl'] } });
    expect(body.sha256).not.toBe(sha256);
    expect(body.versions).toMatchObject([
      { version: 2, end_reason: null },
      { version: 1, sha256, end_reason: 'replaced' },
    ]);
    expect((await it.eventsOf('policy_published')).map(({ replaced }) => replaced)).toEqual([null, sha256]);
  });

  test.each<[string, object, string]>([
    ['has no end within 365 days', { ends_at: '2027-12-01T00:00:00Z' }, '/ends_at'],
    ['has ended', { ends_at: '2026-11-01T00:00:00Z' }, '/ends_at'],
    ['names no host', { scope: { kind: 'some', groups: [], hosts: [] } }, '/scope'],
  ])('one that %s is refused, and says what is allowed', async (_, change, path) => {
    const it = await scene();
    const { status, body } = await it.call('POST', URL, { ...STANDING, ...change });
    expect({ status, errors: body.errors }).toMatchObject({ status: 400, errors: [{ path }] });
  });

  test('have names of their own', async () => {
    const it = await scene();
    const { id, sha256 } = await it.publish();
    expect((await it.call('POST', URL, STANDING)).status).toBe(409);
    expect((await it.call('PUT', `${URL}/${id}`, { ...STANDING, replaces: sha256 })).status).toBe(200);
    const { id: other, sha256: digest } = await it.publish({ name: 'Other' });
    expect((await it.call('PUT', `${URL}/${other}`, { ...STANDING, replaces: digest })).status).toBe(409);
    const { body } = await it.call('GET', `${URL}/${other}`);
    expect(body).toMatchObject({ state: 'in_force', version: 1 });
  });

  test('end at their time, whether anybody looks or not', async () => {
    const it = await scene();
    const id = await it.addUpdate({ name: 'curl' });
    const { id: policyId } = await it.publish();
    it.clock.advance(Date.parse(STANDING.ends_at) - it.platform.now());
    expect((await it.call('GET', `${URL}/${policyId}`)).body.state).toBe('expired');
    await it.run();
    expect(await it.stateOf(id)).toBe('pending');
    expect(await it.eventsOf('policy_expired')).toHaveLength(1);
  });

  describe('are suspended when their author loses the right to approve', () => {
    const by = { ...{ id: 'x', username: 'root', sessionId: 'none' }, address: '127.0.0.1' } as const;
    test.each([
      ['disabled', { disabled: true }, 'author_disabled'],
      ['demoted', { role: 'viewer' as const }, 'author_demoted'],
      ['bound to a group', { groups: ['web'] }, 'author_bound'],
      ['promoted', { role: 'admin' as const }, null],
    ])('%s', async (_, change, reason) => {
      const it = await scene();
      const update = await it.addUpdate({ name: 'curl' });
      const { id, sha256 } = await it.publish();
      const passwords = createPasswords({ random: it.platform.random });
      const deps = { platform: it.platform, passwords, endTokens: async () => 0 };
      await changeOperator(deps, { id: ADA, change, by });
      const { body } = await it.call('GET', `${URL}/${id}`);
      expect(body).toMatchObject({ state: reason ? 'suspended' : 'in_force', end_reason: reason });
      expect(await it.eventsOf('policy_suspended')).toMatchObject(reason ? [{ policy_id: id, reason }] : []);
      await it.run();
      expect(await it.stateOf(update)).toBe(reason ? 'pending' : 'approved');
      if (!reason) return;
      // Somebody who has the right publishes it again.
      await changeOperator(deps, {
        id: ADA,
        change: { disabled: false, role: 'approver', groups: null },
        by,
      });
      expect((await it.call('PUT', `${URL}/${id}`, { ...STANDING, replaces: sha256 })).status).toBe(200);
      await it.run();
      expect(await it.stateOf(update)).toBe('approved');
    });

    test('deleted', async () => {
      const it = await scene();
      const { id } = await it.publish();
      await removeOperator(it.platform, { id: ADA, by, endTokens: async () => 0 });
      expect((await it.call('GET', `${URL}/${id}`)).body.end_reason).toBe('author_deleted');
    });

    test('in a way that no request has seen', async () => {
      const it = await scene();
      const update = await it.addUpdate({ name: 'curl' });
      const { id } = await it.publish();
      await it.database.transact((tx) => tx.deleteFrom('operators').where('id', '=', ADA).execute());
      await it.run();
      expect(await it.stateOf(update)).toBe('pending');
      expect((await it.call('GET', `${URL}/${id}`)).body.end_reason).toBe('author_deleted');
    });
  });

  describe('with windows', () => {
    /** Every night at two in Berlin, for two hours. */
    const NIGHTLY = {
      ...{ rrule: 'FREQ=DAILY', starts_on: '2026-11-01', start: '02:00', zone: 'Europe/Berlin' },
      duration_minutes: 120,
    };
    const at = (it: Awaited<ReturnType<typeof scene>>, time: string) =>
      it.clock.advance(Date.parse(time) - it.platform.now());

    /** Commands that hosts have carried out, the newest last. */
    async function insertRuns(
      { database, platform }: Awaited<ReturnType<typeof scene>>,
      runs: readonly {
        agentId: string;
        minutes: number;
        status?: 'failed' | 'refused';
        action?: 'scan';
        /** Minutes before the installation; null: its host did not say. */
        downloads?: number | null;
        exit_code?: number | null;
      }[],
    ): Promise<void> {
      const nowMs = Date.parse('2026-11-20T00:00:00Z');
      const commands = runs.map(({ agentId, minutes, downloads = null, exit_code = 0, ...run }, n) => ({
        row: {
          ...{ action: 'install_update', status: 'success', ...run, exit_code },
          ...{ id: platform.newId(), agent_id: agentId, params: '{}', created_by: 'ada' },
          ...{ created_at: nowMs + n, not_before: 0, expires_at: 0 },
          ...{ approval_id: null, approval_sha256: null, seq: null, key_id: null, machine_sha256: null },
          ...{ epoch: null, envelope: null, sent_at: null },
          started_at: nowMs,
          installing_at: downloads === null ? null : nowMs + downloads * 60_000,
          finished_at: nowMs + ((downloads ?? 0) + minutes) * 60_000,
        },
        updateIds: [],
      }));
      await database.transact((tx) => insertCommands(tx, commands));
    }

    test('approve only while one is open, and nothing begins after its end', async () => {
      const it = await scene();
      const id = await it.addUpdate({ name: 'curl' });
      await it.publish({ windows: [NIGHTLY] });
      at(it, '2026-11-25T00:59:59Z');
      await it.run();
      expect(await it.stateOf(id)).toBe('pending');
      at(it, '2026-11-25T01:00:00Z');
      await it.run();
      expect(await it.stateOf(id)).toBe('approved');
      const [token] = await it.tokens();
      // Hosts allow five minutes for clocks that differ: the window closes at three.
      expect(token?.payload.expires_at).toBe('2026-11-25T02:55:00Z');
    });

    test('end on a host as much earlier as its installations usually take, but leave it half of the window', async () => {
      const it = await scene();
      const { agentId: slow } = await insertTestAgent(it.database, { n: 2 });
      const { agentId: stuck } = await insertTestAgent(it.database, { n: 3 });
      await insertRuns(it, [
        // Of twenty runs one took longer; what came before them does not count, nor do downloads.
        { agentId: slow, minutes: 59 },
        { agentId: slow, minutes: 59 },
        { agentId: stuck, minutes: 600 },
        ...Array.from({ length: 10 }, () => ({ agentId: slow, minutes: 20 })),
        ...Array.from({ length: 9 }, () => ({ agentId: slow, minutes: 20, downloads: 300 })),
        { agentId: slow, minutes: 55, status: 'failed', exit_code: null },
        { agentId: slow, minutes: 50 },
        { agentId: slow, minutes: 55, status: 'refused' },
        { agentId: slow, minutes: 55, action: 'scan' },
      ]);
      const ids = [
        await it.addUpdate({ name: 'curl' }),
        await it.addUpdate({ name: 'curl', agentId: slow }),
        await it.addUpdate({ name: 'curl', agentId: stuck }),
      ];
      await it.publish({ windows: [NIGHTLY] });
      at(it, '2026-11-25T01:00:00Z');
      await it.run();
      const ends = new Map((await it.tokens()).map(({ row, payload }) => [row.agent_id, payload.expires_at]));
      expect([...ends]).toHaveLength(ids.length);
      expect(ends.get(it.agentId)).toBe('2026-11-25T02:55:00Z');
      expect(ends.get(slow)).toBe('2026-11-25T02:35:00Z');
      expect(ends.get(stuck)).toBe('2026-11-25T01:55:00Z');
    });

    test('mint nothing for a host that would not be done at the end', async () => {
      const it = await scene();
      const id = await it.addUpdate({ name: 'curl' });
      await insertRuns(it, [{ agentId: it.agentId, minutes: 20, status: 'failed' }]);
      await it.publish({ windows: [NIGHTLY] });
      at(it, '2026-11-25T02:40:00Z');
      await it.run();
      expect(await it.stateOf(id)).toBe('pending');
      expect(await it.tokens()).toEqual([]);
    });

    test('ask for no plan while none is open', async () => {
      const it = await scene();
      const ids = [await it.addUpdate({ name: 'curl' }), await it.addUpdate({ name: 'vim' })];
      await it.publish({ windows: [NIGHTLY] });
      at(it, '2026-11-25T00:59:59Z');
      await it.run();
      expect(await Promise.all(ids.map(it.stateOf))).toEqual(['pending', 'pending']);
    });

    test('ask for nothing in the last minutes of one: no host could begin', async () => {
      const it = await scene();
      const id = await it.addUpdate({ name: 'curl' });
      await it.publish({ windows: [NIGHTLY] });
      at(it, '2026-11-25T02:55:00Z');
      await it.run();
      expect(await it.stateOf(id)).toBe('pending');
    });

    test('ask in the next one for what no host began in this one', async () => {
      const it = await scene();
      const id = await it.addUpdate({ name: 'curl' });
      await it.publish({ windows: [NIGHTLY] });
      at(it, '2026-11-25T01:00:00Z');
      await it.run();
      at(it, '2026-11-25T03:00:00Z');
      await housekeepOnce(it.deps, LISTENS);
      await it.run();
      expect(await it.stateOf(id)).toBe('pending');
      expect((await findUpdate(it.database.read, id))?.state_reason).toBe('approval_expired');
      at(it, '2026-11-26T01:00:00Z');
      await it.run();
      expect(await it.stateOf(id)).toBe('approved');
      expect((await it.tokens()).map(({ row }) => row.void_reason)).toEqual(['approval_expired', null]);
    });

    test('let an installation end that has begun', async () => {
      const it = await scene();
      const id = await it.addUpdate({ name: 'curl' });
      await it.publish({ windows: [NIGHTLY] });
      at(it, '2026-11-25T01:00:00Z');
      await it.run();
      await it.database.transact((tx) =>
        transitionUpdate(tx, it.platform, {
          ...{ updateId: id, from: ['approved'], to: 'installing', actor: 'agent' },
        }),
      );
      at(it, '2026-11-25T03:00:00Z');
      await housekeepOnce(it.deps, LISTENS);
      expect(await it.stateOf(id)).toBe('installing');
    });

    test('hand back what still waits for its plan when the window closes', async () => {
      const it = await scene();
      const ids = [await it.addUpdate({ name: 'curl' }), await it.addUpdate({ name: 'vim' })];
      await it.publish({ windows: [NIGHTLY] });
      at(it, '2026-11-25T01:00:00Z');
      await it.run();
      expect(await Promise.all(ids.map(it.stateOf))).toEqual(['awaiting_plan', 'awaiting_plan']);
      await it.addPlan(
        ids,
        ['curl', 'vim'].map((name) => actionOf({ name, version: '3.0.12-1' })),
      );
      at(it, '2026-11-25T03:00:00Z');
      await sweepOnce(it.deps);
      expect(await it.tokens()).toEqual([]);
      expect((await findUpdate(it.database.read, ids[0] ?? ''))?.state_reason).toBe('window_closed');
      at(it, '2026-11-26T01:30:00Z');
      await it.run();
      const [token] = await it.tokens();
      expect(token?.payload).toMatchObject({ expires_at: '2026-11-26T02:55:00Z' });
      expect(token?.payload.updates).toHaveLength(2);
    });

    test('that wait for a plan are minted by the sweep until the same end', async () => {
      const it = await scene();
      const ids = [await it.addUpdate({ name: 'curl' }), await it.addUpdate({ name: 'vim' })];
      await it.publish({ windows: [NIGHTLY] });
      at(it, '2026-11-25T01:00:00Z');
      await it.run();
      await it.addPlan(
        ids,
        ['curl', 'vim'].map((name) => actionOf({ name, version: '3.0.12-1' })),
      );
      at(it, '2026-11-25T01:10:00Z');
      await sweepOnce(it.deps);
      expect((await it.tokens())[0]?.payload.expires_at).toBe('2026-11-25T02:55:00Z');
    });

    test('mint nothing when one closes during a pass', async () => {
      const it = await scene();
      const update = await it.addUpdate({ name: 'curl' });
      await it.publish({ windows: [NIGHTLY] });
      at(it, '2026-11-25T02:54:59Z');
      const [row] = await policiesInForce(it.database.read, { nowMs: it.platform.now(), limit: 1 });
      if (!row) throw new Error('there is no policy');
      const asker = askerOf(it.deps, row, { isCatchUp: false });
      at(it, '2026-11-25T02:55:00Z');
      await bulkApprove(it.deps, { request: { update_ids: [update] }, asker, progress: NO_PROGRESS });
      expect(await it.stateOf(update)).toBe('pending');
      expect(await it.tokens()).toEqual([]);
    });

    test('mint nothing for hosts that did not miss it, when its catch-up begins during a pass', async () => {
      const it = await scene();
      const update = await it.addUpdate({ name: 'curl' });
      await it.publish({ windows: [{ ...NIGHTLY, catch_up_hours: 6 }] });
      at(it, '2026-11-25T02:55:00Z');
      const [row] = await policiesInForce(it.database.read, { nowMs: it.platform.now(), limit: 1 });
      if (!row) throw new Error('there is no policy');
      const ask = (isCatchUp: boolean) =>
        bulkApprove(it.deps, {
          request: { update_ids: [update] },
          asker: askerOf(it.deps, row, { isCatchUp }),
          progress: NO_PROGRESS,
        });
      await ask(false);
      expect(await it.stateOf(update)).toBe('pending');
      await ask(true);
      expect((await it.tokens())[0]?.payload.expires_at).toBe('2026-11-25T08:55:00Z');
    });

    test('the list has the window that is open, or else the next, while they are in force', async () => {
      const it = await scene();
      const { id } = await it.publish({ windows: [NIGHTLY] });
      await it.publish({ name: 'At any time' });
      const shown = async () => {
        const { body } = await it.call('GET', URL);
        return body.items.map((one: { name: string; window: object | null }) => [one.name, one.window]);
      };
      const first = {
        opens_at: '2026-11-25T01:00:00.000Z',
        closes_at: '2026-11-25T03:00:00.000Z',
        actions: ['install'],
      };
      const second = {
        opens_at: '2026-11-26T01:00:00.000Z',
        closes_at: '2026-11-26T03:00:00.000Z',
        actions: ['install'],
      };
      for (const [time, window] of [
        ['2026-11-25T00:59:59Z', first],
        ['2026-11-25T01:00:00Z', first],
        ['2026-11-25T02:55:00Z', second],
      ] as const) {
        at(it, time);
        expect(await shown(), time).toEqual([
          ['At any time', null],
          [STANDING.name, window],
        ]);
      }
      await it.call('DELETE', `${URL}/${id}`);
      expect(await shown()).toContainEqual([STANDING.name, null]);
    });

    test('one for reboots alone installs nothing, and is shown beside the others', async () => {
      const it = await scene();
      const windows = [
        { ...NIGHTLY, actions: ['install'] },
        { ...NIGHTLY, start: '12:00', actions: ['reboot'] },
      ];
      at(it, '2026-11-25T11:30:00Z');
      const { scope, terms } = STANDING;
      const reboot = { when: 'needed', warn_minutes: 0 };
      const { body } = await it.call('POST', `${URL}/preview`, { scope, terms, windows, reboot });
      expect(body).toMatchObject({ open_window: null, open_besides: [{ actions: ['reboot'] }] });
      expect(body.next_windows.slice(0, 2)).toMatchObject([
        { actions: ['install'] },
        { actions: ['reboot'] },
      ]);
    });

    test('say which is open and when the next ones are, also as a draft', async () => {
      const it = await scene();
      at(it, '2026-10-31T00:30:00Z');
      const draft = { scope: STANDING.scope, terms: STANDING_TERMS };
      const weekly = { ...NIGHTLY, rrule: 'FREQ=WEEKLY;BYDAY=SU', start: '02:30', starts_on: '2026-10-01' };
      const { body } = await it.call('POST', `${URL}/preview`, { ...draft, windows: [NIGHTLY, weekly] });
      expect(body.open_window).toBeNull();
      expect(body.next_windows.slice(0, 2)).toEqual([
        { opens_at: '2026-11-01T01:00:00.000Z', closes_at: '2026-11-01T03:00:00.000Z', actions: ['install'] },
        { opens_at: '2026-11-01T01:30:00.000Z', closes_at: '2026-11-01T03:30:00.000Z', actions: ['install'] },
      ]);
      expect(body.next_windows).toHaveLength(5);
    });

    test.each<[string, object, string]>([
      ['too short', { duration_minutes: 29 }, '/windows/0/duration_minutes'],
      ['no rule', { rrule: 'FREQ=HOURLY' }, '/windows/0'],
      ['no zone', { zone: 'Europe/Atlantis' }, '/windows/0'],
      ['for nothing', { actions: [] }, '/windows/0/actions'],
      ['for what no policy does', { actions: ['install', 'update_agent'] }, '/windows/0/actions'],
      ['for reboots that it does not ask for', { actions: ['install', 'reboot'] }, '/windows/0/actions'],
    ])('one that is %s is refused, and says what is allowed', async (_, change, path) => {
      const it = await scene();
      const windows = [{ ...NIGHTLY, ...change }];
      for (const url of [URL, `${URL}/preview`]) {
        const { scope, terms } = STANDING;
        const { status, body } = await it.call(
          'POST',
          url,
          url === URL ? { ...STANDING, windows } : { scope, terms, windows },
        );
        expect({ status, errors: body.errors }).toMatchObject({ status: 400, errors: [{ path }] });
      }
    });
  });

  test('by somebody who can write to the database approve nothing', async () => {
    const it = await scene();
    const update = await it.addUpdate({ name: 'curl' });
    const { id } = await it.publish({ ...it.terms({ packages: ['nothing'] }) });
    const row = await it.database.read.selectFrom('policies').selectAll().executeTakeFirstOrThrow();
    const document = row.document.replace('"nothing"', '"*"');
    await it.database.transact((tx) => tx.updateTable('policies').set({ document }).execute());
    await it.run();
    expect(await it.stateOf(update)).toBe('pending');
    expect((await it.call('GET', `${URL}/${id}`)).status).toBe(404);
  });

  test('say what they would do: hosts, what they approve, what waits for a plan, and what they leave and why', async () => {
    const it = await scene();
    it.vulnerable();
    await it.addUpdate();
    const [curl] = [await it.addUpdate({ name: 'curl' })];
    await it.addUpdate({ name: 'linux-image-1' });
    await it.addUpdate({ name: 'left-pad', version: '2.0.0', ecosystem: 'npm' });
    const { id } = await it.publish(it.terms({ except_packages: ['linux-*'] }));
    const before = await it.decisions();
    await it.run();
    await it.call('POST', `/api/v1/updates/${curl}/reopen`, {});
    const { body } = await it.call('GET', `${URL}/${id}/preview`);
    expect(body).toMatchObject({
      ...{ hosts: 1, hosts_shown: [{ hostname: 'host-1' }], approves: 0, unplanned: 0, leaves: 4 },
      reasons: [
        { reason: 'ecosystem', count: 1 },
        { reason: 'excepted', count: 1 },
        { reason: 'known_vulnerability', count: 1 },
        { reason: 'taken_back', count: 1 },
      ],
    });
    expect(before).toEqual([]);
  });

  test('do not ask again for what was refused until it changes, or time has passed', async () => {
    const it = await scene();
    it.vulnerable();
    const id = await it.addUpdate();
    await it.publish();
    await it.run();
    await it.run();
    const count = async () =>
      (await it.database.read.selectFrom('decisions').selectAll().execute()).reduce(
        (sum, { repeats }) => sum + repeats + 1,
        0,
      );
    expect(await count()).toBe(1);
    it.clock.advance(ASKED_AGAIN_MS);
    await it.run();
    expect(await count()).toBe(2);
    expect(await it.stateOf(id)).toBe('pending');
    expect(await it.eventsOf('bulk_approval_blocked')).toEqual([]);
  });

  test('say of what they do not ask again that it is stopped, and why, until it is not', async () => {
    const it = await scene();
    it.vulnerable();
    const id = await it.addUpdate();
    const { id: policyId } = await it.publish();
    const lastRun = async () => (await it.call('GET', `${URL}/${policyId}`)).body.last_run;
    await it.run();
    const stops = { stopped: 1, stopped_by: [{ reason: 'known_vulnerability', count: 1 }] };
    const first = await lastRun();
    expect(first).toMatchObject({ approved: 0, hosts: 1, ...stops });
    it.clock.advance(RECORDED_AGAIN_MS);
    await it.run();
    const second = await lastRun();
    expect(second).toMatchObject({ approved: 0, hosts: 0, ...stops });
    expect(second.at > first.at).toBe(true);
    await it.database.transact((tx) =>
      tx.updateTable('updates').set({ state: 'superseded' }).where('id', '=', id).execute(),
    );
    await it.run();
    expect(await lastRun()).toMatchObject({ stopped: 0, stopped_by: [] });
  });

  test('a second policy may approve what the first leaves', async () => {
    const it = await scene();
    const id = await it.addUpdate({ name: 'curl' });
    await it.publish(it.terms({ security_only: true }));
    await it.publish({ name: 'Second' });
    await it.run();
    expect(await it.stateOf(id)).toBe('approved');
  });

  test('a record that was changed afterwards does not replay', async () => {
    const it = await scene();
    await it.addUpdate({ name: 'curl' });
    await it.publish();
    await it.run();
    const [decision] = await it.decisions();
    const standing = decision?.request.standing;
    if (!decision || !standing) throw new Error('there is no decision of a policy');
    expect(replayDecision(decision).isSame).toBe(true);
    const other = { ...standing, terms: { ...standing.terms, packages: ['nginx'] } };
    const changed = { ...decision, request: { ...decision.request, standing: other } };
    expect(replayDecision(changed)).toMatchObject({
      isSame: false,
      verdict: { kind: 'blocked', stop: { by: 'policy', reason: 'package' } },
    });
  });
});
