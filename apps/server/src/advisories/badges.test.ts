import { describe, expect, test } from 'vitest';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';
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
    const { platform, worker, stoppedUnder } = it;
    const options = { platform, worker, stoppedUnder, maxAgeMs: MAX_AGE_MS };
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

  test('counts what an update introduces, keeps and fixes, and names the policies that stop it', async () => {
    const { options, osv, addUpdate, database, agentId } = await setUp();
    const affects = (id: string, name: string, versions: string[]) =>
      osv.addRecord({ id }, [{ ecosystem: 'Debian:12', name, versions }]);
    affects('CVE-21', 'curl', ['1.0.0-1']);
    affects('CVE-22', 'curl', ['1.0.0-1', '3.0.12-1']);
    affects('CVE-23', 'vim', ['3.0.12-1']);
    affects('CVE-24', 'vim', ['1.0.0-1', '3.0.12-1']);
    affects('MAL-1', 'nano', ['1.0.0-1', '3.0.12-1']);
    const countsOf = async (name: string, isInstalled = true) => {
      const brought = actionOf({ name, version: '3.0.12-1', ecosystem: 'apt' });
      const id = await addUpdate({
        name,
        plan: [{ ...brought, action: 'upgrade', from_version: '1.0.0-1' }],
      });
      const source = { source_name: name, source_version: '1.0.0-1', held: 0 };
      const present = { agent_id: agentId, ecosystem: 'apt', name, arch: '', version: '1.0.0-1', ...source };
      if (isInstalled) {
        await database.transact((tx) => insertInstalled(tx, present));
      }
      await refreshBadges(options, { onlyUnjudged: true });
      const row = await findUpdate(database.read, id);
      return [row?.introduces, row?.stays, row?.fixes, row?.stopped_under];
    };
    expect(await countsOf('curl')).toEqual([0, 1, 1, 'any']);
    expect(await countsOf('vim')).toEqual([1, 1, 0, 'introduced']);
    expect(await countsOf('nano')).toEqual([0, 1, 0, 'introduced']);
    expect(await countsOf('sed')).toEqual([0, 0, 0, 'neither']);
    // The version on the host has no known source package: what is fixed is not known, and not 0.
    expect(await countsOf('awk', false)).toEqual([0, 0, null, 'neither']);
  });

  test('says how many known vulnerabilities an update fixes, and when its badge last changed', async () => {
    const { options, osv, clock, platform, agentId, addUpdate, database } = await setUp();
    for (const id of ['CVE-7', 'CVE-8']) {
      osv.addRecord({ id }, [{ ecosystem: 'Debian:12', name: 'curl', versions: ['1.0.0-1'] }]);
    }
    const id = await addUpdate({ name: 'curl' });
    const row = { agent_id: agentId, ecosystem: 'apt', name: 'curl', arch: '', version: '1.0.0-1' };
    const source = { source_name: 'curl', source_version: '1.0.0-1', held: 0 };
    await database.transact((tx) => insertInstalled(tx, { ...row, ...source }));
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
