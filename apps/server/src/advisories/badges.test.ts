import { describe, expect, test } from 'vitest';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { findUpdate } from '../updates/store.ts';
import { createBadgeRefresher, refreshBadges } from './badges.ts';

const MAX_AGE_MS = 24 * 3_600_000;
const PATIENCE_MS = 60_000;

describe.each(ENGINES)('badges of open updates on $name', (engine) => {
  async function setUp() {
    // Generous timeouts: on a busy machine a timed-out call would count as an unreachable source.
    const it = await createApprovalsApp(engine, { osvMs: PATIENCE_MS });
    it.osv.addRecord({ id: 'CVE-1', database_specific: { severity: 'HIGH' } }, [
      { ecosystem: 'Debian:12', name: 'openssl', versions: ['3.0.12-1'] },
    ]);
    const ids = [
      await it.addUpdate(),
      await it.addUpdate({ name: 'zlib' }),
      await it.addUpdate({ name: 'x', plan: null }),
    ];
    const options = { platform: it.platform, worker: it.worker, maxAgeMs: MAX_AGE_MS };
    const badges = async () => {
      const rows = await Promise.all(ids.map((id) => findUpdate(it.database.read, id)));
      return rows.map((row) => [row?.verdict, row?.severity]);
    };
    return { ...it, options, badges };
  }

  test('an update with a plan shows its closure’s verdict', async () => {
    const { options, badges } = await setUp();
    await refreshBadges(options, { onlyUnjudged: true });
    expect(await badges()).toEqual([
      ['vulnerable', 'high'],
      ['clear', null],
      [null, null],
    ]);
  });

  test('while the source is unreachable there is no hint, a warning is logged, and nothing is decided', async () => {
    const { options, badges, osv, platform } = await setUp();
    osv.mode = 'down';
    await refreshBadges(options, { onlyUnjudged: true });
    expect(await badges()).toEqual([
      [null, null],
      [null, null],
      [null, null],
    ]);
    expect(platform.lines.filter((line) => /^\[WARNING\] .*supply_chain/.test(line))).toHaveLength(1);
    osv.mode = 'up';
    await refreshBadges(options, { onlyUnjudged: true });
    expect((await badges())[0]).toEqual(['vulnerable', 'high']);
  });

  test('a badge follows later findings', async () => {
    const { options, badges, osv, clock } = await setUp();
    await refreshBadges(options, { onlyUnjudged: false });
    osv.addRecord({ id: 'CVE-2' }, [{ ecosystem: 'Debian:12', name: 'zlib', all: true }]);
    clock.advance(MAX_AGE_MS);
    await refreshBadges(options, { onlyUnjudged: true });
    expect((await badges())[1]).toEqual(['clear', null]);
    await refreshBadges(options, { onlyUnjudged: false });
    expect((await badges())[1]).toEqual(['vulnerable', 'unknown']);
  });

  test('says how many known vulnerabilities an update fixes, and when its badge last changed', async () => {
    const { options, osv, clock, platform, agentId, addUpdate, database } = await setUp();
    for (const id of ['CVE-7', 'CVE-8']) {
      osv.addRecord({ id }, [{ ecosystem: 'Debian:12', name: 'curl', versions: ['1.0.0-1'] }]);
    }
    const id = await addUpdate({ name: 'curl' });
    const row = { agent_id: agentId, ecosystem: 'apt', name: 'curl', arch: '', version: '1.0.0-1' };
    const source = { source_name: 'curl', source_version: '1.0.0-1', held: 0 };
    await database.transact((tx) =>
      tx
        .insertInto('agent_packages')
        .values({ ...row, ...source })
        .execute(),
    );
    await refreshBadges(options, { onlyUnjudged: true });
    const judgedAt = platform.now();
    const read = async () => {
      const row = await findUpdate(database.read, id);
      return { verdict: row?.verdict, fixes: row?.fixes, judged_at: row?.judged_at };
    };
    expect(await read()).toEqual({ verdict: 'clear', fixes: 2, judged_at: judgedAt });
    clock.advance(1_000);
    await refreshBadges(options, { onlyUnjudged: false });
    expect(await read()).toEqual({ verdict: 'clear', fixes: 2, judged_at: judgedAt });
  });

  test('the background work does it by itself, and stops', async () => {
    const { options, badges } = await setUp();
    const refresher = createBadgeRefresher({ ...options, tickMs: 1 });
    refresher.start();
    while ((await badges())[0]?.[0] === null) await new Promise((resolve) => setImmediate(resolve));
    await refresher.stop();
  });
});
