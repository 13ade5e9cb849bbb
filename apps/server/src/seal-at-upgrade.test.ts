import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { MIGRATIONS } from './migrations/migrations.ts';
import { createPasswords } from './operators/passwords/passwords.ts';
import { migrate } from './platform/db/migrate.ts';
import { openDatabase } from './platform/db/open.ts';
import { systemRandom } from './platform/ids.ts';
import { readSealMarker, SEALS_SCHEMA_VERSION, writeSealMarker } from './platform/seal-marker.ts';
import { ENGINES } from './testing/engines.ts';
import { createHousehold, type Household, type LivingServer } from './testing/restored-server.ts';
import { writeRaw } from './testing/write-raw.ts';

const PASSWORD = 'a long enough password';

async function writeOperator({ config, clock }: Household, username: string): Promise<void> {
  const database = openDatabase(config);
  const password_hash = await createPasswords({ random: systemRandom }).hash(PASSWORD);
  await writeRaw(database, 'operators', {
    ...{ id: `id-${username}`, username, password_hash, role: 'admin', groups: null },
    ...{ created_at: clock.now(), disabled_at: null },
  });
  await database.close();
}

const logIn = async (server: LivingServer, username: string) =>
  (await server.call('POST', '/api/v1/auth/login', { body: { username, password: PASSWORD } })).status;

describe.each(ENGINES)('rows from before there were seals, on $name', (engine) => {
  async function before(): Promise<Household> {
    const it = await createHousehold(engine, {
      jwtSecret: 'a secret of the installation, long enough for one',
    });
    const database = openDatabase(it.config);
    const migrations = MIGRATIONS.filter(({ version }) => version < SEALS_SCHEMA_VERSION);
    await migrate(database, { migrations, now: it.clock.now });
    await database.close();
    await writeOperator(it, 'ada');
    return it;
  }

  test('are sealed once, by the start that brings the seals; a row that comes later is refused', async () => {
    const it = await before();
    const first = await it.start();
    expect(await logIn(first, 'ada')).toBe(200);
    expect(first.lines.join('\n')).toContain('rows that give rights were sealed as they were');
    await first.stop();
    await writeOperator(it, 'mallory');
    const second = await it.start();
    expect([await logIn(second, 'ada'), await logIn(second, 'mallory')]).toEqual([200, 401]);
    expect(second.lines.join('\n')).not.toContain('were sealed as they were');
  });

  test('a crash between the upgrade and the sealing leaves it to the next start', async () => {
    const it = await before();
    await (await it.start()).stop();
    // As after such a crash: the marker says that it is due.
    writeSealMarker(it.config.dataDir, 'pending');
    await writeOperator(it, 'bob');
    expect(await logIn(await it.start(), 'bob')).toBe(200);
    expect(readSealMarker(it.config.dataDir)).toBe('sealed');
  });

  test('a new data folder on a database that has the seals seals nothing', async () => {
    const it = await before();
    await (await it.start()).stop();
    await writeOperator(it, 'mallory');
    const dataDir = mkdtempSync(join(tmpdir(), 'tidegate-replica-'));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    if (it.config.databaseUrl === null) rmSync(join(it.config.dataDir, 'row-seals'));
    const folder = it.config.databaseUrl === null ? it.config.dataDir : dataDir;
    const keys = join(it.config.dataDir, 'keys');
    if (folder === dataDir) cpSync(keys, join(dataDir, 'keys'), { recursive: true });
    const server = await it.start({ dataDir: folder });
    expect([await logIn(server, 'ada'), await logIn(server, 'mallory')]).toEqual([200, 401]);
    expect(readSealMarker(folder)).toBe('sealed');
  });
});
