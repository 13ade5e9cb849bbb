import type { Selectable } from 'kysely';
import { describe, expect, test } from 'vitest';
import { KEV_MAX_AGE_MS } from '../advisories/exploited/kev-list.ts';
import { saveFetched } from '../advisories/exploited/store.ts';
import { openDatabase } from '../platform/db/open.ts';
import type { Tables } from '../platform/db/tables.ts';
import { servedPlaces } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';

const places = servedPlaces({
  // The server that was there may have counted before it stopped.
  async prepare(place) {
    const database = openDatabase(place, databaseOptions());
    await database.transact((tx) => tx.updateTable('unfixed_pass').set({ ended_at: null }).execute());
    await database.close();
  },
});
const NAMED = ['CVE-2024-1', 'Debian:12', 'openssl'];

describe.each(SAMPLED_ENGINES)('tidegate unfixed on $name', (engine) => {
  async function open() {
    const it = await places(engine);
    const run = (...words: string[]) => it.run(['unfixed', ...words]);
    const add = async (vulnerability: string, more: Partial<Selectable<Tables['unfixed']>> = {}) => {
      const database = openDatabase(it, databaseOptions());
      const what = { ecosystem: 'apt', distribution: 'Debian:12', package: 'openssl', vulnerability };
      const counted = { names: JSON.stringify([vulnerability]), packages: '["libssl3"]', pending: 0 };
      const times = { first_seen_at: Date.UTC(2026, 10, 1), gone_at: null, fix_known_at: null };
      const known = { severity: 'high', exploited: null, fixed_in: null, fix_offered_at: null };
      const noted = { hook: null, note: null, mitigated_by: null, mitigated_at: null };
      const row = { id: vulnerability, ...what, ...counted, ...times, ...known, ...noted, hosts: 1, ...more };
      await database.transact((tx) => tx.insertInto('unfixed').values(row).execute());
      await database.close();
    };
    const fetchKev = async () => {
      const database = openDatabase(it, databaseOptions());
      const nowMs = it.clock.now();
      await database.transact((tx) => saveFetched(tx, { feed: 'kev', nowMs, entries: 1, asOfMs: nowMs }));
      await database.close();
    };
    return { ...it, unfixed: run, add, fetchKev };
  }

  test('list says what is known of each, and what the list rests on', async () => {
    const it = await open();
    await it.fetchKev();
    await it.add('CVE-2024-1', { hosts: 3, exploited: 1 });
    await it.add('CVE-2024-2', { exploited: 0 });
    await it.add('CVE-2024-3', { hosts: 2 });
    await it.add('CVE-2024-4', { hosts: 0 });
    const { out } = await it.unfixed('list');
    const [, ...lines] = out.split('\n').map((line) => line.trim().split(/ {2,}/));
    expect(lines.slice(0, 3)).toEqual([
      ['CVE-2024-1', 'Debian:12', 'openssl', '3', '2026-11-01', 'yes', 'high', 'none known'],
      ['CVE-2024-3', 'Debian:12', 'openssl', '2', '2026-11-01', 'unknown', 'high', 'none known'],
      ['CVE-2024-2', 'Debian:12', 'openssl', '1', '2026-11-01', 'not known of', 'high', 'none known'],
    ]);
    expect(out).toContain('Nothing has been counted yet');
    const exploited = JSON.parse((await it.unfixed('list', '--exploited', 'true', '--json')).out);
    expect(exploited).toMatchObject({
      ...{ items: [{ vulnerability: 'CVE-2024-1', hosts: 3 }], more: false },
      coverage: { at: null, hosts: 0, unknown_hosts: 0, left_out: 0 },
    });
    expect(JSON.parse((await it.unfixed('list', '--search', '2024-3', '--json')).out).items).toHaveLength(1);
  });

  test('list says that nothing is known not to be exploited while the list of exploited ones is too old', async () => {
    const it = await open();
    await it.fetchKev();
    await it.add('CVE-2024-1', { hosts: 3, exploited: 1 });
    await it.add('CVE-2024-2', { exploited: 0 });
    const exploited = async () => {
      const { out } = await it.unfixed('list');
      const lines = out.split('\n').map((line) => line.trim().split(/ {2,}/));
      return [lines[1]?.[5], lines[2]?.[5], /last fetched on/.test(out)];
    };
    expect(await exploited()).toEqual(['yes', 'not known of', false]);
    it.clock.advance(KEV_MAX_AGE_MS);
    expect(await exploited()).toEqual(['yes', 'unknown', true]);
    const { items, coverage } = JSON.parse((await it.unfixed('list', '--exploited', 'false', '--json')).out);
    expect(items).toEqual([]);
    expect(coverage).toMatchObject({ exploited_list: { state: 'stale' } });
  });

  test('mitigate notes a hook and takes the note back, and with --dry-run does neither', async () => {
    const it = await open();
    await it.add('CVE-2024-1', { hosts: 3 });
    const mitigations = async () =>
      JSON.parse((await it.unfixed('list', '--json')).out).items.map(
        (one: { mitigation: object }) => one.mitigation,
      );
    const note = ['mitigate', ...NAMED, '--hook', 'web-firewall', '--note', 'Blocks the request.'];
    expect(await it.unfixed(...note, '--dry-run')).toMatchObject({
      ...{
        code: 0,
        out: 'Would note that web-firewall mitigates CVE-2024-1 in openssl (Debian:12), on 3 hosts.',
      },
    });
    expect(await mitigations()).toEqual([null]);
    expect((await it.unfixed(...note)).code).toBe(0);
    expect(await mitigations()).toMatchObject([
      { hook: 'web-firewall', note: 'Blocks the request.', by: 'cli' },
    ]);
    expect((await it.unfixed('list')).out).toContain('web-firewall');
    expect((await it.unfixed('mitigate', ...NAMED, '--take-back')).out).toContain('Noted no mitigation of');
    expect(await mitigations()).toEqual([null]);
  });

  test('mitigate takes each id of a vulnerability that is one row of the package', async () => {
    const it = await open();
    const names = JSON.stringify(['DEBIAN-CVE-2024-1', 'CVE-2024-1', 'EUVD-1']);
    await it.add('DEBIAN-CVE-2024-1', { hosts: 3, names, records: '["DEBIAN-CVE-2024-1","DSA-1-1"]' });
    // The row that this record had before they shared one.
    await it.add('EUVD-1', { hosts: 0, gone_at: 1 });
    await it.add('DEBIAN-CVE-2024-2', { records: '["DEBIAN-CVE-2024-2","DSA-2-1"]' });
    await it.add('DEBIAN-CVE-2024-3', { records: '["DEBIAN-CVE-2024-3","DSA-2-1"]' });
    const note = (id: string) =>
      it.unfixed('mitigate', id, 'Debian:12', 'openssl', '--hook', 'x', '--note', 'x', '--dry-run');
    for (const id of ['DEBIAN-CVE-2024-1', 'CVE-2024-1', 'cve-2024-1', 'EUVD-1', 'DSA-1-1'])
      expect((await note(id)).out, id).toContain(
        'mitigates DEBIAN-CVE-2024-1 in openssl (Debian:12), on 3 hosts',
      );
    // This one is about two rows.
    for (const id of ['DSA-2-1', 'CVE-2024', 'EUVD']) expect((await note(id)).code, id).toBe(1);
  });

  test.each<[string, string[], number, string]>([
    ['nothing', [], 2, 'one of: list, mitigate'],
    ['more words', ['list', 'x'], 2, 'unknown words: x'],
    ['a foreign option', ['list', '--hook', 'x'], 2, 'work only with mitigate'],
    ['another word for exploited', ['list', '--exploited', 'maybe'], 2, 'true, false, unknown'],
    ['half a name', ['mitigate', 'CVE-2024-1', '--take-back'], 2, 'VULNERABILITY DISTRIBUTION PACKAGE'],
    ['a hook without a note', ['mitigate', ...NAMED, '--hook', 'x'], 2, '--hook HOOK and --note TEXT'],
    ['both', ['mitigate', ...NAMED, '--hook', 'x', '--note', 'x', '--take-back'], 2, 'or --take-back'],
    ['a path as hook', ['mitigate', ...NAMED, '--hook', '../x', '--note', 'x'], 1, 'name of a file'],
    ['what is not listed', ['mitigate', ...NAMED, '--take-back'], 1, 'is not in the list'],
  ])('%s is refused', async (_, words, code, message) => {
    const it = await open();
    expect(await it.unfixed(...words)).toMatchObject({
      code,
      out: '',
      err: expect.stringContaining(message),
    });
  });
});
