import { describe, expect, test } from 'vitest';
import { readSnapshots } from '../advisories/mirror/store.ts';
import type { Config } from '../config.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';

const HOUR_MS = 3_600_000;
const MINUTE_MS = 60_000;

describe.each(ENGINES)('approvals over the mirror of advisories on $name', (engine) => {
  async function scene(settings: Partial<Config> = {}) {
    const it = await createApprovalsApp(engine, { settings: { advisorySource: 'mirror', ...settings } });
    const { mirror } = it;
    if (!mirror) throw new Error('no mirror');
    return { ...it, mirror, refresh: () => mirror.refresh() };
  }

  test('A1, A2: from the mirror alone a clear update is minted with its snapshot, a vulnerable one is blocked', async () => {
    const { addUpdate, approve, vulnerable, refresh, osv, database } = await scene();
    const good = await addUpdate({ name: 'zlib' });
    const bad = await addUpdate();
    vulnerable();
    await refresh();
    const blocked = await approve(bad);
    const snapshot = (await readSnapshots(database.read)).get('Debian');
    const id = `osv:Debian@${snapshot?.modifiedMark}#${snapshot?.sha256.slice(0, 16)}`;
    expect(blocked).toMatchObject({
      status: 409,
      code: 'approval_blocked',
      body: {
        reason: 'known_vulnerability',
        source: 'mirror',
        snapshot: id,
        introduces: [{ summary: 'bad' }],
      },
    });
    const minted = await approve(good);
    expect(minted.status).toBe(200);
    const payload = Buffer.from(minted.body.token.payload, 'base64').toString();
    expect(JSON.parse(payload).verdict).toMatchObject({ source: 'mirror', snapshot: id });
    expect(osv.requests).toEqual([]);
  });

  test('reading 5: until the first load is done the answer is verdict_pending, also for an override', async () => {
    const { addUpdate, approve, refresh } = await scene();
    const id = await addUpdate();
    expect(await approve(id)).toMatchObject({ status: 503, code: 'verdict_pending' });
    const override = { override_supply_chain: true, override_reason: 'I am in a hurry' };
    expect(await approve(id, override)).toMatchObject({ status: 503, code: 'verdict_pending' });
    await refresh();
    expect((await approve(id)).status).toBe(200);
  });

  test('A1: a delta with an advisory blocks what was clear a moment ago, a withdrawal lets it pass', async () => {
    const { addUpdate, approve, refresh, osv, clock, call } = await scene();
    const id = await addUpdate();
    await refresh();
    const preview = () => call('POST', `/api/v1/updates/${id}/preview`);
    expect((await preview()).body).toMatchObject({ verdict: 'clear' });
    osv.addRecord({ id: 'MAL-2026-1', modified: '2026-11-21T09:10:00Z' }, [
      { ecosystem: 'Debian:12', name: 'openssl', all: true },
    ]);
    clock.advance(15 * MINUTE_MS);
    await refresh();
    expect(await approve(id)).toMatchObject({ status: 409, body: { reason: 'known_vulnerability' } });
    osv.withdraw('MAL-2026-1', '2026-11-21T09:20:00Z');
    clock.advance(15 * MINUTE_MS);
    await refresh();
    expect((await approve(id)).status).toBe(200);
  });

  test.each(['mirror', 'mirror+api'] as const)(
    'A2: %s: a snapshot that is too old, without another source, blocks apt',
    async (advisorySource) => {
      const { addUpdate, approve, refresh, osv, exported, clock } = await scene({ advisorySource });
      const apt = await addUpdate();
      await refresh();
      exported.mode = 'down';
      osv.mode = 'down';
      clock.advance(24 * HOUR_MS);
      await refresh();
      expect(await approve(apt)).toMatchObject({
        status: 409,
        body: { blocked_by: 'unchecked', reason: 'unreachable', verdict: 'unchecked' },
      });
    },
  );

  test('mirror+api: while the first load is under way the API answers', async () => {
    const { addUpdate, approve } = await scene({ advisorySource: 'mirror+api' });
    const minted = await approve(await addUpdate());
    expect(minted.status).toBe(200);
  });

  test('during the first load it is verdict_pending, whatever the API does; once both failed A2 applies', async () => {
    const alone = await scene();
    expect(await alone.approve(await alone.addUpdate())).toMatchObject({
      status: 503,
      code: 'verdict_pending',
    });
    const both = await scene({ advisorySource: 'mirror+api' });
    both.osv.mode = 'down';
    const id = await both.addUpdate();
    expect(await both.approve(id)).toMatchObject({ status: 503, code: 'verdict_pending' });
    both.exported.mode = 'failing';
    await both.refresh();
    expect(await both.approve(id)).toMatchObject({
      status: 409,
      body: { blocked_by: 'unchecked', reason: 'unreachable', overridable: true },
    });
  });

  test('A2: a release without data in the mirror is uncovered', async () => {
    const { addUpdate, approve, refresh, osv } = await scene();
    osv.covered.delete('Debian:12');
    osv.covered.add('Debian:11');
    const id = await addUpdate();
    await refresh();
    expect(await approve(id)).toMatchObject({ status: 409, body: { reason: 'uncovered' } });
  });
});
