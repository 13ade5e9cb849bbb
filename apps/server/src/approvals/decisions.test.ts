import { createHash } from 'node:crypto';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { DecisionStatement } from '@tidegate/protocol/decisions-api';
import { loadTrustedKey } from '@tidegate/signing/verify';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { recordArtifacts } from '../artifacts/record-artifacts.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { type ApprovalsApp, actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { setDigest } from '../updates/update-set.ts';
import { insertDecisions } from './decision-store.ts';
import { readRecord } from './read-decision.ts';
import { DECISIONS_MAX } from './record-decision.ts';
import { replayDecision } from './replay-decision.ts';
import { sweepOnce } from './sweep.ts';
import { verifyStatement } from './verify-statement.ts';

const OVERRIDE = { override_supply_chain: true, override_reason: 'needed tonight: see ticket 7' };

const rowsOf = ({ database }: ApprovalsApp) =>
  database.read.selectFrom('decisions').selectAll().orderBy('id').execute();

async function recordsOf(it: ApprovalsApp) {
  return (await rowsOf(it)).map(readRecord);
}

/** The sweep goes through sets in the order of their digests. */
function bySet([a = '']: readonly string[], [b = '']: readonly string[]): number {
  return setDigest([a]) < setDigest([b]) ? -1 : 1;
}

/** An update that was approved before its plan was known, and whose plan has come since. */
async function awaited(it: ApprovalsApp, name = 'openssl', version = '3.0.12-1'): Promise<string> {
  const id = await it.addUpdate({ name, version, plan: null });
  await it.approve(id);
  await it.addPlan([id], [actionOf({ name, version })]);
  return id;
}

function keysOf(it: ApprovalsApp) {
  const keys = it.keyRing
    .keySet()
    .keys.map(({ key_id: keyId, public_key_hex: publicKeyHex }) => loadTrustedKey({ keyId, publicKeyHex }));
  return { keys, revokedAtMs: new Map<string, number>() };
}

