import { VEX_STATEMENT_TYPE } from '@tidegate/protocol/vex-api';
import { loadTrustedKey, verifyEnvelope } from '@tidegate/signing/verify';
import { describe, expect, test } from 'vitest';
import { KEV_MAX_AGE_MS } from '../advisories/exploited/kev-list.ts';
import { saveFetched, saveScores, setOffSince } from '../advisories/exploited/store.ts';
import { sweepOnce } from '../approvals/sweep.ts';
import type { Database } from '../platform/db/engine.ts';
import { sha256Hex } from '../platform/sha256.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
import { findUpdate } from '../updates/store.ts';
import { recordExpired } from './end-statements.ts';

const URL = '/api/v1/admin/vex-statements';
const DOCUMENT = '/api/v1/admin/vex-document';
const DAY_MS = 86_400_000;
const BODY = {
  ...{ vulnerability: 'CVE-2024-1', ecosystem: 'apt', package: 'openssl', distribution: 'debian' },
  ...{ versions: ['3.0.12-1'], scope: { kind: 'all' }, status: 'not_affected' },
  ...{
    justification: 'vulnerable_code_not_present',
    text: 'Built without it.',
    ends_at: '2026-12-01T00:00:00Z',
  },
};
const NPM = { ...BODY, ecosystem: 'npm', package: '@a/b', distribution: null, versions: ['1.0.0', '2.0.0'] };
const RISK = { ...BODY, status: 'accepted', justification: null, text: 'Not reachable from outside.' };

