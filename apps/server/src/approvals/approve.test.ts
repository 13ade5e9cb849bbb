import { createHash } from 'node:crypto';
import { APPROVAL_TYPE, ApprovalPayload } from '@tidegate/protocol/documents';
import type { PlanAction } from '@tidegate/protocol/plan';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { listCommands } from '../commands/store.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { findUpdate, readHistory } from '../updates/store.ts';
import { planDigest } from '../updates/store-plan.ts';
import { transitionUpdate } from '../updates/transition-update.ts';

const OVERRIDE = { override_supply_chain: true, override_reason: 'needed tonight' };

async function eventsOf({ database }: ApprovalsApp, type: string) {
  const rows = await database.read.selectFrom('events').selectAll().where('type', '=', type).execute();
  return rows.map((row) => ({ ...row, content: JSON.parse(row.content) }));
}

async function stateOf({ database }: ApprovalsApp, id: string) {
  return (await findUpdate(database.read, id))?.state;
}

async function commandsOf({ database }: ApprovalsApp, updateId: string) {
  return listCommands(database.read, { filter: { updateId }, scope: null, limit: 100, before: null });
}

function approvalsOf({ database }: ApprovalsApp) {
  return database.read.selectFrom('approvals').selectAll().execute();
}

/** The verdict that the signed token states. */
function verdictOf({ body }: { body: { token: { payload: string } } }) {
  const payload: unknown = JSON.parse(Buffer.from(body.token.payload, 'base64').toString());
  return Value.Parse(ApprovalPayload, payload).verdict;
}