describe.each(ENGINES)('recorded decisions, on $name', (engine) => {
  test('every kind of decision is recorded, and each replays to the same verdict', async () => {
    const it = await createApprovalsApp(engine);
    for (const name of ['zlib', 'expat', 'pcre'])
      it.vulnerable({ id: `CVE-${name}`, name, version: '1.3-1' });
    const flagged = (name: string) => ({ name, version: '1.3-1' });
    const clear = await it.addUpdate();
    const stopped = await it.addUpdate(flagged('zlib'));
    const many = [await it.addUpdate({ name: 'curl', version: '8-1' }), await it.addUpdate(flagged('expat'))];
    await it.approve(clear);
    await it.approve(stopped);
    await it.approve(stopped, OVERRIDE);
    await it.call('POST', '/api/v1/updates/approve', { update_ids: many });
    const [swept, handedBack] = [await awaited(it, 'vim', '9-1'), await awaited(it, 'pcre', '1.3-1')];
    await sweepOnce(it.deps);
    const records = await recordsOf(it);
    const told = records.map((one) => [
      one.updates[0]?.id,
      one.via,
      one.actor,
      one.outcome,
      one.verdict.kind,
    ]);
    expect(told).toEqual([
      [clear, 'approve', 'ada', 'minted', 'mint'],
      [stopped, 'approve', 'ada', 'blocked', 'blocked'],
      [stopped, 'approve', 'ada', 'minted', 'mint'],
      ...many.map((id, i) => [
        id,
        'bulk',
        'ada',
        i === 0 ? 'minted' : 'blocked',
        i === 0 ? 'mint' : 'blocked',
      ]),
      ...[
        [swept, 'sweep', 'sweep', 'minted', 'mint'],
        [handedBack, 'sweep', 'sweep', 'handed_back', 'blocked'],
      ].toSorted(bySet),
    ]);
    for (const record of records) {
      const replay = replayDecision(record);
      expect([replay.verdict, replay.isSame]).toEqual([record.verdict, true]);
    }
    // A record from before gate version 4 has no such setting: it decided as with `warn`.
    for (const record of records) {
      const { unchecked, ...before } = record.policy;
      expect([unchecked, replayDecision({ ...record, policy: before }).isSame]).toEqual(['warn', true]);
    }
    expect(records[2]).toMatchObject({
      request: {
        by: 'operator',
        override: true,
        override_reason: {
          sha256: createHash('sha256').update(OVERRIDE.override_reason).digest('hex'),
          blank: false,
        },
      },
      facts: { judged: { closure: { findings: { total: 1, items: [{ id: 'CVE-zlib' }] }, source: 'api' } } },
      verdict: { waived: { by: 'vulnerability', reason: 'known_vulnerability' } },
      policy: { age_mode: 'warn', vulnerabilities: 'any', uncovered: 'block' },
      plan: { plan_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) },
      token_id: expect.any(String),
    });
    for (const { document } of await rowsOf(it)) expect(document).not.toContain('ticket 7');
  });

  test('updates returned without a plan, or that cannot be minted, are recorded as handed back', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate({ plan: null });
    await it.approve(id);
    it.clock.advance(24 * 3_600_000);
    await sweepOnce(it.deps);
    const [record] = await recordsOf(it);
    expect(record).toMatchObject({
      ...{ outcome: 'handed_back', outcome_reason: 'no_plan', plan: null, verdict: { kind: 'plan_unknown' } },
    });
    const statement = await it.call('GET', `/api/v1/decisions/${record?.id}/statement`);
    expect(statement).toMatchObject({ status: 409, code: 'conflict' });
  });

  test('a repeated decision is counted, not stored again; a different one is stored', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable();
    const id = await it.addUpdate();
    for (let i = 0; i < 3; i++) {
      it.clock.advance(60_000);
      expect((await it.approve(id)).status).toBe(409);
    }
    const [row, ...more] = await rowsOf(it);
    expect(more).toEqual([]);
    expect(row).toMatchObject({ repeats: 2, repeated_at: it.platform.now() });
    const { agentId } = await insertTestAgent(it.database, { n: 9 });
    const other = actionOf({ name: 'openssl', version: '3.0.12-1' });
    const artifact = { filename: 'x', url: 'x', size_bytes: 1, sha256: 'b'.repeat(64) };
    await it.database.transact((tx) =>
      recordArtifacts(tx, it.platform, { agentId, ecosystem: 'apt', actions: [{ ...other, artifact }] }),
    );
    await it.approve(id);
    const records = await recordsOf(it);
    expect(records.map(({ outcome_reason: reason }) => reason)).toEqual([
      'vulnerability: known_vulnerability',
      'divergence: artifact_divergence',
    ]);
    expect(records[1]?.facts.judged?.divergences).toMatchObject({
      total: 1,
      items: [{ package: 'openssl' }],
    });
    const events = await it.database.read
      .selectFrom('events')
      .select('content')
      .where('type', '=', 'approval_blocked')
      .execute();
    const marks = events.map(({ content }) => JSON.parse(content).decision);
    expect(marks.map(({ id }) => id)).toEqual([row?.id, row?.id, row?.id, records[1]?.id]);
    expect(marks[0].sha256).toBe(row?.document_sha256);
  });

  test('what only the clock changes makes no new decision: a renewed check, a higher age', async () => {
    const it = await createApprovalsApp(engine, { settings: { gateEnforcement: 'block' } });
    it.vulnerable();
    const flagged = await it.addUpdate();
    const young = await it.addUpdate({ ecosystem: 'npm', name: 'left', version: '1.0.0' });
    const publishedAtMs = it.platform.now() - 3_600_000;
    const time = {
      ecosystem: 'npm',
      name: 'left',
      version: '1.0.0',
      artifact: '',
      published_at: publishedAtMs,
      standing: 'unknown' as const,
    };
    const fetched = { source: 'https://registry.example', fetched_at: it.platform.now() };
    await it.database.transact((tx) =>
      tx
        .insertInto('release_times')
        .values({ ...time, ...fetched })
        .execute(),
    );
    for (let i = 0; i < 3; i++) {
      expect(await it.approve(flagged)).toMatchObject({ status: 409, body: { blocked_by: 'vulnerability' } });
      expect(await it.approve(young)).toMatchObject({ status: 409, body: { reason: 'too_young' } });
      it.clock.advance((i === 0 ? 1 : 25) * 3_600_000);
    }
    expect((await rowsOf(it)).map(({ repeats }) => repeats)).toEqual([2, 2]);
  });

  test(`an update keeps its newest ${DECISIONS_MAX} decisions, and each that minted`, async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    await it.approve(id);
    await it.call('POST', `/api/v1/updates/${id}/reopen`, {});
    it.vulnerable();
    it.clock.advance(25 * 3_600_000);
    await it.approve(id);
    const [minted, blocked] = await rowsOf(it);
    if (!minted || !blocked) throw new Error('both are recorded');
    const copies = Array.from({ length: DECISIONS_MAX }, (_, i) => ({
      ...{ ...blocked, id: `01900000-0000-7000-8000-${String(i).padStart(12, '0')}` },
      outcome: i === 0 ? ('minted' as const) : blocked.outcome,
    }));
    const updateIds = [id];
    await it.database.transact((tx) =>
      insertDecisions(
        tx,
        copies.map((row) => ({ row, updateIds })),
      ),
    );
    it.clock.advance(1);
    await it.approve(id, OVERRIDE);
    const kept = await rowsOf(it);
    expect(kept).toHaveLength(DECISIONS_MAX + 1);
    expect(kept.map((row) => row.id)).toEqual(expect.arrayContaining([minted.id, blocked.id]));
    expect(kept.slice(0, 2).map((row) => row.id)).toEqual([copies[0]?.id, copies[3]?.id]);
    // They contain the text of another decision, which is detected.
    await it.database.transact((tx) =>
      tx.deleteFrom('decisions').where('id', 'like', '01900000-%').execute(),
    );
  });

  test('the list, the detail, and a statement that verifies with the public keys alone', async () => {
    const it = await createApprovalsApp(engine);
    it.vulnerable();
    const id = await it.addUpdate();
    await it.approve(id);
    it.clock.advance(60_000);
    await it.approve(id, OVERRIDE);
    const first = (await it.call('GET', `/api/v1/updates/${id}/decisions?limit=1`)).body;
    expect(first).toMatchObject({ total: 2, items: [{ outcome: 'minted', actor: 'ada', repeats: 0 }] });
    const second = (await it.call('GET', `/api/v1/updates/${id}/decisions?cursor=${first.next_cursor}`)).body;
    expect(second).toMatchObject({ next_cursor: null, items: [{ outcome: 'blocked', token_id: null }] });
    const [{ id: decisionId, sha256 }] = first.items;
    const { body: detail } = await it.call('GET', `/api/v1/decisions/${decisionId}`);
    expect(detail).toMatchObject({ id: decisionId, replays: true, record: { outcome: 'minted' } });
    expect(createHash('sha256').update(canonicalJson(detail.record)).digest('hex')).toBe(sha256);

    it.clock.advance(3_600_000);
    const { body: envelope } = await it.call('GET', `/api/v1/decisions/${decisionId}/statement`);
    expect(envelope.payloadType).toBe('application/vnd.in-toto+json');
    const verified = verifyStatement(envelope, keysOf(it));
    if (!verified.ok) throw new Error(verified.reason);
    expect(Value.Check(DecisionStatement, verified.statement)).toBe(true);
    expect(verified.statement).toMatchObject({
      _type: 'https://in-toto.io/Statement/v1',
      subject: [{ name: 'openssl.pkg', digest: { sha256: 'a'.repeat(64) } }],
      predicate: {
        ...{ decision_id: decisionId, record_sha256: sha256, fleet_id: it.keyRing.fleetId },
        ...{ outcome: 'minted', decided_by: 'ada', plan_sha256: detail.record.plan.plan_sha256 },
        ...{ decided_at: '2026-11-21T09:01:00.000Z', signed_at: '2026-11-21T10:01:00Z' },
        snapshot: { source: 'api', snapshot: null },
        verdict: { kind: 'mint', waived: { by: 'vulnerability' } },
        override: {
          by: 'ada',
          reason_sha256: createHash('sha256').update(OVERRIDE.override_reason).digest('hex'),
        },
      },
    });
    expect(JSON.stringify(verified.statement)).not.toContain('ticket 7');

    const forged = Buffer.from(envelope.payload, 'base64').toString().replace('"minted"', '"blocked"');
    const tampered = { ...envelope, payload: Buffer.from(forged).toString('base64') };
    expect(verifyStatement(tampered, keysOf(it)).ok).toBe(false);
    const approval = (await it.database.read.selectFrom('approvals').select('envelope').execute())[0];
    expect(verifyStatement(JSON.parse(approval?.envelope ?? ''), keysOf(it)).ok).toBe(false);
    const [signer] = it.keyRing.keySet().keys;
    const revokedAt = (iso: string) => ({
      ...keysOf(it),
      revokedAtMs: new Map([[signer?.key_id ?? '', Date.parse(iso)]]),
    });
    expect(verifyStatement(envelope, revokedAt('2026-11-21T10:01:01Z')).ok).toBe(true);
    expect(verifyStatement(envelope, revokedAt('2026-11-21T10:01:00Z')).ok).toBe(false);
  });

  test('a plan that only removes is its own subject, and an unknown id is 404', async () => {
    const it = await createApprovalsApp(engine);
    const plan = [{ action: 'remove', name: 'openssl' } as const];
    await it.approve(await it.addUpdate({ plan }));
    const [record] = await recordsOf(it);
    const { body } = await it.call('GET', `/api/v1/decisions/${record?.id}/statement`);
    const verified = verifyStatement(body, keysOf(it));
    expect(verified.ok && verified.statement.subject).toEqual([
      { name: 'plan', digest: { sha256: record?.plan?.plan_sha256 } },
    ]);
    const unknown = '01900000-0000-7000-8000-00000000beef';
    for (const path of [
      `updates/${unknown}/decisions`,
      `decisions/${unknown}`,
      `decisions/${unknown}/statement`,
    ]) {
      expect((await it.call('GET', `/api/v1/${path}`)).status).toBe(404);
    }
  });

  test('a statement too large for verifiers is not signed', async () => {
    const it = await createApprovalsApp(engine);
    it.osv.mode = 'down';
    const plan = Array.from({ length: 5_000 }, (_, i) =>
      actionOf({ name: `p${i}`, version: '1-1', fields: { origin: 'o'.repeat(512), arch: 'a'.repeat(256) } }),
    );
    expect((await it.approve(await it.addUpdate({ name: 'p1', version: '1-1', plan }))).status).toBe(409);
    const [record] = await recordsOf(it);
    const signatures = it.keyRing.signatures;
    const { status, body } = await it.call('GET', `/api/v1/decisions/${record?.id}/statement`);
    expect([status, body.detail]).toEqual([409, 'The plan of this decision is too large for one statement.']);
    expect(it.keyRing.signatures).toBe(signatures);
  });

  test('the list says which decisions rested on packages that were not checked', async () => {
    const it = await createApprovalsApp(engine);
    it.osv.mode = 'down';
    const id = await it.addUpdate({ ecosystem: 'npm', name: 'left', version: '1.0.0' });
    expect((await it.approve(id)).status).toBe(200);
    const { body } = await it.call('GET', `/api/v1/updates/${id}/decisions`);
    expect(body.items).toMatchObject([{ outcome: 'minted', unchecked: 'unreachable' }]);
  });

  test('a record changed in the database is not shown, replayed or signed', async () => {
    const it = await createApprovalsApp(engine);
    const updateId = await it.addUpdate();
    await it.approve(updateId);
    const [row] = await rowsOf(it);
    const uncheckedIn = async () =>
      (await it.call('GET', `/api/v1/updates/${updateId}/decisions`)).body.items[0].unchecked;
    expect(await uncheckedIn()).toBeNull();
    const document = row?.document.replace('"ada"', '"eve"') ?? '';
    await it.database.transact((tx) => tx.updateTable('decisions').set({ document }).execute());
    for (const path of ['', '/statement']) {
      expect((await it.call('GET', `/api/v1/decisions/${row?.id}${path}`)).status).toBe(500);
    }
    // Unknown is never shown as checked.
    expect(await uncheckedIn()).toBe('undecidable');
    const put = { document: row?.document ?? '' };
    await it.database.transact((tx) => tx.updateTable('decisions').set(put).execute());
    expect((await it.call('GET', `/api/v1/decisions/${row?.id}`)).status).toBe(200);
  });

  test('texts that RFC 8785 rejects do not prevent a record', async () => {
    const it = await createApprovalsApp(engine);
    it.osv.addRecord({ id: 'CVE-\ud800', summary: 'half \udc00 a pair' }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.12-1'] },
    ]);
    expect((await it.approve(await it.addUpdate())).status).toBe(409);
    expect(await rowsOf(it)).toHaveLength(1);
  });
});
