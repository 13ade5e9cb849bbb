import { sql } from 'kysely';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../platform/db/open.ts';
import { type CliPlace, servedPlaces } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES } from '../testing/engines.ts';

const place = servedPlaces({
  async prepare(it) {
    for (const name of ['ada', 'bob']) {
      await it.run(['operators', 'add', name, '--role', 'admin'], { stdin: 'a long enough password\n' });
    }
  },
});

async function write(it: CliPlace, statement: string): Promise<void> {
  const database = openDatabase(it, databaseOptions());
  await database.transact((tx) => sql.raw(statement).execute(tx));
  await database.close();
}

const names = async (it: CliPlace) => {
  const { items: operators } = JSON.parse((await it.run(['operators', 'list', '--json'])).out);
  return operators.map(({ username }: { username: string }) => username);
};

describe.each(ENGINES)('tidegate seals, on $name', (engine) => {
  test('reports that all seals are valid', async () => {
    const it = await place(engine);
    expect(await it.run(['seals'])).toMatchObject({
      code: 0,
      out: 'Every row that grants a right has a valid seal.',
    });
    expect((await it.run(['doctor'])).out).toContain('ok   row seals: every row');
  });

  test('lists rows that somebody else wrote, and removes them with --yes', async () => {
    const it = await place(engine);
    await write(it, "UPDATE operators SET groups = '[]' WHERE username = 'bob'");
    const listed = await it.run(['seals', '--json']);
    expect([listed.code, JSON.parse(listed.out)]).toMatchObject([
      1,
      { broken: [{ table: 'operators', reason: 'wrong' }] },
    ]);
    expect((await it.run(['doctor'])).out).toMatch(/FAIL row seals: 1 rows .*operators .* \(wrong\)\n/);
    expect(await names(it)).toEqual(['ada']);
    const unsure = await it.run(['seals', 'remove']);
    expect([unsure.code, unsure.err]).toEqual([1, expect.stringContaining('add --yes')]);
    expect(await it.run(['seals', 'remove', '--yes'])).toMatchObject({ code: 0, out: '1 rows removed.' });
    expect((await it.run(['seals'])).code).toBe(0);
    const exported = await it.run(['events', 'export']);
    expect(exported.out).toMatch(/"type":"ROWS_SEALED"/);
  });

  test('after the token secret is lost, every row is refused until accepted', async () => {
    const it = await place(engine);
    const env = { SERVICE_JWT_SECRET: 'another secret, of forty-eight bytes or even more of them' };
    expect(JSON.parse((await it.run(['operators', 'list', '--json'], { env })).out).items).toEqual([]);
    expect((await it.run(['seals', 'accept'], { env })).err).toContain('add --yes');
    expect(await it.run(['seals', 'accept', '--yes', '--json'], { env })).toMatchObject({
      code: 0,
      out: expect.stringMatching(/^\{"rows":\d\}$/),
    });
    const after = JSON.parse((await it.run(['operators', 'list', '--json'], { env })).out);
    expect(after.items.length).toBe(2);
    expect(await names(it)).toEqual([]);
  });

  test('wrong words print the usage', async () => {
    const it = await place(engine);
    expect((await it.run(['seals', 'renew'])).code).toBe(2);
  });
});