describe.each(ENGINES)('approving one update (E3) on $name', (engine) => {
  test('a clear closure is minted: a signed token that binds the artifact hashes (A4), with command and events', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    const answer = await it.approve(id);
    expect(answer).toMatchObject({ status: 200, body: { update_id: id, state: 'approved', warnings: [] } });

    const signer = it.keyRing.signer();
    const [row] = await approvalsOf(it);
    const payload = Buffer.from(answer.body.token.payload, 'base64');
    const approval: unknown = JSON.parse(payload.toString());
    if (!Value.Check(ApprovalPayload, approval)) throw new Error('not an approval');
    expect(answer.body.token).toMatchObject({
      payloadType: APPROVAL_TYPE,
      signatures: [{ keyid: signer.keyId }],
    });
    expect(approval).toMatchObject({
      agent_id: it.agentId,
      fleet_id: it.keyRing.fleetId,
      updates: [{ update_id: id, name: 'openssl', from_version: '1.0.0-1', to_version: '3.0.12-1' }],
      actions: [{ artifact: { sha256: 'a'.repeat(64), size_bytes: 10 } }],
      plan_sha256: planDigest({ actions: approval.actions }),
      verdict: { vulnerability: 'clear', age: 'not_applicable', source: 'api' },
      override: null,
      issued_at: '2026-11-21T09:00:00Z',
      expires_at: '2026-11-28T09:00:00Z',
    });
    const sha256 = createHash('sha256').update(payload).digest('hex');
    expect(row).toMatchObject({ token_id: approval.token_id, payload_sha256: sha256, approved_by: 'ada' });
    expect(await commandsOf(it, id)).toMatchObject([
      {
        action: 'install_update',
        approval_id: approval.token_id,
        approval_sha256: sha256,
        status: 'pending',
      },
    ]);
    expect(await eventsOf(it, 'update_approved')).toMatchObject([{ actor: 'ada', agent_id: it.agentId }]);
    expect(await eventsOf(it, 'supply_chain_override')).toEqual([]);
    const [step] = await readHistory(it.database.read, id);
    expect(step).toMatchObject({ from_state: 'pending', to_state: 'approved', actor: 'ada' });
  });

  test('A1: a vulnerability anywhere in the closure is 409, and nothing is minted', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable({ name: 'zlib', version: '1.2-1' });
    const { from_version: _, ...installed } = actionOf({ name: 'zlib', version: '1.2-1' });
    const plan: PlanAction[] = [
      actionOf({ name: 'openssl', version: '3.0.12-1' }),
      { ...installed, action: 'install' },
    ];
    const id = await it.addUpdate({ plan });
    const answer = await it.approve(id);
    expect(answer).toMatchObject({
      status: 409,
      code: 'approval_blocked',
      body: {
        update_id: id,
        package: { ecosystem: 'apt', name: 'openssl', version: '3.0.12-1' },
        blocked_by: 'vulnerability',
        overridable: true,
        reason: 'known_vulnerability',
        introduces: [
          {
            package: 'zlib',
            version: '1.2-1',
            id: 'CVE-1',
            in_closure: 'dependency',
            summary: 'bad',
          },
        ],
        ...{ stays: [], fixes: [], fixes_complete: false, unchecked: null },
        age: null,
        verdict: 'vulnerable',
        source: 'api',
        snapshot: null,
        checked_at: '2026-11-21T09:00:00.000Z',
      },
    });
    expect(await stateOf(it, id)).toBe('pending');
    expect(await approvalsOf(it)).toEqual([]);
    expect(await commandsOf(it, id)).toEqual([]);
    expect(it.keyRing.signatures).toBe(0);
    expect(await eventsOf(it, 'approval_blocked')).toMatchObject([
      {
        component: 'security',
        actor: 'ada',
        content: { update_id: id, blocked_by: 'vulnerability', introduces: [{ id: 'CVE-1' }] },
      },
    ]);
    expect(
      it.platform.lines.filter((line) =>
        line.startsWith('[SECURITY] [server] [supply_chain] approval_blocked'),
      ),
    ).toHaveLength(1);
  });

  test.each(['down', 'garbage', 'hang', 'failing'] as const)(
    'A2: a source that is %s stops apt and lets npm pass with a warning',
    async (mode) => {
      const it = await createApprovalsApp(engine, mode === 'hang' ? { osvMs: 60 } : {});
      it.osv.mode = mode;
      const apt = await it.addUpdate();
      expect(await it.approve(apt)).toMatchObject({
        status: 409,
        body: { blocked_by: 'unchecked', reason: 'unreachable', overridable: true, verdict: 'unchecked' },
      });
      const npm = await it.addUpdate({ ecosystem: 'npm', name: 'left', version: '1.0.0' });
      expect(await it.approve(npm)).toMatchObject({
        status: 200,
        body: { warnings: [{ code: 'closure_unchecked' }] },
      });
      expect(await approvalsOf(it)).toHaveLength(1);
    },
  );

  test.each([
    ['page-token-without-vulns', 409],
    ['refuse-batch', 409],
  ] as const)('a source that answers by %s is read to the end', async (mode, status) => {
    const it = await createApprovalsApp(engine);
    it.vulnerable();
    it.osv.mode = mode;
    expect(await it.approve(await it.addUpdate())).toMatchObject({ status, body: { verdict: 'vulnerable' } });
  });

  test('A2: apt without a source name is undecidable, a third-party archive uncovered', async () => {
    const it = await createApprovalsApp(engine);
    const { source_name: _, ...bare } = actionOf({ name: 'openssl', version: '3.0.12-1' });
    const undecidable = await it.approve(await it.addUpdate({ plan: [bare] }));
    expect(undecidable.body).toMatchObject({ blocked_by: 'unchecked', reason: 'undecidable' });
    const foreign = actionOf({ name: 'docker', version: '1.0-1', fields: { origin: 'Docker CE:bookworm' } });
    const uncovered = await it.approve(
      await it.addUpdate({ name: 'docker', version: '1.0-1', plan: [foreign] }),
    );
    expect(uncovered.body).toMatchObject({ blocked_by: 'unchecked', reason: 'uncovered' });
  });

  test('SERVICE_SUPPLY_CHAIN_UNCOVERED=warn lets an operator pass where no database covers the distribution', async () => {
    const it = await createApprovalsApp(engine, { settings: { uncovered: 'warn' } });
    it.osv.covered.delete('Debian:12');
    expect(await it.approve(await it.addUpdate())).toMatchObject({
      status: 200,
      body: { warnings: [{ code: 'distribution_uncovered' }] },
    });
  });

  test('SERVICE_SUPPLY_CHAIN_UNCHECKED=block stops npm and PyPI too, and an override passes it (A3)', async () => {
    const it = await createApprovalsApp(engine, { settings: { unchecked: 'block' } });
    it.osv.mode = 'down';
    const stopped = { blocked_by: 'unchecked', reason: 'unreachable', overridable: true };
    for (const ecosystem of ['npm', 'pypi'] as const) {
      const id = await it.addUpdate({ ecosystem, name: 'left', version: '1.0.0' });
      expect(await it.approve(id)).toMatchObject({ status: 409, body: stopped });
      expect(await it.approve(id, OVERRIDE)).toMatchObject({ status: 200 });
    }
    expect(await approvalsOf(it)).toHaveLength(2);
  });

  test('an approval that was not fully checked is a warning in the log, and says why in the event and in the token', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable();
    const clear = await it.approve(await it.addUpdate({ name: 'zlib', version: '1.3-1' }));
    const { source_name: _, ...bare } = actionOf({ name: 'curl', version: '8-1' });
    const plan = [actionOf({ name: 'openssl', version: '3.0.12-1' }), bare];
    const mixed = await it.approve(await it.addUpdate({ plan }), OVERRIDE);
    it.osv.mode = 'down';
    const npm = await it.approve(await it.addUpdate({ ecosystem: 'npm', name: 'left', version: '1.0.0' }));
    expect([clear, mixed, npm].map(verdictOf)).toMatchObject([
      { vulnerability: 'clear' },
      { vulnerability: 'vulnerable', unchecked: 'undecidable' },
      { vulnerability: 'unchecked', unchecked: 'unreachable' },
    ]);
    expect(verdictOf(clear)).not.toHaveProperty('unchecked');
    expect(await eventsOf(it, 'update_approved')).toMatchObject([
      { severity: 'info', content: { verdict: 'clear', unchecked: null } },
      { severity: 'warning', content: { verdict: 'vulnerable', unchecked: 'undecidable' } },
      { severity: 'warning', content: { verdict: 'unchecked', unchecked: 'unreachable' } },
    ]);
  });

  test('A3, A4, A5: an override with a reason mints, still binds the hashes, and leaves its event and log line', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable();
    const id = await it.addUpdate();
    const answer = await it.approve(id, OVERRIDE);
    expect(answer.status).toBe(200);
    const [event] = await eventsOf(it, 'supply_chain_override');
    expect(event).toMatchObject({
      kind: 'system',
      component: 'security',
      actor: 'ada',
      content: {
        package: { ecosystem: 'apt', name: 'openssl', version: '3.0.12-1' },
        cause: { blocked_by: 'vulnerability', reason: 'known_vulnerability', introduces: [{ id: 'CVE-1' }] },
        reason: 'needed tonight',
        update_id: id,
        actor: 'ada',
      },
    });
    const approval = JSON.parse(Buffer.from(answer.body.token.payload, 'base64').toString());
    expect(approval.override).toEqual({
      by: 'ada',
      reason_sha256: createHash('sha256').update('needed tonight').digest('hex'),
      event_id: event?.id,
    });
    expect(approval.actions[0].artifact.sha256).toBe('a'.repeat(64));
    expect(approval.verdict.vulnerability).toBe('vulnerable');
    expect(await approvalsOf(it)).toMatchObject([{ override_by: 'ada', override_reason: 'needed tonight' }]);
    expect(
      it.platform.lines.filter((line) =>
        line.startsWith('[SECURITY] [server] [supply_chain] gate_overridden'),
      ),
    ).toHaveLength(1);
  });

  test.each([
    ['absent', { override_supply_chain: true }],
    ['empty', { override_supply_chain: true, override_reason: '' }],
    ['blank', { override_supply_chain: true, override_reason: ' \t\n' }],
  ])('A3: a reason that is %s is 400 and mints nothing', async (_what, body) => {
    const it = await createApprovalsApp(engine);
    it.vulnerable();
    expect(await it.approve(await it.addUpdate(), body)).toMatchObject({
      status: 400,
      code: 'override_reason_required',
    });
    expect(await approvalsOf(it)).toEqual([]);
    expect(await eventsOf(it, 'supply_chain_override')).toEqual([]);
  });

  test.each([
    [{ override_supply_chain: 'true', override_reason: 'x' }],
    [{ override_supply_chain: true, override_reason: 'x', skip_verify: true }],
    [{ not_before: 'tomorrow' }],
    [{ not_before: '2026-13-45T00:00:00Z' }],
    [[]],
  ])('a body of another form is 400: %j', async (body) => {
    const it = await createApprovalsApp(engine);
    expect(await it.approve(await it.addUpdate(), body)).toMatchObject({
      status: 400,
      code: 'invalid_request',
    });
    expect(await approvalsOf(it)).toEqual([]);
  });

  test('an unneeded override mints without one and warns, and leaves no override event', async () => {
    const it = await createApprovalsApp(engine);
    const answer = await it.approve(await it.addUpdate(), OVERRIDE);
    expect(answer).toMatchObject({ status: 200, body: { warnings: [{ code: 'override_not_needed' }] } });
    expect(await eventsOf(it, 'supply_chain_override')).toEqual([]);
    expect(await approvalsOf(it)).toMatchObject([{ override_by: null, override_reason: null }]);
  });

  test('of 50 approvals at once one mints a token, the others are 409 conflict', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    const answers = await Promise.all(Array.from({ length: 50 }, () => it.approve(id)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    expect(answers.filter(({ status, code }) => status === 409 && code === 'conflict')).toHaveLength(49);
    expect(await approvalsOf(it)).toHaveLength(1);
    expect(await commandsOf(it, id)).toHaveLength(1);
    expect(await eventsOf(it, 'update_approved')).toHaveLength(1);
  });

  test('a decision that fails midway leaves nothing behind', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable();
    const id = await it.addUpdate();
    const signer = it.keyRing.signer;
    it.keyRing.signer = () => ({
      ...signer(),
      sign: () => {
        throw new Error('no key');
      },
    });
    expect((await it.approve(id, OVERRIDE)).status).toBe(500);
    it.keyRing.signer = signer;
    expect(await stateOf(it, id)).toBe('pending');
    expect(await eventsOf(it, 'supply_chain_override')).toEqual([]);
    expect(await commandsOf(it, id)).toEqual([]);
  });

  test('without a plan: 202, the agent is asked for one, once; an override is 409 plan_required', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate({ plan: null });
    expect(await it.approve(id, OVERRIDE)).toMatchObject({ status: 409, code: 'plan_required' });
    expect(await stateOf(it, id)).toBe('pending');
    for (let i = 0; i < 2; i++) {
      expect(await it.approve(id)).toMatchObject({
        status: 202,
        body: { update_id: id, state: 'awaiting_plan' },
      });
    }
    const commands = await commandsOf(it, id);
    expect(commands.map(({ action, params }) => [action, JSON.parse(params)])).toEqual([
      [
        'plan_update',
        { ecosystem: 'apt', updates: [{ update_id: id, name: 'openssl', to_version: '3.0.12-1' }] },
      ],
    ]);
    expect(it.osv.requests).toEqual([]);
  });

  test('a closure not judged in time is 503 verdict_pending, also for an override', async () => {
    const it = await createApprovalsApp(engine, { waitMs: 20 });
    it.osv.mode = 'hang';
    const id = await it.addUpdate();
    for (const body of [undefined, OVERRIDE]) {
      const answer = await it.approve(id, body);
      expect(answer).toMatchObject({ status: 503, code: 'verdict_pending' });
      expect(Number(answer.headers['retry-after'])).toBeGreaterThan(0);
    }
    expect(await approvalsOf(it)).toEqual([]);
  });

  test('SERVICE_ADVISORY_SOURCE=off: apt is unchecked', async () => {
    const it = await createApprovalsApp(engine, { settings: { advisorySource: 'off' } });
    expect(await it.approve(await it.addUpdate())).toMatchObject({
      status: 409,
      body: { blocked_by: 'unchecked' },
    });
    expect(it.osv.requests).toEqual([]);
  });

  test('not_before is stored with the command and the update, and the approval lives seven days from then', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await it.approve(id, { not_before: '2026-11-23T00:00:00Z' });
    const notBeforeMs = Date.parse('2026-11-23T00:00:00Z');
    expect(await commandsOf(it, id)).toMatchObject([{ not_before: notBeforeMs }]);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ not_before: notBeforeMs });
    expect(await approvalsOf(it)).toMatchObject([{ expires_at: Date.parse('2026-11-30T00:00:00Z') }]);
  });

  test.each(['approved', 'installing', 'installed', 'failed', 'rejected', 'superseded'])(
    'an update that is %s is 409 conflict',
    async (state) => {
      const it = await createApprovalsApp(engine);
      expect(await it.approve(await it.addUpdate({ state }))).toMatchObject({
        status: 409,
        code: 'conflict',
      });
    },
  );

  test('an unknown update is 404, and one of a revoked agent 409', async () => {
    const it = await createApprovalsApp(engine);
    expect((await it.approve('01900000-0000-7000-8000-ffffffffffff')).status).toBe(404);
    const id = await it.addUpdate();
    await it.database.transact((tx) => tx.updateTable('agents').set({ status: 'revoked' }).execute());
    expect(await it.approve(id)).toMatchObject({ status: 409, code: 'conflict' });
  });

  test('reading 4: introduced blocks only vulnerabilities that the host does not have', async () => {
    const it = await createApprovalsApp(engine, { settings: { vulnerabilityPolicy: 'introduced' } });
    it.vulnerable({ id: 'OLD-1', version: '3.0.12-1' });
    it.osv.addRecord({ id: 'OLD-1' }, [{ ecosystem: 'Debian:12', name: 'openssl', all: true }]);
    await it.database.transact((tx) =>
      insertInstalled(tx, {
        agent_id: it.agentId,
        ecosystem: 'apt',
        name: 'openssl',
        arch: '',
        version: '1.0.0-1',
        source_name: 'openssl',
        source_version: '1.0.0-1',
        origin: null,
        held: 0,
      }),
    );
    expect((await it.approve(await it.addUpdate())).status).toBe(200);
    it.vulnerable({ id: 'NEW-1', version: '3.0.13-1' });
    expect(await it.approve(await it.addUpdate({ version: '3.0.13-1' }))).toMatchObject({
      status: 409,
      body: {
        introduces: [{ id: 'NEW-1' }],
        stays: [{ id: 'OLD-1' }],
      },
    });
  });
});

