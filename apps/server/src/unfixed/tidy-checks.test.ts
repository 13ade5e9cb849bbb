import { describe, expect, test } from 'vitest';
import { saveChecks } from '../advisories/store.ts';
import { type Subject, subjectKey } from '../advisories/subjects.ts';
import { tidyIdentities } from '../installed/tidy-installed.ts';
import { ENGINES } from '../testing/engines.ts';
import { createInstalledFleet } from '../testing/installed-fleet.ts';
import { tidyChecks, UNUSED_CHECK_MS } from './tidy-checks.ts';

const HOUR_MS = 3_600_000;
const MAX_AGE_MS = 24 * HOUR_MS;
const OLD = '3.0.11-1';

describe.each(ENGINES)('answers about versions that nothing uses on $name', (engine) => {
  async function scene() {
    const it = await createInstalledFleet(engine);
    const { database, platform, clock } = it;
    const tidy = (isStopped = () => false) =>
      tidyChecks(platform, { advisoryMaxAgeHours: MAX_AGE_MS / HOUR_MS }).run(isStopped);
    const subjectOf = (version: string, name = 'openssl'): Subject => ({
      ...{ ecosystem: 'Debian:12', name, version },
    });
    return {
      ...it,
      tidy,
      subjectOf,
      save: (subjects: readonly Subject[], verdict: 'clear' | 'vulnerable' = 'vulnerable') =>
        database.transact((tx) =>
          saveChecks(
            tx,
            subjects.map((subject) => ({
              ...{ subject, verdict, reason: null, ids: verdict === 'clear' ? [] : ['CVE-1'] },
              ...{ checkedAtMs: platform.now(), source: 'api', snapshot: null },
            })),
            { keeps: 'nothing', nowMs: platform.now() },
          ),
        ),
      async stored(): Promise<string[]> {
        const rows = await database.read.selectFrom('advisory_checks').selectAll().execute();
        return rows.map(({ name, version }) => `${name} ${version}`).sort();
      },
      async marked(): Promise<string[]> {
        const rows = await database.read.selectFrom('advisory_checks').selectAll().execute();
        return rows.filter(({ unused_since }) => unused_since !== null).map(({ version }) => version);
      },
      /** As the fleet does: counts, which looks up what is too old, and tidies each hour. */
      async live(ms: number): Promise<void> {
        for (let lived = 0; lived < ms; lived += HOUR_MS) {
          clock.advance(HOUR_MS);
          await it.pass();
          await tidyIdentities(platform).run(() => false);
          await tidy();
        }
      },
    };
  }

  test('go a day after they are too old; what hosts have stays, and is not asked about more often', async () => {
    const it = await scene();
    it.vulnerable({ version: OLD });
    it.vulnerable({ name: 'zlib', version: '1-1' });
    const rotating = await it.addHost({ openssl: OLD, bash: '5.2-1' });
    await it.addHost({ zlib: '1-1', sed: '4-1' });
    await it.pass();
    for (const n of [1, 2, 3]) {
      it.vulnerable({ version: `9-${n}` });
      await it.install(rotating, { openssl: `9-${n}`, bash: `9-${n}` });
      await it.pass();
    }
    const used = ['bash 9-3', 'openssl 9-3', 'sed 4-1', 'zlib 1-1'];
    expect(await it.stored()).toHaveLength(10);
    await it.live(MAX_AGE_MS);
    expect(await it.stored()).toHaveLength(10);
    await it.live(UNUSED_CHECK_MS + 2 * HOUR_MS);
    expect(await it.stored()).toEqual(used);
    const asked = () =>
      it.osv.requests.filter(({ body }) => JSON.stringify(body ?? null).includes('"4-1"')).length;
    const before = asked();
    await it.live(3 * MAX_AGE_MS);
    expect(await it.stored()).toEqual(used);
    // Once a day, as they are too old then.
    expect(asked() - before).toBeGreaterThanOrEqual(2);
    expect(asked() - before).toBeLessThanOrEqual(4);
  });

  test('a vulnerability of what a host has stays, however old its answer is', async () => {
    const it = await scene();
    it.vulnerable({ version: OLD });
    await it.addHost({ openssl: OLD });
    await it.pass();
    await it.save([it.subjectOf('1-1')]);
    for (const _ of [1, 2, 3, 4]) {
      it.clock.advance(MAX_AGE_MS);
      // The sources answer, and for this package they do not.
      await it.save([it.subjectOf('2-1', 'other')]);
      await it.tidy();
    }
    expect(await it.stored()).toEqual(['openssl 3.0.11-1', 'other 2-1']);
  });

  test('none go while the sources do not answer for their ecosystem, nor in the day after', async () => {
    const it = await scene();
    const old = it.subjectOf('1-1');
    const npm = { ecosystem: 'npm', name: 'left-pad', version: '1.0.0' };
    await it.save([old]);
    it.clock.advance(MAX_AGE_MS);
    await it.save([it.subjectOf('2-1')]);
    await it.tidy();
    expect(await it.marked()).toEqual(['1-1']);
    // From here on only npm answers.
    for (let hours = 0; hours < 72; hours++) {
      it.clock.advance(HOUR_MS);
      if (hours > 24) await it.save([npm]);
      if (hours > 24) await it.tidy();
    }
    expect(await it.stored()).toContain('openssl 1-1');
    expect(await it.marked()).toEqual([]);
    await it.save([it.subjectOf('3-1')]);
    await it.tidy();
    expect((await it.marked()).toSorted()).toEqual(['1-1', '2-1']);
    it.clock.advance(UNUSED_CHECK_MS - 1);
    await it.tidy();
    expect(await it.stored()).toContain('openssl 1-1');
    it.clock.advance(1);
    await it.save([it.subjectOf('3-1')]);
    await it.tidy();
    expect(await it.stored()).toEqual(['left-pad 1.0.0', 'openssl 3-1']);
  });

  test('an answer that comes in meanwhile stays, and counts from then on', async () => {
    const it = await scene();
    const [asked, fresh] = [it.subjectOf('1-1'), it.subjectOf('2-1')];
    await it.save([asked], 'clear');
    it.clock.advance(MAX_AGE_MS);
    await it.save([fresh]);
    await it.tidy();
    expect(await it.marked()).toEqual(['1-1']);
    it.clock.advance(UNUSED_CHECK_MS);
    await it.save([asked, fresh], 'clear');
    expect(await it.marked()).toEqual([]);
    await it.tidy();
    expect(await it.stored()).toEqual([asked, fresh].map(({ name, version }) => `${name} ${version}`));
    it.clock.advance(MAX_AGE_MS);
    await it.save([fresh], 'clear');
    await it.tidy();
    expect(await it.stored()).toHaveLength(2);
  });

  test('go in parts of any number, until the server stops, and a clock that was set back holds them no longer', async () => {
    const it = await scene();
    const many = Array.from({ length: 950 }, (_, n) => it.subjectOf(`1-${n}`));
    await it.save(many, 'clear');
    await it.database.transact((tx) =>
      tx
        .updateTable('advisory_checks')
        .set({ unused_since: it.platform.now() + 10 * MAX_AGE_MS })
        .where('version', 'in', ['1-1', '1-2'])
        .execute(),
    );
    it.clock.advance(MAX_AGE_MS);
    await it.save([it.subjectOf('2-1')]);
    expect(await it.tidy()).toBe(0);
    it.clock.advance(UNUSED_CHECK_MS);
    await it.save([it.subjectOf('2-1')]);
    let looks = 0;
    expect(await it.tidy(() => looks++ === 1)).toBe(400);
    expect(await it.tidy()).toBe(550);
    expect(await it.stored()).toEqual(['openssl 2-1']);
    expect(new Set(many.map(subjectKey)).size).toBe(950);
  });
});
