import type { PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, test } from 'vitest';
import { recordArtifacts } from '../artifacts/record-artifacts.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { recordEndedOrigins } from './register-origin.ts';

const URL = '/api/v1/admin/origins';
const KEY = 'a'.repeat(40);
const DOCKER = 'Docker CE:bookworm';
const DAY_MS = 86_400_000;
const BODY = {
  ...{ ecosystem: 'apt', key: KEY, suites: [DOCKER], rule: 'allow', min_age_days: null },
  ...{ reason: 'we build on it', ends_at: '2026-12-21T09:00:00Z' },
};

describe.each(ENGINES)('registered origins on $name', (engine) => {
  async function scene(settings: Parameters<typeof createApprovalsApp>[1] = {}) {
    const it = await createApprovalsApp(engine, settings);
    const register = async (body: object = {}) => {
      const { status, body: made } = await it.call('POST', URL, { ...BODY, ...body });
      expect(status, JSON.stringify(made)).toBe(201);
      return made;
    };
    const foreign = (fields: object = {}): PlanAction =>
      JSON.parse(
        JSON.stringify(
          actionOf({
            name: 'docker',
            version: '2.0-1',
            fields: { origin: DOCKER, origin_key: KEY, ...fields },
          }),
        ),
      );
    const update = (...plan: PlanAction[]) =>
      it.addUpdate({ name: plan[0]?.name ?? '', version: '2.0-1', plan });
    const eventsOf = async (type: string) => {
      const rows = await it.database.read.selectFrom('events').selectAll().where('type', '=', type).execute();
      return rows.map(({ content }) => JSON.parse(content));
    };
    const verdictOf = async (id: string) => {
      const { body } = await it.call('POST', `/api/v1/updates/${id}/preview`);
      return [body.blocked_by, body.reason, body.third_party[0]?.standing];
    };
    /** Another host's plan with this file. */
    const seenElsewhere = async (n: number, origin: string) => {
      const { agentId } = await insertTestAgent(it.database, { n });
      const plan = { agentId, ecosystem: 'apt' as const, actions: [foreign({ origin })] };
      await it.database.transact((tx) => recordArtifacts(tx, it.platform, plan));
    };
    return { ...it, register, foreign, update, eventsOf, verdictOf, seenElsewhere };
  }

  test('an origin that no database covers stops as before, whatever the host says of its key', async () => {
    const { update, foreign, verdictOf } = await scene();
    expect(await verdictOf(await update(foreign()))).toEqual(['unchecked', 'uncovered', 'not_registered']);
  });

  test('a bulk approval names the origin of what it blocks, once, with its key and suites', async () => {
    const { update, foreign, call } = await scene();
    const other = { ...foreign({ origin: 'Docker CE:26.0/bookworm, Mirror:bookworm' }), name: 'compose' };
    const id = await update(foreign(), { ...foreign(), name: 'docker-cli' }, other);
    const { body } = await call('POST', '/api/v1/updates/approve', { update_ids: [id] });
    expect(body.blocked).toMatchObject([
      {
        ...{ update_id: id, blocked_by: 'unchecked', reason: 'uncovered' },
        third_party: [
          { package: 'docker', key: KEY, suites: [DOCKER], standing: 'not_registered' },
          { package: 'compose', key: KEY, suites: ['Docker CE:bookworm', 'Mirror:bookworm'] },
        ],
      },
    ]);
  });

  test('a registered one passes: in preview, token, event and record, with rule, reason and end', async () => {
    const { update, foreign, register, call, approve, eventsOf, keyRing } = await scene();
    const made = await register();
    const signed = JSON.parse(Buffer.from(made.envelope.payload, 'base64').toString());
    expect(signed).toMatchObject({
      origin_id: made.id,
      key: KEY,
      suites: [DOCKER],
      fleet_id: keyRing.fleetId,
    });
    expect(made.envelope.signatures[0].keyid).toBe(keyRing.signer().keyId);
    const id = await update(foreign());
    const preview = await call('POST', `/api/v1/updates/${id}/preview`);
    expect(preview.body).toMatchObject({
      ...{ blocked_by: null, verdict: 'unchecked', unchecked: 'uncovered' },
      third_party: [
        {
          ...{ package: 'docker', origin: DOCKER, key: KEY, standing: 'allowed' },
          registration: { id: made.id, rule: 'allow', reason: BODY.reason },
        },
      ],
    });
    const { status, body } = await approve(id);
    const codes = body.warnings.map(({ code }: { code: string }) => code);
    expect({ status, codes }).toEqual({
      status: 200,
      codes: ['distribution_uncovered', 'registered_origin_used'],
    });
    expect((await call('GET', `/api/v1/updates/${id}/approval`)).body.approval.origins).toEqual([
      { id: made.id, origin: DOCKER, reason: BODY.reason },
    ]);
    // The token stays truthful: nothing was checked.
    const token = JSON.parse(Buffer.from(body.token.payload, 'base64').toString());
    expect(token.verdict).toMatchObject({
      ...{ vulnerability: 'unchecked', unchecked: 'uncovered' },
      origins: [{ id: made.id, sha256: made.sha256 }],
    });
    expect(token.actions).toMatchObject([{ origin_key: KEY }]);
    expect(await eventsOf('update_approved')).toMatchObject([{ origins: [made.id] }]);
    const [decision] = (await call('GET', `/api/v1/updates/${id}/decisions`)).body.items;
    const { record, replays } = (await call('GET', `/api/v1/decisions/${decision.id}`)).body;
    expect({ replays, origins: record.facts.judged.origins }).toMatchObject({
      replays: true,
      origins: { total: 1, uncovered: 1, items: [{ standing: 'allowed', registration: { id: made.id } }] },
    });
  });

  test.each([
    ['another key', { origin_key: 'b'.repeat(40) }, 'not_registered'],
    ['no key', { origin_key: undefined }, 'key_unknown'],
    ['another suite', { origin: 'Docker CE:trixie' }, 'not_registered'],
    ['another vendor with the key', { origin: 'Evil:bookworm' }, 'not_registered'],
  ])('%s stops', async (_what, fields, standing) => {
    const { update, foreign, register, verdictOf } = await scene();
    await register();
    expect(await verdictOf(await update(foreign(fields)))).toEqual(['unchecked', 'uncovered', standing]);
  });

  test.each([
    ['another key', { origin_key: 'b'.repeat(40) }],
    ['no key', { origin_key: undefined }],
  ])('one package whose repository names %s mints nothing, alone or in bulk', async (_what, fields) => {
    const { update, foreign, register, approve, call, database } = await scene();
    await register();
    const id = await update(foreign(), foreign({ name: 'docker-cli', ...fields }));
    expect(await approve(id)).toMatchObject({ status: 409, body: { reason: 'uncovered' } });
    const { body } = await call('POST', '/api/v1/updates/approve', { update_ids: [id] });
    expect(body).toMatchObject({ approved: [], blocked: [{ update_id: id, blocked_by: 'unchecked' }] });
    expect(await database.read.selectFrom('approvals').selectAll().execute()).toEqual([]);
  });

  test('a registration revoked between the judgment and the token mints nothing', async () => {
    const { update, foreign, register, approve, call, platform, database } = await scene();
    const made = await register();
    const id = await update(foreign());
    // Afterwards nothing is left to fetch, so the approval's first transaction is the one that mints.
    expect((await call('POST', `/api/v1/updates/${id}/preview`)).body.blocked_by).toBeNull();
    const { transact } = platform.database;
    let revoked = false;
    platform.database.transact = async (work) => {
      if (!revoked) {
        revoked = true;
        expect((await call('DELETE', `${URL}/${made.id}`)).status).toBe(204);
      }
      return transact(work);
    };
    const { status } = await approve(id);
    platform.database.transact = transact;
    expect(status).toBe(409);
    expect(await database.read.selectFrom('approvals').selectAll().execute()).toEqual([]);
  });

  test('ask stops as without it and shows the registration; an override passes it', async () => {
    const { update, foreign, register, verdictOf, approve } = await scene();
    await register({ rule: 'ask' });
    const id = await update(foreign());
    expect(await verdictOf(id)).toEqual(['unchecked', 'uncovered', 'asks']);
    const override = { override_supply_chain: true, override_reason: 'looked at it' };
    expect((await approve(id, override)).status).toBe(200);
  });

  test('older than n days counts from the first plan with exactly this file', async () => {
    const { update, foreign, register, verdictOf, clock } = await scene();
    await register({ rule: 'allow_older_than', min_age_days: 3 });
    const id = await update(foreign());
    expect(await verdictOf(id)).toEqual(['unchecked', 'uncovered', 'too_young']);
    clock.advance(3 * DAY_MS);
    expect(await verdictOf(id)).toEqual([null, null, 'allowed']);
    // The same name and version with another hash is another file.
    const [other] = [foreign()];
    const artifact = other?.artifact && { ...other.artifact, sha256: 'c'.repeat(64) };
    expect((await verdictOf(await update(foreign({ artifact, name: 'docker2' }))))[2]).toBe('too_young');
  });

  test('an origin that lies about its key: a file that others have from another vendor stops', async () => {
    const { update, foreign, register, verdictOf, seenElsewhere } = await scene();
    await register();
    const id = await update(foreign());
    await seenElsewhere(2, 'Docker CE:trixie');
    expect(await verdictOf(id)).toEqual([null, null, 'allowed']);
    await seenElsewhere(3, 'Evil:x');
    expect(await verdictOf(id)).toEqual(['unchecked', 'uncovered', 'disputed']);
  });

  test('a package beside it that is not registered, or has no origin, stops both', async () => {
    const { update, foreign, register, verdictOf } = await scene();
    await register();
    const other = foreign({ name: 'evil', origin: 'Evil:x' });
    const third = foreign({ name: 'docker3' });
    expect(await verdictOf(await update(foreign(), other))).toEqual(['unchecked', 'uncovered', 'allowed']);
    const nowhere = foreign({ name: 'evil', origin: undefined });
    expect((await verdictOf(await update(third, nowhere))).slice(0, 2)).toEqual(['unchecked', 'undecidable']);
  });

  test('a known vulnerability stops beside it', async () => {
    const it = await scene();
    await it.register();
    it.osv.addRecord({ id: 'DEBIAN-CVE-2024-1' }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.12-1'] },
    ]);
    const openssl = actionOf({ name: 'openssl', version: '3.0.12-1' });
    const id = await it.update(it.foreign(), openssl);
    expect((await it.approve(id)).body.blocked_by).toBe('vulnerability');
  });

  test('it counts until its end, and not after its revocation; both are events', async () => {
    const { update, foreign, register, verdictOf, call, clock, eventsOf, platform } = await scene();
    const { id: first } = await register();
    const id = await update(foreign());
    expect((await call('DELETE', `${URL}/${first}`)).status).toBe(204);
    expect((await call('DELETE', `${URL}/${first}`)).status).toBe(404);
    expect((await verdictOf(id))[2]).toBe('not_registered');
    const { id: second } = await register();
    expect((await verdictOf(id))[2]).toBe('allowed');
    clock.advance(Date.parse(BODY.ends_at) - platform.now());
    expect((await verdictOf(id))[2]).toBe('not_registered');
    await recordEndedOrigins(platform);
    await recordEndedOrigins(platform);
    const about = async (type: string) => (await eventsOf(type)).map(({ origin_id }) => origin_id);
    expect([await about('origin_revoked'), await about('origin_expired')]).toEqual([[first], [second]]);
    const { items } = (await call('GET', URL)).body;
    expect(items.map(({ state }: { state: string }) => state)).toEqual(['expired', 'revoked']);
  });

  test.each([
    ['an age for allow', { min_age_days: 3 }, '/min_age_days'],
    ['no age for allow_older_than', { rule: 'allow_older_than' }, '/min_age_days'],
    ['an end in the past', { ends_at: '2020-01-01T00:00:00Z' }, '/ends_at'],
    ['an end in two years', { ends_at: '2028-12-01T00:00:00Z' }, '/ends_at'],
    ['a short key', { key: 'abcd' }, '/key'],
    ['no suite', { suites: [] }, '/suites'],
    ['a blank reason', { reason: ' ' }, '/reason'],
  ])('%s is refused, and named', async (_what, body, path) => {
    const { call } = await scene();
    const answer = await call('POST', URL, { ...BODY, ...body });
    expect([answer.status, answer.body.errors[0].path]).toEqual([400, path]);
  });
});