describe.each(ENGINES)('the age gate (A7) on $name', (engine) => {
  const npm = { ecosystem: 'npm' as const, name: 'left', version: '2.0.0' };
  async function release(
    { database, platform }: ApprovalsApp,
    name: string,
    version: string,
    ageHours: number | null,
  ) {
    const published_at = ageHours === null ? null : platform.now() - ageHours * 3_600_000;
    const row = {
      ecosystem: 'npm',
      name,
      version,
      artifact: '',
      published_at,
      standing: 'unknown' as const,
      source: 'registry',
      fetched_at: platform.now(),
    };
    await database.transact((tx) => tx.insertInto('release_times').values(row).execute());
  }

  test('block: too young anywhere in the closure is 409 by age, which no override passes', async () => {
    const it = await createApprovalsApp(engine, { settings: { gateEnforcement: 'block' } });
    const plan = [actionOf(npm), actionOf({ ...npm, name: 'dep', version: '1.0.0' })];
    await release(it, 'left', '2.0.0', 100);
    await release(it, 'dep', '1.0.0', 71.5);
    it.vulnerable({ ecosystem: 'npm', name: 'left', version: '2.0.0' });
    const id = await it.addUpdate({ ...npm, plan });
    for (const body of [undefined, OVERRIDE]) {
      expect(await it.approve(id, body)).toMatchObject({
        status: 409,
        body: {
          blocked_by: 'age',
          reason: 'too_young',
          overridable: false,
          age: {
            minimum_hours: 72,
            violations: [
              { package: 'dep', version: '1.0.0', age_hours: 71.5, published_at: '2026-11-18T09:30:00.000Z' },
            ],
          },
        },
      });
    }
    expect(await approvalsOf(it)).toEqual([]);
    expect(await eventsOf(it, 'supply_chain_override')).toEqual([]);
  });

  test('block: an unknown age is a violation, in warn it is shown, off ignores it', async () => {
    const block = await createApprovalsApp(engine, { settings: { gateEnforcement: 'block' } });
    expect((await block.approve(await block.addUpdate(npm))).body).toMatchObject({
      blocked_by: 'age',
      reason: 'unknown_age',
      age: { violations: [{ published_at: null, age_hours: null }] },
    });
    const warn = await createApprovalsApp(engine);
    await release(warn, 'left', '2.0.0', null);
    expect(await warn.approve(await warn.addUpdate(npm))).toMatchObject({
      status: 200,
      body: { warnings: [{ code: 'age_violation' }] },
    });
    const off = await createApprovalsApp(engine, { settings: { gateEnforcement: 'off' } });
    const answer = await off.approve(await off.addUpdate(npm));
    expect(answer).toMatchObject({ status: 200, body: { warnings: [] } });
    const approval = JSON.parse(Buffer.from(answer.body.token.payload, 'base64').toString());
    expect(approval.verdict.age).toBe('off');
  });

  test('an exception passes exactly name@version, is audited, expires, and can be ended (reading 1)', async () => {
    const it = await createApprovalsApp(engine, { settings: { gateEnforcement: 'block' } });
    const url = '/api/v1/admin/age-exceptions';
    const body = { ...npm, reason: 'security fix', expires_at: '2026-11-22T09:00:00Z' };
    const made = await it.call('POST', url, body);
    expect(made).toMatchObject({
      status: 201,
      body: { ...body, created_by: 'ada', expires_at: '2026-11-22T09:00:00.000Z' },
    });
    expect(await eventsOf(it, 'age_exception_added')).toMatchObject([
      { actor: 'ada', content: { reason: 'security fix' } },
    ]);
    expect((await it.approve(await it.addUpdate(npm))).status).toBe(200);
    expect((await it.approve(await it.addUpdate({ ...npm, version: '2.0.1' }))).status).toBe(409);
    expect((await it.call('GET', url)).body).toMatchObject({
      total: 1,
      items: [{ id: made.body.id }],
      next_cursor: null,
    });
    expect((await it.call('DELETE', `${url}/${made.body.id}`)).status).toBe(204);
    expect((await it.call('DELETE', `${url}/${made.body.id}`)).status).toBe(404);
    await it.call('POST', url, { ...body, name: 'right' });
    it.clock.advance(24 * 3_600_000);
    expect((await it.approve(await it.addUpdate({ ...npm, name: 'right' }))).body.blocked_by).toBe('age');
  });

  test.each([
    [{ reason: ' ' }],
    [{ expires_at: '2026-11-21T09:00:00Z' }],
    [{ expires_at: '2030-01-01T00:00:00Z' }],
    [{ ecosystem: 'apt' }],
    [{ version: '' }],
  ])('an exception of %j is 400', async (fields) => {
    const it = await createApprovalsApp(engine);
    const body = { ...npm, reason: 'x', expires_at: '2026-11-22T09:00:00Z', ...fields };
    expect((await it.call('POST', '/api/v1/admin/age-exceptions', body)).status).toBe(400);
  });
});

