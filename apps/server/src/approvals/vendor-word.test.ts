import { describe, expect, test } from 'vitest';
import { saveFetched, saveScores } from '../advisories/exploited/store.ts';
import { saveAdvisories } from '../advisories/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { findUpdate } from '../updates/store.ts';
import { sweepOnce } from './sweep.ts';

const UNIMPORTANT = { urgency: 'unimportant' };

describe.each(ENGINES)('the word of the distribution on $name', (engine) => {
  async function scene(
    {
      specific = UNIMPORTANT,
      id = 'DEBIAN-CVE-2019-1',
      ...rest
    }: Record<string, unknown> & { id?: string } = {},
    settings: Parameters<typeof createApprovalsApp>[1] = {},
  ) {
    const it = await createApprovalsApp(engine, settings);
    const affected = { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.12-1'] };
    it.osv.addRecord({ id, summary: 'bad', upstream: ['CVE-2019-1'], ...rest }, [
      { ...affected, specific: Object(specific) },
    ]);
    return it;
  }

  test.each(['api', 'mirror'] as const)(
    'unimportant is listed as the word of Debian and does not stop: from the %s',
    async (advisorySource) => {
      const it = await scene({}, { settings: { advisorySource } });
      const { addUpdate, approve, call, mirror } = it;
      const id = await addUpdate();
      await mirror?.refresh();
      const shown = (await call('POST', `/api/v1/updates/${id}/preview`)).body;
      expect(shown).toMatchObject({
        ...{ verdict: 'vulnerable', blocked_by: null },
        introduces: [
          {
            id: 'DEBIAN-CVE-2019-1',
            vendor: { by: 'debian', status: 'unimportant' },
            excuse: { by: 'vendor', vendor: 'debian', status: 'unimportant' },
          },
        ],
      });
      const { status, body } = await approve(id);
      expect({ status, warnings: body.warnings.map(({ code }: { code: string }) => code) }).toEqual({
        ...{ status: 200, warnings: ['unimportant_not_counted'] },
      });
      // The token stays truthful: what is installed has a known vulnerability.
      const token = JSON.parse(Buffer.from(body.token.payload, 'base64').toString());
      expect(token.verdict.vulnerability).toBe('vulnerable');
      const [decision] = (await call('GET', `/api/v1/updates/${id}/decisions`)).body.items;
      const { record, replays } = (await call('GET', `/api/v1/decisions/${decision.id}`)).body;
      expect({ replays, policy: record.policy.unimportant, warnings: record.verdict.warnings }).toEqual({
        ...{ replays: true, policy: 'pass', warnings: ['unimportant_not_counted'] },
      });
      expect(record.facts.judged.closure.findings.items).toMatchObject([
        { vendor: { by: 'debian', status: 'unimportant' } },
      ]);
    },
  );

  test.each([
    ['of another release', { ecosystem: 'Debian:11' }],
    ['of another package', { name: 'zlib' }],
  ])('unimportant %s in the same record excuses nothing', async (_what, other) => {
    const it = await createApprovalsApp(engine);
    const affected = { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.12-1'] };
    it.osv.addRecord({ id: 'DEBIAN-CVE-2019-1' }, [
      { ...affected, ...other, specific: UNIMPORTANT },
      { ...affected, specific: { urgency: 'not yet assigned' } },
    ]);
    const { status, body } = await it.approve(await it.addUpdate());
    expect({ status, reason: body.reason }).toEqual({ status: 409, reason: 'known_vulnerability' });
    expect(body.introduces).toMatchObject([{ vendor: null, excuse: null }]);
  });

  test.each([
    ['ignored', { specific: { urgency: 'ignored' } }],
    ['postponed', { specific: { urgency: 'not yet assigned', nodsa_reason: 'postponed' } }],
    ['not_affected', { specific: { urgency: 'not-affected' } }],
  ])('%s is shown and stops: unimportant alone counts as no stop', async (status, record) => {
    const it = await scene(record);
    const answer = await it.approve(await it.addUpdate());
    expect(answer.status).toBe(409);
    expect(answer.body.introduces).toMatchObject([{ vendor: { by: 'debian', status }, excuse: null }]);
  });

  test('a malicious package stops whatever the distribution says', async () => {
    const it = await scene({ aliases: ['MAL-2026-1'] });
    expect((await it.approve(await it.addUpdate())).status).toBe(409);
  });

  test('a vulnerability known to be exploited stops whatever the distribution says', async () => {
    const it = await scene();
    await it.database.transact(async (tx) => {
      await saveScores(tx, 'kev', [['CVE-2019-1', 1]]);
      await saveFetched(tx, { feed: 'kev', nowMs: it.platform.now(), entries: 1, asOfMs: it.platform.now() });
    });
    const { status, body } = await it.approve(await it.addUpdate());
    expect({ status, introduces: body.introduces }).toMatchObject({
      status: 409,
      introduces: [{ kev: true, excuse: null, vendor: { status: 'unimportant' } }],
    });
  });

  test('with SERVICE_SUPPLY_CHAIN_UNIMPORTANT=block it stops like any other', async () => {
    const it = await scene({}, { settings: { unimportant: 'block' } });
    const { status, body } = await it.approve(await it.addUpdate());
    expect({ status, introduces: body.introduces }).toMatchObject({
      status: 409,
      introduces: [{ excuse: null }],
    });
  });

  test('A8: the sweep mints by the word of the vendor', async () => {
    const it = await scene();
    const id = await it.addUpdate({ plan: null });
    expect((await it.approve(id)).status).toBe(202);
    const actions = [actionOf({ name: 'openssl', version: '3.0.12-1', ecosystem: 'apt' })];
    await it.addPlan([id], actions);
    await sweepOnce(it.deps);
    expect(await findUpdate(it.database.read, id)).toMatchObject({ state: 'approved' });
  });

  test.each<[string, (tx: Tx, nowMs: number) => Promise<void>]>([
    [
      'the word of the distribution that changed',
      async (tx) => {
        const row = await tx.selectFrom('advisories').selectAll().executeTakeFirstOrThrow();
        const record = row.record.replace('"unimportant"', '"high"');
        expect(record).not.toBe(row.record);
        await saveAdvisories(tx, [{ ...row, record, modified: '2026-11-22T00:00:00Z' }]);
      },
    ],
    [
      'an entry of the KEV list that appeared',
      async (tx, nowMs) => {
        await saveScores(tx, 'kev', [['CVE-2019-1', 1]]);
        await saveFetched(tx, { feed: 'kev', nowMs, entries: 1, asOfMs: nowMs });
      },
    ],
  ])('%s between the judgment and the token: nothing is minted', async (_what, change) => {
    const it = await scene();
    const id = await it.addUpdate();
    // Afterwards nothing is left to fetch, so the approval's first transaction is the one that mints.
    expect((await it.call('POST', `/api/v1/updates/${id}/preview`)).status).toBe(200);
    const { transact } = it.platform.database;
    let isChanged = false;
    it.platform.database.transact = async (work) => {
      if (!isChanged) {
        isChanged = true;
        await transact((tx) => change(tx, it.platform.now()));
      }
      return transact(work);
    };
    const { status, body } = await it.approve(id);
    it.platform.database.transact = transact;
    expect({ status, reason: body.reason }).toEqual({ status: 409, reason: 'known_vulnerability' });
    expect(await it.database.read.selectFrom('approvals').selectAll().execute()).toEqual([]);
  });
});
