import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import { createCliPlace, servedPlaces } from '../testing/cli-place.ts';
import { ENGINES } from '../testing/engines.ts';

const served = servedPlaces({
  async prepare(it) {
    await it.run(['operators', 'add', 'olga', '--role', 'admin'], { stdin: 'a long password' });
  },
});

function read(path: string, name: string) {
  return JSON.parse(execFileSync('tar', ['-xzOf', path, name], { encoding: 'utf8' }));
}

describe.each(ENGINES)('tidegate support on $name', (engine) => {
  test('says what is inside, and has counts, sizes, settings and findings', async () => {
    const it = await served(engine);
    const out = join(it.dataDir, 'b.tar.gz');
    const ran = await it.run(['support', '--out', out]);
    expect([ran.code, ran.err]).toEqual([0, '']);
    for (const name of ['platform.json', 'settings.json', 'doctor.json', 'database.json']) {
      expect(ran.out).toContain(name);
    }
    expect(statSync(out).mode & 0o777).toBe(0o600);
    const database = read(out, 'database.json');
    expect(database).toMatchObject({ engine: engine.name, schema_version: expect.any(Number) });
    expect(database.tables.operators.rows).toBeGreaterThanOrEqual(engine.name === 'sqlite' ? 1 : 0);
    expect(Object.keys(database.counts)).toContain('agents by status');
    expect(read(out, 'settings.json').settings).toMatchObject({
      SERVICE_JWT_SECRET: expect.stringMatching(/set/),
    });
    expect((await it.run(['support', '--out', out])).code).toBe(1);
  });

  test('works without a database, and with a setting that is wrong', async () => {
    const it = await createCliPlace(engine);
    const [first, second] = [join(it.dataDir, 'a.tar.gz'), join(it.dataDir, 'b.tar.gz')];
    expect((await it.run(['support', '--out', first])).code).toBe(0);
    expect(read(first, 'database.json')).toHaveProperty('fault');
    expect((await it.run(['support', '--out', second], { env: { SERVICE_PORT: 'many' } })).code).toBe(0);
    expect(read(second, 'doctor.json')).toMatchObject([{ check: 'configuration', level: 'fail' }]);
  });

  test('a password in the address of a database that does not answer is not inside', async () => {
    const it = await createCliPlace(engine);
    const out = join(it.dataDir, 'b.tar.gz');
    const env = {
      SERVICE_DATABASE_URL: 'postgres://u:database-password-99@127.0.0.1:1/x',
      SERVICE_LOG_LEVEL: 'warn',
    };
    expect((await it.run(['support', '--out', out], { env })).code).toBe(0);
    const inside = gunzipSync(readFileSync(out)).toString();
    expect(inside).toContain('SERVICE_DATABASE_URL');
    expect(inside).not.toContain('database-password-99');
  });

  test.each([
    [[], 2],
    [['--out', 'b', '--lines', '0'], 2],
    [['--out', 'b', '--lines', '20001'], 2],
    [['--out', 'b', 'word'], 2],
    [['--out', 'b', '--log', '/nowhere/log'], 1],
  ])('%j ends with %i and writes nothing', async (words, code) => {
    const it = await createCliPlace(engine);
    expect((await it.run(['support', ...words])).code).toBe(code);
    expect(existsSync('b')).toBe(false);
  });
});