describe.each(ENGINES)('preview, gate, reject and reopen on $name', (engine) => {
  test('preview returns the object of the refusal, mints nothing and leaves no event', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable();
    const id = await it.addUpdate();
    const preview = await it.call('POST', `/api/v1/updates/${id}/preview`);
    expect(preview).toMatchObject({ status: 200, body: { blocked_by: 'vulnerability', overridable: true } });
    expect(await eventsOf(it, 'approval_blocked')).toEqual([]);
    const {
      type: _,
      title: __,
      status: ___,
      code: ____,
      detail: _____,
      request_id: ______,
      ...members
    } = (await it.approve(id)).body;
    expect(members).toEqual(preview.body);
    expect(await it.gateOf(id)).toEqual(preview.body);
  });

  test('when nothing blocks, blocked_by and reason are null; an unknown plan is unchecked', async () => {
    const it = await createApprovalsApp(engine);
    const clear = await it.call('POST', `/api/v1/updates/${await it.addUpdate()}/preview`);
    expect(clear.body).toMatchObject({
      blocked_by: null,
      reason: null,
      overridable: false,
      verdict: 'clear',
    });
    const id = await it.addUpdate({ name: 'other', plan: null });
    expect(await it.gateOf(id)).toMatchObject({ blocked_by: null, verdict: 'unchecked', checked_at: null });
    expect(
      (await it.call('POST', '/api/v1/updates/01900000-0000-7000-8000-ffffffffffff/preview')).status,
    ).toBe(404);
  });

  test('reading the gate of an update queries no source', async () => {
    const it = await createApprovalsApp(engine);
    expect(await it.gateOf(await it.addUpdate())).toMatchObject({ blocked_by: null, verdict: 'unchecked' });
    expect(it.osv.requests).toEqual([]);
  });

  test('reject and reopen, each with its history', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate({ plan: null });
    await it.approve(id);
    const rejected = await it.call('POST', `/api/v1/updates/${id}/reject`, { reason: 'not now' });
    expect(rejected).toMatchObject({ status: 200, body: { update_id: id, state: 'rejected' } });
    expect(await commandsOf(it, id)).toMatchObject([{ action: 'plan_update', status: 'cancelled' }]);
    expect((await it.call('POST', `/api/v1/updates/${id}/reject`)).code).toBe('conflict');
    const reopened = await it.call('POST', `/api/v1/updates/${id}/reopen`);
    expect(reopened).toMatchObject({ status: 200, body: { update_id: id, state: 'pending' } });
    const history = await readHistory(it.database.read, id);
    expect(history.map((row) => [row.to_state, row.reason, row.actor])).toEqual([
      ['pending', null, 'ada'],
      ['rejected', 'not now', 'ada'],
      ['awaiting_plan', null, 'ada'],
    ]);
    expect(
      (await it.call('POST', '/api/v1/updates/01900000-0000-7000-8000-ffffffffffff/reopen')).status,
    ).toBe(404);
  });

  test('reopen withdraws an approval: its command is cancelled, its token void, and it can be approved again', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await it.approve(id);
    const [first] = await approvalsOf(it);
    const fetchToken = (tokenId = '') =>
      it.app.inject({
        method: 'GET',
        url: `/api/v1/agents/${it.agentId}/approvals/${tokenId}`,
        headers: { 'x-test-agent': it.agentId, 'x-test-family': it.familyId, 'x-machine-id': 'machine-1' },
      });
    expect((await fetchToken(first?.token_id)).statusCode).toBe(200);
    expect((await it.call('POST', `/api/v1/updates/${id}/reopen`)).status).toBe(200);
    expect((await fetchToken(first?.token_id)).statusCode).toBe(404);
    expect(await commandsOf(it, id)).toMatchObject([{ status: 'cancelled' }]);
    expect(await approvalsOf(it)).toMatchObject([{ void_reason: 'taken_back' }]);
    expect((await it.approve(id)).status).toBe(200);
    expect(await approvalsOf(it)).toHaveLength(2);
  });

  test('an approval whose command the agent has acknowledged cannot be withdrawn', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await it.approve(id);
    await it.database.transact((tx) =>
      tx.updateTable('agent_commands').set({ status: 'received' }).execute(),
    );
    expect((await it.call('POST', `/api/v1/updates/${id}/reopen`)).code).toBe('conflict');
    expect(await stateOf(it, id)).toBe('approved');
  });

  test('the token is for its own agent only: the path of another is 404', async () => {
    const it = await createApprovalsApp(engine);
    await it.approve(await it.addUpdate());
    const [row] = await approvalsOf(it);
    const other = '01900000-0000-7000-8000-0000000000ff';
    const headers = { 'x-test-agent': it.agentId, 'x-test-family': it.familyId, 'x-machine-id': 'machine-1' };
    const get = (agentId: string, tokenId = '') =>
      it.app.inject({ method: 'GET', url: `/api/v1/agents/${agentId}/approvals/${tokenId}`, headers });
    expect((await get(other, row?.token_id)).statusCode).toBe(404);
    expect((await get(it.agentId, other)).statusCode).toBe(404);
    const own = await get(it.agentId, row?.token_id);
    expect(own.json()).toEqual(JSON.parse(row?.envelope ?? ''));
    it.clock.advance(7 * 24 * 3_600_000);
    expect((await get(it.agentId, row?.token_id)).statusCode).toBe(404);
  });

  test('an update that changed state is not minted from an earlier judgement', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate({ ecosystem: 'npm', name: 'left', version: '2.0.0' });
    const release = it.osv.hold();
    const pending = it.approve(id);
    while (it.osv.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await it.database.transact((tx) =>
      transitionUpdate(tx, it.platform, { updateId: id, from: ['pending'], to: 'superseded', actor: 'scan' }),
    );
    release();
    expect(await pending).toMatchObject({ status: 409, code: 'conflict' });
    expect(await stateOf(it, id)).toBe('superseded');
  });

  test('a plan that changes while it is judged is judged again: the token binds the new one', async () => {
    const it = await createApprovalsApp(engine);
    const npm = { ecosystem: 'npm' as const, name: 'left', version: '2.0.0' };
    const id = await it.addUpdate(npm);
    it.vulnerable({ ecosystem: 'npm', name: 'dep', version: '1.0.0' });
    const release = it.osv.hold();
    const pending = it.approve(id);
    while (it.osv.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    const actions = [actionOf(npm), actionOf({ ...npm, name: 'dep', version: '1.0.0' })];
    await it.addPlan([id], actions);
    release();
    expect(await pending).toMatchObject({ status: 409, body: { introduces: [{ package: 'dep' }] } });
    expect(await approvalsOf(it)).toEqual([]);
  });
});
