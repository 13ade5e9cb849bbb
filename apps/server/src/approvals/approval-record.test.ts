import { randomBytes } from 'node:crypto';
import type { ApprovalRecord } from '@tidegate/protocol/approval-record-api';
import type { Envelope } from '@tidegate/protocol/documents';
import { countersign, generatePrivateKeyHex, loadSigningKey } from '@tidegate/signing/sign';
import { startFakeNpmMetadata } from '@tidegate/testkit/fake-npm-metadata';
import { sql } from 'kysely';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { sweepOnce } from './sweep.ts';

const REASON = 'needed tonight: ticket 7';
const OVERRIDE = { override_supply_chain: true, override_reason: REASON };
const ops = loadSigningKey({ keyId: 'ops', privateKeyHex: generatePrivateKeyHex(randomBytes(32)) });

/** What somebody does who can write to the database, and so can drop its triggers. */
async function tamper({ database }: ApprovalsApp, statement: string): Promise<void> {
  const unguarded =
    database.engine === 'postgres'
      ? ['ALTER TABLE events DISABLE TRIGGER USER']
      : ['DROP TRIGGER IF EXISTS events_no_update', 'DROP TRIGGER IF EXISTS events_no_delete'];
  await database.transact(async (tx) => {
    for (const one of [...unguarded, statement]) await sql.raw(one).execute(tx);
  });
}

