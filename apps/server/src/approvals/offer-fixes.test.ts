import type { InventoryUpdate } from '@tidegate/protocol/agent-api';
import { Ecosystem } from '@tidegate/protocol/scalars';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { expireChecks } from '../advisories/mirror/store.ts';
import { listCommands } from '../commands/store.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { type ApprovalsApp, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { offersOf, RECOMMENDED_HERE } from '../updates/offer-rules.ts';
import { recommendOffers } from '../updates/recommend-offers.ts';
import { recordCandidates } from '../updates/record-candidates.ts';
import { recordScan } from '../updates/record-scan.ts';
import { createFixPasses, offerFixes } from './offer-fixes.ts';

const CANDIDATES = ['1.4.8', '1.4.9', '1.9.2', '3.0.0'];
const place = '/srv/app';

describe.each(ENGINES)('the smallest fix on $name', (engine) => {
  const open = (settings = {}) => createApprovalsApp(engine, { settings });

  function deps(it: ApprovalsApp) {
    return { platform: it.platform, config: it.config, worker: it.worker };
  }

  /** What the agent reports of a package: two offers, and what it may install. */
  async function scan(
    it: ApprovalsApp,
    {
      agentId = it.agentId,
      name = 'demo',
      ecosystem = 'npm',
      current = '1.4.0',
      candidates = CANDIDATES,
    } = {},
  ) {
    it.clock.advance(1_000);
    const base = { name, current_version: current, arch: place };
    const updates: InventoryUpdate[] = [
      { ...base, available_version: '1.9.2', offers: ['series'] },
      { ...base, available_version: '3.0.0', offers: ['newest'], candidates },
    ];
    const of = { agentId, ecosystem: Value.Parse(Ecosystem, ecosystem) };
    const packages = [{ name, version: current, arch: place }];
    const report = {
      scanned_at: new Date(it.platform.now()).toISOString(),
      complete: true,
      packages,
      updates,
    };
    await it.database.transact(async (tx) => {
      await recordScan(tx, it.platform, { ...of, report });
      await recordCandidates(tx, { ...of, report });
      await recommendOffers(tx, { ...of, maxChange: it.config.maxChange });
    });
  }

  /** The pending updates of a host: version, offers, and `*` if recommended. */
  async function pending(it: ApprovalsApp, agentId = it.agentId): Promise<string[]> {
    const rows = await it.database.read
      .selectFrom('updates')
      .select(['available_version', 'offers', 'recommended'])
      .where('agent_id', '=', agentId)
      .where('state', '=', 'pending')
      .execute();
    return rows
      .map((row) => {
        const mark = (row.recommended & RECOMMENDED_HERE) === 0 ? '' : ' *';
        return `${row.available_version} ${offersOf(row.offers)}${mark}`;
      })
      .toSorted();
  }

  const npm =
    (versions: readonly string[], id = 'CVE-1') =>
    (it: ApprovalsApp) => {
      it.osv.addRecord({ id, summary: 'bad' }, [{ ecosystem: 'npm', name: 'demo', versions: [...versions] }]);
    };

  test('is offered beside the others, with a plan asked of the agent', async () => {
    const it = await open();
    npm(['1.4.0', '1.4.8'])(it);
    await scan(it);
    await offerFixes(deps(it), { onlyNew: true });
    expect(await pending(it)).toEqual(['1.4.9 smallest_fix', '1.9.2 series', '3.0.0 newest *']);
    const filter = { action: 'plan_update' };
    const commands = await listCommands(it.database.read, { filter, scope: null, limit: 9, before: null });
    expect(commands.map(({ params }) => JSON.parse(params))).toMatchObject([
      { ecosystem: 'npm', updates: [{ name: 'demo', arch: place, to_version: '1.4.9' }] },
    ]);
    // Neither another pass nor another scan changes anything.
    await offerFixes(deps(it), { onlyNew: false });
    await scan(it);
    await offerFixes(deps(it), { onlyNew: true });
    expect(await pending(it)).toEqual(['1.4.9 smallest_fix', '1.9.2 series', '3.0.0 newest *']);
    expect(
      (await listCommands(it.database.read, { filter, scope: null, limit: 9, before: null })).length,
    ).toBe(1);
  });

  test('may be a version that is offered anyway: then it is one row', async () => {
    const it = await open();
    npm(['1.4.0', '1.4.8', '1.4.9'])(it);
    await scan(it);
    await offerFixes(deps(it), { onlyNew: true });
    expect(await pending(it)).toEqual(['1.9.2 series,smallest_fix', '3.0.0 newest *']);
  });

  test('is recommended where the greatest change does not reach it', async () => {
    const it = await open({ maxChange: 'minor' });
    npm(['1.4.0', '1.4.8', '1.4.9', '1.9.2'])(it);
    await scan(it);
    await offerFixes(deps(it), { onlyNew: true });
    expect(await pending(it)).toEqual(['1.9.2 series', '3.0.0 newest,smallest_fix *']);
  });

  test('moves when more becomes known, and ends when nothing is left', async () => {
    const it = await open();
    npm(['1.4.0'])(it);
    await scan(it);
    await offerFixes(deps(it), { onlyNew: true });
    expect(await pending(it)).toContain('1.4.8 smallest_fix');
    npm(['1.4.0', '1.4.8'], 'CVE-2')(it);
    it.clock.advance(it.config.advisoryMaxAgeHours * 3_600_000);
    await offerFixes(deps(it), { onlyNew: false });
    expect(await pending(it)).toEqual(['1.4.9 smallest_fix', '1.9.2 series', '3.0.0 newest *']);
    await scan(it, { current: '1.4.9', candidates: ['1.9.2', '3.0.0'] });
    await offerFixes(deps(it), { onlyNew: true });
    expect(await pending(it)).toEqual(['1.9.2 series', '3.0.0 newest *']);
  });

  test('is not guessed: while the source is away nothing is offered, and nothing withdrawn', async () => {
    const it = await open();
    npm(['1.4.0'])(it);
    await scan(it);
    it.osv.mode = 'down';
    await offerFixes(deps(it), { onlyNew: true });
    expect(await pending(it)).toEqual(['1.9.2 series', '3.0.0 newest *']);
    it.osv.mode = 'up';
    await offerFixes(deps(it), { onlyNew: false });
    expect(await pending(it)).toContain('1.4.8 smallest_fix');
  });

  test('is looked up again soon where something was not known, and not only with the whole fleet', async () => {
    const it = await open();
    npm(['1.4.0'])(it);
    let asked = 0;
    // As when the mirror's first load ends between an answer of the API and its use.
    const worker: ApprovalsApp['worker'] = {
      ...it.worker,
      async judgeInBackground(subjects, timeoutMs) {
        const judged = await it.worker.judgeInBackground(subjects, timeoutMs);
        asked += 1;
        if (asked % 2 === 0 && asked < 6)
          await it.database.transact((tx) => expireChecks(tx, { base: 'npm', asOfMs: it.platform.now() }));
        return judged;
      },
    };
    const passes = createFixPasses({ ...deps(it), worker }, { intervalMs: 30_000 });
    await passes.next();
    await scan(it);
    const found: boolean[] = [];
    for (let tick = 1; tick <= 6; tick++) {
      await passes.next();
      found.push((await pending(it)).includes('1.4.8 smallest_fix'));
    }
    // Ticks 1 and 2 do not know the versions offered; the wait before the third look-up is two ticks.
    expect(found).toEqual([false, false, false, true, true, true]);
    expect(asked).toBe(6);
  });

  test('is looked up again each hour, however often new packages are', async () => {
    const it = await open();
    npm(['1.4.0'])(it);
    let asked = 0;
    const worker: ApprovalsApp['worker'] = {
      ...it.worker,
      judgeInBackground(subjects, timeoutMs) {
        asked += 1;
        return it.worker.judgeInBackground(subjects, timeoutMs);
      },
    };
    await scan(it);
    const passes = createFixPasses({ ...deps(it), worker }, { intervalMs: 20 * 60_000 });
    const afterEach: number[] = [];
    for (let tick = 0; tick < 7; tick++) {
      await passes.next();
      afterEach.push(asked);
    }
    // What is installed, then what is offered.
    expect(afterEach).toEqual([2, 2, 2, 4, 4, 4, 6]);
  });

  test('and the other offers: when one is rejected, another is recommended, until it is reopened', async () => {
    const it = await open();
    await scan(it);
    const newest = await it.database.read
      .selectFrom('updates')
      .select('id')
      .where('available_version', '=', '3.0.0')
      .executeTakeFirstOrThrow();
    expect((await it.call('POST', `/api/v1/updates/${newest.id}/reject`, {})).status).toBe(200);
    expect(await pending(it)).toEqual(['1.9.2 series *']);
    expect((await it.call('POST', `/api/v1/updates/${newest.id}/reopen`)).status).toBe(200);
    expect(await pending(it)).toEqual(['1.9.2 series', '3.0.0 newest *']);
  });

  test('of one host is nothing to another, whatever versions that one claims', async () => {
    const it = await open();
    npm(['1.4.0', '1.4.8'])(it);
    const { agentId: other } = await insertTestAgent(it.database, { n: 2 });
    await scan(it, { candidates: ['1.4.1', '1.3.0', '0.0.1'] }); // 1.4.1 exists nowhere
    await scan(it, { agentId: other });
    await offerFixes(deps(it), { onlyNew: true });
    expect(await pending(it)).toContain('1.4.1 smallest_fix');
    expect(await pending(it, other)).toContain('1.4.9 smallest_fix');
  });
});
