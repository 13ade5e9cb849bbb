import { describe, expect, test } from 'vitest';
import type { Database, Tx } from '../platform/db/engine.ts';
import {
  type ApprovalsApp,
  type ApprovalsAppOptions,
  actionOf,
  createApprovalsApp,
} from '../testing/approvals-app.ts';
import { SAMPLED_ENGINES, type TestEngine } from '../testing/engines.ts';
import { findUpdate } from '../updates/store.ts';
import { sweepOnce } from './sweep.ts';

/** One package per ecosystem, as the host and as the database names it. */
const HOSTS = {
  npm: { osv: 'npm', asked: '3.0.12', version: '3.0.12', os: ['debian', '12'] },
  pypi: { osv: 'PyPI', asked: '3.0.12', version: '3.0.12', os: ['debian', '12'] },
  apt: { osv: 'Debian:12', asked: '3.0.12-1', version: '3.0.12-1', os: ['debian', '12'] },
  dnf: { osv: 'AlmaLinux:9', asked: '0:3.0.12-1.el9', version: '3.0.12-1.el9', os: ['almalinux', '9.4'] },
} as const;
const ECOSYSTEMS = ['npm', 'pypi', 'apt', 'dnf'] as const;

/** A host of the ecosystem with both sources of advisories; nothing is loaded yet, and every source is healthy. */
async function setUp(engine: TestEngine, ecosystem: keyof typeof HOSTS, options: ApprovalsAppOptions = {}) {
  const { settings, ...rest } = options;
  const it = await createApprovalsApp(engine, {
    settings: { advisorySource: 'mirror+api', gateEnforcement: 'off', ...settings },
    ...rest,
  });
  const { osv, asked, version, os } = HOSTS[ecosystem];
  for (const source of [it.osv, it.mirrored]) source.covered.add(osv);
  const [os_id, os_version_id] = os;
  await it.database.transact((tx) => tx.updateTable('agents').set({ os_id, os_version_id }).execute());
  const { mirror } = it;
  if (!mirror) throw new Error('no mirror');
  const planOf = (names: string[]) => names.map((name) => actionOf({ name, version, ecosystem }));
  return {
    ...it,
    mirror,
    flag: (id: string, name: string, source = it.osv) =>
      source.addRecord({ id, modified: '2026-11-20T00:00:00Z' }, [
        { ecosystem: osv, name, versions: [asked] },
      ]),
    /** The first is the update, the others come with it. */
    add: (...names: string[]) =>
      it.addUpdate({ name: names[0] ?? '', version, ecosystem, plan: planOf(names) }),
    /** Approved before its plan was known, which has come since. */
    async addAwaited(...names: string[]) {
      const id = await it.addUpdate({ name: names[0] ?? '', version, ecosystem, plan: null });
      expect((await it.approve(id)).status).toBe(202);
      await it.addPlan([id], planOf(names));
      return id;
    },
  };
}

type Scene = Awaited<ReturnType<typeof setUp>>;

/** A request made while the API has not answered yet; the mirror loads before the answer arrives. */
async function overtake<T>(it: Scene, ask: () => Promise<T>): Promise<T> {
  const before = it.osv.requests.length;
  const release = it.osv.hold();
  const asked = ask();
  await expect.poll(() => it.osv.requests.length).toBeGreaterThan(before);
  await it.mirror.refresh();
  release();
  return asked;
}

async function tokensOf({ database }: ApprovalsApp): Promise<string[]> {
  const rows = await database.read.selectFrom('approval_updates').select('update_id').execute();
  return rows.map((row) => row.update_id);
}

/** Whether a transaction mints the first token there is; it is rolled back. */
async function wouldMint(database: Database, work: (tx: Tx) => Promise<unknown>): Promise<boolean> {
  const undone = new Error('undone');
  let isMinted = false;
  const tried = database.transact(async (tx) => {
    await work(tx);
    isMinted = (await tx.selectFrom('approvals').select('token_id').execute()).length > 0;
    throw undone;
  });
  await expect(tried).rejects.toBe(undone);
  return isMinted;
}