describe.each(ENGINES)('how an update came to be approved (GET approval) on $name', (engine) => {
  async function scene(options: Parameters<typeof createApprovalsApp>[1] = {}) {
    const it = await createApprovalsApp(engine, options);
    const recordOf = async (id: string, headers: Record<string, string> = {}): Promise<ApprovalRecord> => {
      const answer = await it.app.inject({ url: `/api/v1/updates/${id}/approval`, headers });
      expect(answer.statusCode, answer.body).toBe(200);
      return answer.json().approval;
    };
    const overridden = async () => {
      it.vulnerable();
      const id = await it.addUpdate();
      const { token }: { token: Envelope } = (await it.approve(id, OVERRIDE)).body;
      return { id, token };
    };
    return { ...it, recordOf, overridden };
  }

  test('without an approval there is none, and without the update it is 404', async () => {
    const it = await scene();
    expect(await it.recordOf(await it.addUpdate())).toBeNull();
    expect((await it.call('GET', `/api/v1/updates/${it.agentId}/approval`)).status).toBe(404);
  });

  test('says who approved, through what, and that the server signed exactly this', async () => {
    const it = await scene();
    const single = await it.addUpdate();
    const { token } = (await it.approve(single)).body;
    const { token_id } = JSON.parse(Buffer.from(token.payload, 'base64').toString());
    expect(await it.recordOf(single)).toEqual({
      ...{ token_id, sha256: expect.stringMatching(/^[0-9a-f]{64}$/), key_id: it.keyRing.signer().keyId },
      ...{ approved_by: 'ada', approved_at: new Date(it.clock.now()).toISOString(), signed: 'good' },
      event_id: expect.any(String),
      ...{ second_signatures: [], via: 'approve', bulk: null, updates: 1, override: null, policy: null },
      ...{ age_exceptions: { total: 0, items: [] }, origins: [] },
    });
    const approvedEvent = async (id: string) => {
      const { event_id } = await it.recordOf(id);
      const events = it.database.read.selectFrom('events').selectAll();
      const { type, content } = await events.where('id', '=', event_id).executeTakeFirstOrThrow();
      return { type, token: JSON.parse(content).token_id };
    };
    expect(await approvedEvent(single)).toEqual({ type: 'update_approved', token: token_id });
    const names = ['curl', 'vim'];
    const many = await Promise.all(names.map((name) => it.addUpdate({ name, plan: null })));
    await it.addPlan(
      many,
      names.map((name) => actionOf({ name, version: '3.0.12-1' })),
    );
    await it.call('POST', '/api/v1/updates/approve', { update_ids: many });
    expect(await it.recordOf(many[0] ?? '')).toMatchObject({ via: 'bulk', updates: 2, approved_by: 'ada' });
    const later = await it.addUpdate({ name: 'zlib', plan: null });
    await it.approve(later);
    await it.addPlan([later], [actionOf({ name: 'zlib', version: '3.0.12-1' })]);
    await sweepOnce(it.deps);
    expect(await it.recordOf(later)).toMatchObject({ via: 'sweep', approved_by: 'ada', signed: 'good' });
  });

  test('a second signature says who gave it and when', async () => {
    const it = await scene();
    const id = await it.addUpdate();
    const { token }: { token: Envelope } = (await it.approve(id)).body;
    it.clock.advance(60_000);
    const body = countersign(ops, token).signatures.at(-1);
    const answer = await it.app.inject({
      ...{ method: 'POST', url: `/api/v1/updates/${id}/countersign`, payload: body ?? {} },
      headers: { 'x-test-operator': 'grace' },
    });
    expect(answer.statusCode).toBe(200);
    const given = { keyid: 'ops', given_by: 'grace', given_at: new Date(it.clock.now()).toISOString() };
    expect(await it.recordOf(id)).toMatchObject({
      ...{ signed: 'good', approved_by: 'ada' },
      second_signatures: [{ ...given, event_id: expect.any(String), on_approval: true, is_given: true }],
    });
    // Taken off the stored approval: the event still says that it was given.
    await tamper(it, `UPDATE approvals SET envelope = '${JSON.stringify(token)}'`);
    expect((await it.recordOf(id)).second_signatures).toMatchObject([{ ...given, on_approval: false }]);
    // Another signature in its place, under the same key.
    const other = { ...body, sig: Buffer.alloc(64, 7).toString('base64') };
    const swapped = { ...token, signatures: [...token.signatures, other] };
    await tamper(it, `UPDATE approvals SET envelope = '${JSON.stringify(swapped)}'`);
    expect((await it.recordOf(id)).second_signatures).toMatchObject([
      { ...given, on_approval: true, is_given: false },
    ]);
    // Both: the event goes with the one that it is about.
    const both = { ...token, signatures: [...token.signatures, other, body] };
    await tamper(it, `UPDATE approvals SET envelope = '${JSON.stringify(both)}'`);
    expect((await it.recordOf(id)).second_signatures).toMatchObject([
      { keyid: 'ops', given_by: null, is_given: null },
      { ...given, is_given: true },
    ]);
    // Put there without the server: nobody is on record for it.
    const added = { ...token, signatures: [...token.signatures, { ...body, keyid: 'who' }] };
    await tamper(it, `UPDATE approvals SET envelope = '${JSON.stringify(added)}'`);
    expect((await it.recordOf(id)).second_signatures).toMatchObject([
      { keyid: 'who', given_by: null, given_at: null, event_id: null, on_approval: true, is_given: null },
      { ...given, on_approval: false, is_given: null },
    ]);
    // An event of an older server has no hash of the signature.
    await tamper(it, `UPDATE approvals SET envelope = '${JSON.stringify(swapped)}'`);
    await tamper(
      it,
      `UPDATE events SET content = replace(content, '"sig_sha256"', '"was"') WHERE type = 'approval_countersigned'`,
    );
    expect((await it.recordOf(id)).second_signatures).toMatchObject([
      { ...given, on_approval: true, is_given: null },
    ]);
  });

  test('what was approved together names its one act, also where the plan came later', async () => {
    const it = await scene();
    const now = await it.addUpdate({ name: 'vim' });
    const later = await it.addUpdate({ name: 'zlib', plan: null });
    await it.call('POST', '/api/v1/updates/approve', { update_ids: [now, later] });
    await it.addPlan([later], [actionOf({ name: 'zlib', version: '3.0.12-1' })]);
    await sweepOnce(it.deps);
    const [act, ...others] = await it.database.read
      .selectFrom('events')
      .selectAll()
      .where('type', '=', 'bulk_approval_asked')
      .execute();
    expect(others).toEqual([]);
    expect(act).toMatchObject({ actor: 'ada', agent_id: null });
    expect(JSON.parse(act?.content ?? '')).toMatchObject({ update_count: 2, updates: [now, later] });
    const bulk = {
      ...{ id: act?.id, event_id: act?.id, updates: 2, is_logged: true },
      ...{ asked_by: 'ada', asked_at: expect.any(String), filter: null },
    };
    expect(await it.recordOf(now)).toMatchObject({ via: 'bulk', bulk });
    expect(await it.recordOf(later)).toMatchObject({ via: 'sweep', bulk });
    // The act names hosts of others: it is for operators of the whole fleet.
    const bound = { ...bulk, event_id: null, updates: null, asked_by: null, asked_at: null };
    expect((await it.recordOf(now, { 'x-test-groups': 'web' })).bulk).toEqual(bound);
    const single = await it.addUpdate({ name: 'curl' });
    await it.approve(single);
    expect((await it.recordOf(single)).bulk).toBeNull();
  });

  test('an act by a filter names it as people write it', async () => {
    const it = await scene();
    const id = await it.addUpdate({ name: 'vim' });
    const filter = { name: 'zlib', ecosystem: 'apt', open: true };
    await it.call('POST', '/api/v1/updates/approve', {
      filter: { q: 'vim', open: 'true' },
      confirm_count: 1,
    });
    expect((await it.recordOf(id)).bulk).toMatchObject({ updates: 1, filter: 'open:true q:vim' });
    const other = await it.addUpdate({ name: 'zlib' });
    await it.call('POST', '/api/v1/updates/approve', { filter, confirm_count: 1 });
    expect((await it.recordOf(other)).bulk).toMatchObject({ filter: 'open:true ecosystem:apt name:zlib' });
    const last = await it.addUpdate({ name: 'curl' });
    await it.call('POST', '/api/v1/updates/approve', { filter: { state: 'pending' }, confirm_count: 1 });
    expect((await it.recordOf(last)).bulk).toMatchObject({ filter: 'state:pending' });
  });

  test('an act that does not fit its event is said not to be the one', async () => {
    const it = await scene();
    const [id = '', other = ''] = [await it.addUpdate({ name: 'vim' }), await it.addUpdate({ name: 'curl' })];
    await it.call('POST', '/api/v1/updates/approve', { update_ids: [id] });
    const { bulk } = await it.recordOf(id);
    expect(bulk).toMatchObject({ is_logged: true });
    const change = (type: string, from: string, to: string) =>
      tamper(it, `UPDATE events SET content = replace(content, '${from}', '${to}') WHERE type = '${type}'`);
    // The act names another update.
    await change('bulk_approval_asked', id, other);
    expect((await it.recordOf(id)).bulk).toMatchObject({ is_logged: false });
    await change('bulk_approval_asked', other, id);
    // The event of the approval names another act, or another decision.
    await change('update_approved', bulk?.id ?? '', other);
    expect((await it.recordOf(id)).bulk).toMatchObject({ id: bulk?.id, is_logged: false });
    await change('update_approved', other, bulk?.id ?? '');
    expect((await it.recordOf(id)).bulk).toMatchObject({ is_logged: true });
    // Somebody else asked.
    await tamper(it, `UPDATE events SET actor = 'eve' WHERE type = 'bulk_approval_asked'`);
    expect((await it.recordOf(id)).bulk).toMatchObject({ asked_by: 'eve', is_logged: false });
    await tamper(it, `UPDATE events SET actor = 'ada' WHERE type = 'bulk_approval_asked'`);
    // Nothing can be told without the act's event.
    await tamper(it, `DELETE FROM events WHERE type = 'bulk_approval_asked'`);
    expect((await it.recordOf(id)).bulk).toEqual({
      ...{ id: bulk?.id, event_id: null, updates: null, is_logged: null },
      ...{ asked_by: null, asked_at: null, filter: null },
    });
    // An update that waits for its plan cannot be moved into another act in the database.
    const waits = await it.addUpdate({ name: 'zlib', plan: null });
    await it.call('POST', '/api/v1/updates/approve', { update_ids: [waits] });
    await tamper(it, `UPDATE awaited_updates SET bulk_id = NULL WHERE update_id = '${waits}'`);
    await it.addPlan([waits], [actionOf({ name: 'zlib', version: '3.0.12-1' })]);
    await sweepOnce(it.deps);
    expect(await it.recordOf(waits)).toBeNull();
  });

  test('the reason of an override is that of its event, and its hash is the signed one', async () => {
    const it = await scene();
    const { id } = await it.overridden();
    expect(await it.recordOf(id)).toMatchObject({
      signed: 'good',
      override: {
        ...{ by: 'ada', reason: REASON, reason_is_signed: true, blocked_by: 'vulnerability' },
        event_id: expect.any(String),
      },
    });
  });

  test('a reason that was changed is not the signed one, wherever it was changed', async () => {
    const it = await scene();
    const { id } = await it.overridden();
    const change = (text: string) =>
      tamper(
        it,
        `UPDATE events SET content = replace(content, '${REASON}', '${text}') WHERE type = 'supply_chain_override'`,
      );
    await change('harmless');
    expect((await it.recordOf(id)).override).toMatchObject({ reason: 'harmless', reason_is_signed: false });
    // Without its event the reason beside the approval counts, against the same hash.
    await tamper(it, `DELETE FROM events WHERE type = 'supply_chain_override'`);
    const told = { by: 'ada', event_id: null, blocked_by: 'vulnerability' };
    expect((await it.recordOf(id)).override).toEqual({ ...told, reason: REASON, reason_is_signed: true });
    await tamper(it, `UPDATE approvals SET override_reason = 'harmless'`);
    expect((await it.recordOf(id)).override).toEqual({
      ...told,
      reason: 'harmless',
      reason_is_signed: false,
    });
  });

  test('what cannot be compared is not said to be the same', async () => {
    const it = await scene();
    const { id } = await it.overridden();
    const rename = (from: string, to: string) =>
      tamper(it, `UPDATE decisions SET document = replace(document, '"${from}"', '"${to}"')`);
    await rename('ada', 'eve');
    expect(await it.recordOf(id)).toMatchObject({
      ...{ signed: 'good', via: null },
      override: { reason: REASON, reason_is_signed: null },
    });
    await rename('eve', 'ada');
    expect(await it.recordOf(id)).toMatchObject({ via: 'approve', override: { reason_is_signed: true } });
  });

  test('an approval that no key of the server signed, or that is another one, is said to be bad', async () => {
    const it = await scene();
    const { id, token } = await it.overridden();
    const other = await it.addUpdate({ name: 'curl' });
    const foreign: Envelope = (await it.approve(other)).body.token;
    const store = (envelope: object | string) =>
      tamper(
        it,
        `UPDATE approvals SET envelope = '${typeof envelope === 'string' ? envelope : JSON.stringify(envelope)}'
          WHERE token_id IN (SELECT token_id FROM approval_updates WHERE update_id = '${id}')`,
      );
    const [signature] = token.signatures;
    const payload = Buffer.from(
      Buffer.from(token.payload, 'base64').toString().replace('"by":"ada"', '"by":"eve"'),
    ).toString('base64');
    for (const envelope of ['{', { ...token, payload }, { ...token, signatures: [] }, foreign]) {
      await store(envelope);
      expect(await it.recordOf(id), JSON.stringify(envelope)).toMatchObject({
        signed: 'bad',
        override: { by: 'ada', reason: REASON, reason_is_signed: null },
      });
    }
    const stranger = countersign(ops, { ...token, signatures: [] });
    await store(stranger);
    expect(await it.recordOf(id)).toMatchObject({ signed: 'bad', second_signatures: [{ keyid: 'ops' }] });
    // A key of which nothing is on record proves nothing, and does not disprove it.
    await tamper(it, `UPDATE approvals SET key_id = '${id}'`);
    expect(await it.recordOf(id)).toMatchObject({ signed: 'unknown', override: { reason_is_signed: null } });
    // One that was rotated since still vouches for what it signed.
    await store({ ...token, signatures: signature ? [signature] : [] });
    it.keyRing.rotate();
    expect(await it.recordOf(id)).toMatchObject({ signed: 'good' });
  });

  test('what belongs to an earlier approval of the update counts for nothing', async () => {
    const it = await scene();
    const { id, token } = await it.overridden();
    const sign = countersign(ops, token).signatures.at(-1);
    expect((await it.call('POST', `/api/v1/updates/${id}/countersign`, sign)).status).toBe(200);
    const earlier = await it.recordOf(id);
    expect(earlier.second_signatures).toHaveLength(1);
    expect((await it.call('POST', `/api/v1/updates/${id}/reopen`)).status).toBe(200);
    expect((await it.approve(id, OVERRIDE)).status).toBe(200);
    const newer = await it.recordOf(id);
    expect(newer).toMatchObject({
      signed: 'good',
      second_signatures: [],
      override: { reason_is_signed: true },
    });
    expect(newer.token_id).not.toBe(earlier.token_id);
    await tamper(
      it,
      `UPDATE approvals SET envelope = '${JSON.stringify(token)}', payload_sha256 = '${earlier.sha256}'
        WHERE token_id = '${newer.token_id}'`,
    );
    expect((await it.recordOf(id)).signed).toBe('bad');
  });

  test('a key that was revoked before the approval vouches for nothing', async () => {
    const it = await scene();
    const { id } = await it.overridden();
    const { entries } = it.keyRing;
    const revokedAt = (ms: number) => {
      it.keyRing.entries = () =>
        entries().map((key) => ({ ...key, status: 'revoked', revoked_at: new Date(ms).toISOString() }));
    };
    revokedAt(it.clock.now() - 60_000);
    expect(await it.recordOf(id)).toMatchObject({ signed: 'bad', override: { reason_is_signed: null } });
    revokedAt(it.clock.now() + 60_000);
    expect(await it.recordOf(id)).toMatchObject({ signed: 'good', override: { reason_is_signed: true } });
  });

  test('an exception from the minimum age is named with its reason, for operators of the whole fleet', async () => {
    const npm = await startFakeNpmMetadata();
    const it = await scene({ settings: { gateEnforcement: 'block', npmRegistryUrl: npm.url } });
    onTestFinished(() => npm.stop());
    npm.publish('left', '2.0.0', new Date(it.clock.now() - 3_600_000).toISOString());
    const exception = { ecosystem: 'npm', name: 'left', version: '2.0.0', reason: 'fixes a hole' };
    const expires_at = new Date(it.clock.now() + 3_600_000).toISOString();
    const url = '/api/v1/admin/age-exceptions';
    const { id: exceptionId } = (await it.call('POST', url, { ...exception, expires_at })).body;
    const of = { ecosystem: 'npm', name: 'left', version: '2.0.0' } as const;
    const id = await it.addUpdate({ ...of, plan: [actionOf(of)] });
    expect((await it.approve(id)).status).toBe(200);
    const named = (created_by: string | null, reason: string | null) => ({
      age_exceptions: { total: 1, items: [{ package: 'left', version: '2.0.0', created_by, reason }] },
    });
    expect(await it.recordOf(id)).toMatchObject(named('ada', 'fixes a hole'));
    expect(await it.recordOf(id, { 'x-test-groups': 'web' })).toMatchObject(named(null, null));
    await it.call('DELETE', `${url}/${exceptionId}`);
    expect(await it.recordOf(id)).toMatchObject(named(null, null));
  });
});
