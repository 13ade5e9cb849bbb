import { describe, expect, test } from 'vitest';
import { openDatabase } from '../platform/db/open.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { servedPlaces } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';

const places = servedPlaces();

describe.each(SAMPLED_ENGINES)('tidegate tags on $name', (engine) => {
  async function open() {
    const it = await places(engine);
    const tags = (...words: string[]) => it.run(['tags', ...words]);
    const add = async (n: number, group?: string) => {
      const database = openDatabase(it, databaseOptions());
      await insertTestAgent(database, { n, ...(group ? { group } : {}) });
      await database.close();
    };
    return { ...it, tags, add };
  }

  test('set and remove say how many hosts change, and with --dry-run only that', async () => {
    const it = await open();
    for (const n of [1, 2, 3]) await it.add(n, n < 3 ? 'web' : 'db');
    const prod = ['set', 'env=prod', 'role=web', '--group', 'web'];
    expect(await it.tags(...prod, '--dry-run')).toMatchObject({
      ...{ code: 0, err: '', out: 'Would change 2 of 2 hosts: set env=prod role=web.' },
    });
    expect(JSON.parse((await it.tags('list', '--json')).out)).toEqual({ items: [] });
    expect((await it.tags(...prod)).out).toBe('Changed 2 of 2 hosts: set env=prod role=web.');
    expect((await it.tags('remove', 'role', '--host', 'host-1')).out).toBe(
      'Changed 1 of 1 hosts: removed role.',
    );
    expect(JSON.parse((await it.tags('list', '--json')).out).items).toEqual([
      { tag: 'env=prod', hosts: 2, reported: false },
      { tag: 'role=web', hosts: 1, reported: false },
    ]);
    expect((await it.tags('list')).out).toMatch(/env=prod +2 +operators/);
    expect((await it.tags('list', '--host', 'host-1')).out).toBe('env=prod');
    expect((await it.tags('list', '--host', 'host-3')).out).toBe('The host has no tags.');
  });

  test.each<[string, string]>([
    ['', 'needs one of: list, set, remove'],
    ['set', 'set needs a TAG'],
    ['remove', 'remove needs a KEY'],
    ['set env=prod', 'set needs --host HOST or --group GROUP'],
    ['list --dry-run', 'work only with set and remove'],
    ['list env', 'unknown words: env'],
  ])('%s says what is allowed', async (words, message) => {
    const it = await open();
    const ran = await it.tags(...words.split(' ').filter(Boolean));
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });

  test.each<[string, string[], string]>([
    ['a host that is not there', ['set', 'env=prod', '--host', 'web9'], 'there is no host "web9"'],
    ['a group without hosts', ['set', 'env=prod', '--group', 'none'], 'no host is in these groups'],
    ['what hosts report', ['set', 'host.role=web', '--host', 'host-1'], '/set'],
    ['two values of a key', ['set', 'env=a', 'env=b', '--host', 'host-1'], 'not valid'],
  ])('%s changes nothing', async (_, words, message) => {
    const it = await open();
    await it.add(1);
    expect(await it.tags(...words)).toMatchObject({
      code: 1,
      out: '',
      err: expect.stringContaining(message),
    });
  });
});