describe.each(SAMPLED_ENGINES)('what is not judged yet, on $name', (engine) => {
  describe.each(ECOSYSTEMS)('%s', (ecosystem) => {
    test.each(['MAL-2026-1', 'CVE-2026-1'])(
      'A1: %s from the API after the mirror has loaded blocks approval, bulk and preview',
      async (id) => {
        const it = await setUp(engine, ecosystem);
        it.flag(id, 'bad');
        const single = await it.add('bad');
        const stop = { blocked_by: 'vulnerability', reason: 'known_vulnerability', introduces: [{ id }] };
        expect(await overtake(it, () => it.approve(single))).toMatchObject({ status: 409, body: stop });

        const other = await setUp(engine, ecosystem);
        other.flag(id, 'bad');
        const bulked = await other.add('bad');
        const bulk = () => other.call('POST', '/api/v1/updates/approve', { update_ids: [bulked] });
        expect((await overtake(other, bulk)).body).toMatchObject({ approved: [], blocked: [stop] });
        const preview = await other.call('POST', `/api/v1/updates/${bulked}/preview`);
        expect(preview).toMatchObject({ status: 200, body: stop });
        expect([await tokensOf(it), await tokensOf(other)]).toEqual([[], []]);
      },
    );

    test('A2: an update that the API calls clear after the mirror has loaded is approved, and the sweep confirms it', async () => {
      const it = await setUp(engine, ecosystem);
      const good = await it.add('good');
      expect((await overtake(it, () => it.approve(good))).status).toBe(200);

      const swept = await setUp(engine, ecosystem);
      const awaited = await swept.addAwaited('good');
      await overtake(swept, () => sweepOnce(swept.deps));
      expect(await findUpdate(swept.database.read, awaited)).toMatchObject({ state: 'approved' });
    });

    test('a full queue is verdict_pending, mints and hands back nothing, and clears on repeated requests', async () => {
      const it = await setUp(engine, ecosystem, { queueMax: 1 });
      it.flag('MAL-2026-1', 'bad');
      const [single, awaited] = [
        await it.add('top', 'lib', 'bad'),
        await it.addAwaited('swept', 'lib', 'bad'),
      ];
      // One package fits into the queue each time.
      await sweepOnce(it.deps);
      expect(await findUpdate(it.database.read, awaited)).toMatchObject({ state: 'awaiting_plan' });
      expect(await it.approve(single)).toMatchObject({ status: 503, code: 'verdict_pending' });
      const bulk = await it.call('POST', '/api/v1/updates/approve', { update_ids: [single] });
      expect(bulk.body).toMatchObject({ skipped: [{ code: 'verdict_pending' }], blocked: [] });
      expect(await it.approve(single)).toMatchObject({
        status: 409,
        body: { reason: 'known_vulnerability' },
      });
      await sweepOnce(it.deps);
      expect(await findUpdate(it.database.read, awaited)).toMatchObject({ state: 'pending' });
      expect(await tokensOf(it)).toEqual([]);
    });

    test('a stopping server queries nothing: nothing is minted, blocked or handed back', async () => {
      const it = await setUp(engine, ecosystem);
      const ids = [await it.add('bad'), await it.addAwaited('bad-swept')];
      it.flag('MAL-2026-1', 'bad');
      it.osv.hold();
      const approval = it.approve(ids[0] ?? '');
      const sweep = sweepOnce(it.deps);
      await expect.poll(() => it.osv.requests.length).toBeGreaterThan(0);
      await it.worker.stop();
      expect(await approval).toMatchObject({ status: 503, code: 'verdict_pending' });
      await sweep;
      expect(await findUpdate(it.database.read, ids[1] ?? '')).toMatchObject({ state: 'awaiting_plan' });
      expect(await tokensOf(it)).toEqual([]);
    });
  });

  test.each(ECOSYSTEMS)(
    'A1: %s: an advisory that arrives while the approval is written blocks it',
    async (ecosystem) => {
      let before: (() => Promise<void>) | null = null;
      const it = await setUp(engine, ecosystem, {
        wrap: (database) => ({
          ...database,
          async transact(work) {
            if (before && (await wouldMint(database, work))) {
              const run = before;
              before = null;
              await run();
            }
            return database.transact(work);
          },
        }),
      });
      const [single, bulked] = [await it.add('bad'), await it.add('bad-bulk')];
      await it.mirror.refresh();
      for (const id of [single, bulked]) {
        expect((await it.call('POST', `/api/v1/updates/${id}/preview`)).body).toMatchObject({
          verdict: 'clear',
        });
      }
      const learn = (name: string) => async () => {
        it.flag(`MAL-${name}`, name);
        await it.mirror.refresh();
      };
      it.clock.advance(15 * 60_000);
      before = learn('bad');
      expect(await it.approve(single)).toMatchObject({
        status: 409,
        body: { reason: 'known_vulnerability' },
      });
      it.clock.advance(15 * 60_000);
      before = learn('bad-bulk');
      const bulk = await it.call('POST', '/api/v1/updates/approve', { update_ids: [bulked] });
      const blocked = [{ update_id: bulked, reason: 'known_vulnerability' }];
      expect(bulk.body).toMatchObject({ approved: [], skipped: [], blocked });
      expect(await tokensOf(it)).toEqual([]);
    },
  );

  test.each(ECOSYSTEMS)(
    'A1: %s: an API "clear" from while the mirror was too old is judged by the mirror again',
    async (ecosystem) => {
      const it = await setUp(engine, ecosystem, { isExportApart: true });
      const id = await it.add('bad');
      it.flag('MAL-2026-1', 'bad', it.mirrored);
      await it.mirror.refresh();
      it.exported.mode = 'down';
      it.clock.advance(25 * 3_600_000);
      await it.mirror.refresh();
      const preview = () => it.call('POST', `/api/v1/updates/${id}/preview`);
      expect((await preview()).body).toMatchObject({ verdict: 'clear', source: 'api' });
      it.exported.mode = 'up';
      it.clock.advance(3_600_000);
      await it.mirror.refresh();
      expect(await it.approve(id)).toMatchObject({ status: 409, body: { reason: 'known_vulnerability' } });
    },
  );

  test.each(ECOSYSTEMS)(
    'A1: %s: an archive older than an API finding does not remove it; newer data may',
    async (ecosystem) => {
      const it = await setUp(engine, ecosystem, { isExportApart: true });
      const id = await it.add('bad');
      it.flag('MAL-2026-1', 'bad');
      expect(await it.approve(id)).toMatchObject({ status: 409, body: { source: 'api' } });
      it.mirrored.addRecord({ id: 'CVE-0', modified: '2026-11-21T06:00:00Z' }, [
        { ecosystem: HOSTS[ecosystem].osv, name: 'other', all: true },
      ]);
      const base = HOSTS[ecosystem].osv.split(':')[0];
      it.exported.files.set(`${base}/modified_id.csv`, '<html>');
      await it.mirror.refresh();
      expect(await it.approve(id)).toMatchObject({ status: 409, body: { reason: 'known_vulnerability' } });
      it.exported.files.delete(`${base}/modified_id.csv`);
      it.clock.advance(3_600_000);
      await it.mirror.refresh();
      expect((await it.approve(id)).status).toBe(200);
    },
  );
});