describe.each(ENGINES)('statements about vulnerabilities on $name', (engine) => {
  async function scene() {
    const it = await createApprovalsApp(engine);
    it.osv.addRecord({ id: 'DEBIAN-CVE-2024-1', summary: 'bad', upstream: ['CVE-2024-1'] }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.12-1', '3.0.11-1'] },
    ]);
    const state = async (body: object = BODY) => {
      const { status, body: made } = await it.call('POST', URL, body);
      expect(status, JSON.stringify(made)).toBe(201);
      return made;
    };
    const eventsOf = async (type: string) => {
      const rows = await it.database.read.selectFrom('events').selectAll().where('type', '=', type).execute();
      return rows.map(({ content }) => JSON.parse(content));
    };
    /** An update of what the host has already: its vulnerability stays. */
    const staying = async () => {
      await it.database.transact((tx) =>
        insertInstalled(tx, {
          ...{ agent_id: it.agentId, ecosystem: 'apt', name: 'openssl', arch: '', version: '3.0.11-1' },
          ...{ source_name: 'openssl', source_version: '3.0.11-1', origin: null, held: 0 },
        }),
      );
      const [action] = [actionOf({ name: 'openssl', version: '3.0.12-1', ecosystem: 'apt' })];
      return it.addUpdate({ plan: [{ ...action, action: 'upgrade', from_version: '3.0.11-1' }] });
    };
    const loadKev = (cves: readonly string[]) =>
      it.database.transact(async (tx) => {
        await saveScores(
          tx,
          'kev',
          cves.map((cve) => [cve, 1]),
        );
        await saveFetched(tx, {
          feed: 'kev',
          nowMs: it.platform.now(),
          entries: cves.length,
          asOfMs: it.platform.now(),
        });
      });
    return { ...it, state, eventsOf, staying, loadKev };
  }

  test('not_affected takes a finding out of the judgment: in the report, the decision, the token and the event', async () => {
    const { addUpdate, approve, call, state, eventsOf } = await scene();
    const id = await addUpdate();
    expect((await approve(id)).status).toBe(409);
    const { id: statement_id, sha256 } = await state();
    const preview = await call('POST', `/api/v1/updates/${id}/preview`);
    expect(preview.body).toMatchObject({
      ...{ verdict: 'vulnerable', blocked_by: null },
      introduces: [{ excuse: { by: 'statement', statement_id, status: 'not_affected' } }],
    });
    const { status, body } = await approve(id);
    expect({ status, warnings: body.warnings }).toMatchObject({
      status: 200,
      warnings: [{ code: 'statement_used' }],
    });
    const token = JSON.parse(Buffer.from(body.token.payload, 'base64').toString());
    expect(token.verdict).toMatchObject({
      vulnerability: 'vulnerable',
      statements: [{ id: statement_id, sha256 }],
    });
    const [decision] = (await call('GET', `/api/v1/updates/${id}/decisions`)).body.items;
    expect(decision.statements).toEqual([
      { id: statement_id, status: 'not_affected', vulnerability: BODY.vulnerability, package: BODY.package },
    ]);
    const { record, replays } = (await call('GET', `/api/v1/decisions/${decision.id}`)).body;
    expect({ replays, verdict: record.verdict, facts: record.facts.judged.statements }).toMatchObject({
      replays: true,
      verdict: { kind: 'mint', waived: null, statements: [statement_id] },
      facts: { total: 1, items: [{ id: statement_id, sha256, status: 'not_affected' }] },
    });
    expect(await eventsOf('update_approved')).toMatchObject([
      { statements: [statement_id], override: false },
    ]);
  });

  test('a bulk approval uses a statement as a single one does (A6: it is about one vulnerability)', async () => {
    const { addUpdate, call, state } = await scene();
    const id = await addUpdate();
    await state();
    const { body } = await call('POST', '/api/v1/updates/approve', { update_ids: [id] });
    expect(body).toMatchObject({ approved: [{ update_id: id }], blocked: [] });
  });

  test.each([
    ['another package of the same vulnerability', { package: 'libssl3' }],
    ['the source package of both', { package: 'openssl-src' }],
    ['a part of its name', { package: 'open' }],
    ['another version', { versions: ['3.0.12-2'] }],
  ])('a statement is not stretched: about %s it excuses nothing', async (_what, about) => {
    const { addUpdate, approve, call, state } = await scene();
    const id = await addUpdate();
    await state({ ...BODY, ...about });
    const { status, body } = await approve(id);
    expect({ status, reason: body.reason }).toEqual({ status: 409, reason: 'known_vulnerability' });
    const shown = (await call('POST', `/api/v1/updates/${id}/preview`)).body;
    expect(shown.introduces).toMatchObject([{ package: 'openssl', excuse: null }]);
  });

  test('a statement about one update of a set is not stretched to another', async () => {
    const { addUpdate, addPlan, call, state, osv } = await scene();
    osv.addRecord({ id: 'DEBIAN-CVE-2024-1-curl', summary: 'bad', upstream: ['CVE-2024-1'] }, [
      { ecosystem: 'Debian:12', name: 'curl', versions: ['3.0.12-1'] },
    ]);
    const ids = [await addUpdate(), await addUpdate({ name: 'curl' })];
    const actions = ['openssl', 'curl'].map((name) => actionOf({ name, version: '3.0.12-1' }));
    await addPlan(ids, actions);
    await state();
    const { body } = await call('POST', '/api/v1/updates/approve', { update_ids: ids });
    expect(body).toMatchObject({ approved: [{ update_id: ids[0] }], blocked: [{ update_id: ids[1] }] });
  });

  test('A8: the sweep does not mint by a statement; an operator then does', async () => {
    const it = await scene();
    await it.state();
    const id = await it.addUpdate({ plan: null });
    expect((await it.approve(id)).status).toBe(202);
    const actions = [actionOf({ name: 'openssl', version: '3.0.12-1', ecosystem: 'apt' })];
    await it.addPlan([id], actions);
    await sweepOnce(it.deps);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'pending' });
    expect((await it.approve(id)).status).toBe(200);
  });

  test('accepted excuses what stays and is not exploited, never what is introduced', async () => {
    const { staying, addUpdate, approve, call, state, loadKev, database, platform } = await scene();
    const preview = async (id: string) => (await call('POST', `/api/v1/updates/${id}/preview`)).body;
    const old = await staying();
    // Another one brings the same version as a new package.
    const added = {
      ...actionOf({ name: 'openssl', version: '3.0.12-1', ecosystem: 'apt' }),
      action: 'install' as const,
    };
    const web = actionOf({ name: 'web', version: '1-1', ecosystem: 'apt' });
    const fresh = await addUpdate({ name: 'web', version: '1-1', plan: [web, added] });
    await state(RISK);
    // Whether it is exploited is not known before the list is loaded.
    expect(await preview(old)).toMatchObject({ blocked_by: 'vulnerability', stays: [{ excuse: null }] });
    await loadKev([]);
    expect(await preview(old)).toMatchObject({
      blocked_by: null,
      stays: [{ excuse: { status: 'accepted' } }],
    });
    expect(await preview(fresh)).toMatchObject({ blocked_by: 'vulnerability' });
    // Nor is it by a list that is too old, or whose source is switched off.
    const passed = { blocked_by: null };
    const stopped = { blocked_by: 'vulnerability', stays: [{ excuse: null }] };
    const offSince = (ms: number | null) => database.transact((tx) => setOffSince(tx, 'kev', ms));
    await offSince(platform.now());
    expect(await preview(old)).toMatchObject(stopped);
    await offSince(null);
    expect(await preview(old)).toMatchObject(passed);
    const nowMs = platform.now() - KEV_MAX_AGE_MS;
    await database.transact((tx) => saveFetched(tx, { feed: 'kev', nowMs, entries: 0, asOfMs: nowMs }));
    expect(await preview(old)).toMatchObject(stopped);
    await loadKev(['CVE-2024-1']);
    expect(await preview(old)).toMatchObject({ blocked_by: 'vulnerability', stays: [{ kev: true }] });
    expect((await approve(old)).status).toBe(409);
  });

  test('a statement that was revoked, or has ended, excuses nothing, and both are events', async () => {
    const { addUpdate, approve, call, state, eventsOf, clock, platform } = await scene();
    const id = await addUpdate();
    const first = await state();
    expect((await call('DELETE', `${URL}/${first.id}`)).status).toBe(204);
    expect((await call('DELETE', `${URL}/${first.id}`)).status).toBe(404);
    expect((await approve(id)).status).toBe(409);
    const ends_at = new Date(platform.now() + DAY_MS).toISOString();
    const second = await state({ ...BODY, ends_at });
    clock.advance(DAY_MS);
    expect((await approve(id)).status).toBe(409);
    await recordExpired(platform);
    await recordExpired(platform);
    expect(await eventsOf('vex_statement_revoked')).toMatchObject([{ statement_id: first.id, actor: 'ada' }]);
    expect(await eventsOf('vex_statement_expired')).toMatchObject([{ statement_id: second.id }]);
    const { items, total } = (await call('GET', URL)).body;
    expect([total, ...items.map(({ state: now }: { state: string }) => now)]).toEqual([
      2,
      'expired',
      'revoked',
    ]);
  });

  test('a statement revoked between the judgment and the token mints nothing', async () => {
    const it = await scene();
    const made = await it.state();
    const id = await it.addUpdate();
    // Afterwards nothing is left to fetch, so the approval's first transaction is the one that mints.
    expect((await it.call('POST', `/api/v1/updates/${id}/preview`)).status).toBe(200);
    const { transact } = it.platform.database;
    let revoked = false;
    it.platform.database.transact = async (work) => {
      if (!revoked) {
        revoked = true;
        await it.call('DELETE', `${URL}/${made.id}`);
      }
      return transact(work);
    };
    expect((await it.approve(id)).status).toBe(409);
    it.platform.database.transact = transact;
    expect(await it.database.read.selectFrom('approvals').selectAll().execute()).toEqual([]);
  });

  test('is signed: the payload holds every word, and its digest is the one that decisions name', async () => {
    const { state, call, keyRing } = await scene();
    const made = await state();
    const { envelope, sha256 } = (await call('GET', `${URL}/${made.id}`)).body;
    expect(sha256).toBe(made.sha256);
    const [key] = keyRing.keySet().keys;
    const trusted = loadTrustedKey({ keyId: key?.key_id ?? '', publicKeyHex: key?.public_key_hex ?? '' });
    const verified = verifyEnvelope(envelope, [trusted], VEX_STATEMENT_TYPE);
    if (!verified.ok) throw new Error('the envelope does not verify');
    expect(sha256Hex(verified.payload)).toBe(sha256);
    expect(JSON.parse(Buffer.from(verified.payload).toString())).toMatchObject({
      ...BODY,
      statement_id: made.id,
      created_by: 'ada',
      imported: null,
    });
  });

  test.each([
    ['without a justification', { justification: null }, '/justification'],
    ['an accepted risk with one', { status: 'accepted' }, '/justification'],
    ['apt without a distribution', { distribution: null }, '/distribution'],
    ['npm with one', { ecosystem: 'npm' }, '/distribution'],
    ['that ends now', { ends_at: '2026-11-21T09:00:00Z' }, '/ends_at'],
    ['for more than a year', { ends_at: '2027-12-21T09:00:00Z' }, '/ends_at'],
    [
      'about a host that is unknown',
      { scope: { kind: 'host', agent_id: '01900000-0000-7000-8000-00000000beef' } },
      '/scope/agent_id',
    ],
  ])('a statement %s is refused: %j', async (_what, change, path) => {
    const { call } = await scene();
    const { status, body } = await call('POST', URL, { ...BODY, ...change });
    expect({ status, errors: body.errors }).toMatchObject({ status: 400, errors: [{ path }] });
  });

  test.each([
    [{ versions: [] }],
    [{ versions: Array.from({ length: 101 }, (_, i) => `1.${i}`) }],
    [{ vulnerability: '*' }],
    [{ package: '' }],
    [{ text: ' ' }],
    [{ text: 'safe\u202e txt.exe' }],
    [{ text: 'bell \u0007' }],
    [{ text: 'hidden\u200b' }],
    [{ status: 'fixed' }],
    [{ justification: 'trust me' }],
    [{ scope: { kind: 'group' } }],
    [{ scope: { kind: 'all', group: 'web' } }],
    [{ packages: '*' }],
  ])('a statement of another form is refused (A6: no blanket): %j', async (change) => {
    const { call } = await scene();
    expect((await call('POST', URL, { ...BODY, ...change })).status).toBe(400);
  });

  test.each(['openvex', 'cyclonedx'] as const)(
    '%s: what one server exports, another imports word for word',
    async (format) => {
      const from = await scene();
      for (const body of [BODY, NPM, RISK, { ...RISK, scope: { kind: 'group', group: 'web' } }])
        await from.state(body);
      const document = (await from.call('GET', `${DOCUMENT}?format=${format}`)).body;
      const to = await scene();
      const terms = { scope: { kind: 'all' }, ends_at: '2026-11-30T00:00:00Z' };
      const { status, body } = await to.call('POST', DOCUMENT, { format, document, ...terms });
      expect({ status, already: body.already, skipped: body.skipped }).toEqual({
        status: 200,
        already: 0,
        skipped: [],
      });
      const said = async ({ call }: typeof to) =>
        (await call('GET', URL)).body.items
          .map(
            ({ id: _, sha256: __, created_at: ___, imported: ____, ...rest }: Record<string, unknown>) =>
              rest,
          )
          .toSorted((a: object, b: object) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));
      expect(await said(to)).toEqual(await said(from));
      const again = (await to.call('POST', DOCUMENT, { format, document, ...terms })).body;
      expect(again).toEqual({ imported: [], already: 4, skipped: [] });
      expect(await to.eventsOf('vex_statement_added')).toHaveLength(4);
      const [first] = (await to.call('GET', URL)).body.items;
      expect(first.imported).toMatchObject({ format, author: `Tidegate fleet ${from.deps.keyRing.fleetId}` });
    },
  );

  /** A document of others with these statements about npm packages. */
  function openVex(statements: readonly object[]) {
    const head = { '@context': 'https://openvex.dev/ns/v0.2.0', '@id': 'urn:x', author: 'a', version: 1 };
    return { ...head, timestamp: '2026-11-21T00:00:00Z', statements };
  }

  const IMPORT = { format: 'openvex', scope: { kind: 'all' }, ends_at: BODY.ends_at };

  const said = (name: string, more: object = {}) => ({
    ...{ vulnerability: { name }, products: [{ '@id': 'pkg:npm/a@1.0.0' }] },
    ...{ status: 'not_affected', justification: 'component_not_present', impact_statement: 'Not built.' },
    ...more,
  });

  test.each([
    ['a product without a version', { products: [{ '@id': 'pkg:npm/a' }] }, '/products/0'],
    ['an unknown member', { confidence: 'high' }, '/confidence'],
    ['a text with a hidden character', { impact_statement: 'Not\u202ebuilt.' }, '/text'],
    [
      'an end that has passed',
      { tidegate: { status: 'not_affected', scope: { kind: 'all' }, ends_at: '2020-01-01T00:00:00Z' } },
      '/ends_at',
    ],
  ])('a refused import names the statement with %s, and imports nothing', async (_what, change, path) => {
    const it = await scene();
    const document = openVex([said('CVE-2024-1'), said('CVE-2024-2', change)]);
    const terms = { format: 'openvex', scope: { kind: 'all' }, ends_at: BODY.ends_at };
    const { status, body } = await it.call('POST', DOCUMENT, { ...terms, document });
    expect({ status, path: body.errors?.[0]?.path }).toEqual({
      ...{ status: 400, path: `/document/statements/1${path}` },
    });
    expect((await it.call('GET', URL)).body.total).toBe(0);
  });

  test('a refused import says which values are allowed', async () => {
    const { call } = await scene();
    const document = openVex([said('CVE-2024-1'), said('CVE-2024-2', { status: 'harmless' })]);
    const { status, body } = await call('POST', DOCUMENT, { ...IMPORT, document });
    expect({ status, errors: body.errors }).toEqual({
      status: 400,
      errors: [
        {
          path: '/document/statements/1/status',
          message: 'must be not_affected or affected or fixed or under_investigation',
        },
      ],
    });
  });

  test.each(['Vendor\u202e', 'Ven\u0007dor'])(
    'a document whose author has a hidden character is refused: %j',
    async (author) => {
      const { call } = await scene();
      const openvex = { ...openVex([said('CVE-2024-1')]), author };
      const cyclonedx = {
        ...{ bomFormat: 'CycloneDX', specVersion: '1.6', metadata: { authors: [{ name: author }] } },
        vulnerabilities: [{ id: 'CVE-2024-1', affects: [{ ref: 'pkg:npm/a@1.0.0' }] }],
      };
      const refused = async (format: string, document: object) =>
        (await call('POST', DOCUMENT, { ...IMPORT, format, document })).body.errors?.[0]?.path;
      expect([await refused('openvex', openvex), await refused('cyclonedx', cyclonedx)]).toEqual([
        '/document/author',
        '/document/metadata/authors/0/name',
      ]);
    },
  );

  test('what a document says twice is one statement, and only what is in force counts as there already', async () => {
    const it = await scene();
    const terms = { format: 'openvex', scope: { kind: 'all' }, ends_at: BODY.ends_at };
    const send = async (...names: string[]) => {
      const document = openVex(names.map((name) => said(name)));
      const { body } = await it.call('POST', DOCUMENT, { ...terms, document });
      return [body.imported.length, body.already];
    };
    expect(await send('CVE-2024-1', 'CVE-2024-1')).toEqual([1, 0]);
    expect(await send('CVE-2024-1', 'CVE-2024-1', 'CVE-2024-2')).toEqual([1, 1]);
  });

  test.each(['openvex', 'cyclonedx'])(
    'without a statement in force there is no %s document',
    async (format) => {
      const { call } = await scene();
      const { status, body } = await call('GET', `${DOCUMENT}?format=${format}`);
      expect({ status, detail: body.detail }).toMatchObject({
        ...{ status: 409, detail: expect.stringContaining('needs at least one') },
      });
    },
  );

  test('the hosts of an imported document are looked up once, and an unknown one imports nothing', async () => {
    const observed = { agentReads: 0 };
    const it = await createApprovalsApp(engine, { wrap: (database) => countAgentReads(database, observed) });
    const scopes = [it.agentId, it.agentId, '01900000-0000-7000-8000-00000000beef'];
    const statements = scopes.map((agent_id, i) => ({
      ...{ vulnerability: { name: `CVE-2024-${i + 1}` }, products: [{ '@id': 'pkg:npm/a@1.0.0' }] },
      ...{ status: 'not_affected', justification: 'component_not_present', impact_statement: 'Not built.' },
      tidegate: { status: 'not_affected', scope: { kind: 'host', agent_id }, ends_at: BODY.ends_at },
    }));
    const head = { '@context': 'https://openvex.dev/ns/v0.2.0', '@id': 'urn:x', author: 'a', version: 1 };
    const send = (some: readonly object[]) =>
      it.call('POST', DOCUMENT, {
        ...{ format: 'openvex', scope: { kind: 'all' }, ends_at: BODY.ends_at },
        document: { ...head, timestamp: '2026-11-21T00:00:00Z', statements: some },
      });
    const { status, body } = await send(statements);
    expect({ status, errors: body.errors }).toMatchObject({
      ...{ status: 400, errors: [{ path: '/document/statements/2/scope/agent_id' }] },
    });
    expect((await it.call('GET', URL)).body.total).toBe(0);
    observed.agentReads = 0;
    expect((await send(statements.slice(0, 2))).body.imported).toHaveLength(2);
    expect(observed.agentReads).toBe(1);
  });
});

/** Counts reads of agents outside transactions. */
function countAgentReads(database: Database, observed: { agentReads: number }): Database {
  const read = new Proxy(database.read, {
    get(target, key) {
      if (key !== 'selectFrom') return Reflect.get(target, key, target);
      return (table: Parameters<typeof target.selectFrom>[0]) => {
        if (JSON.stringify(table).includes('agents')) observed.agentReads += 1;
        return target.selectFrom(table);
      };
    },
  });
  return { ...database, read };
}
