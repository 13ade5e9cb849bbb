import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createPasswords } from './operators/passwords/passwords.ts';
import { openDatabase, SQLITE_FILE } from './platform/db/open.ts';
import { systemRandom } from './platform/ids.ts';
import { databaseOptions } from './testing/database-options.ts';
import { ENGINES } from './testing/engines.ts';
import { createHousehold, type Household, type LivingServer, OPERATOR } from './testing/restored-server.ts';
import { writeRaw } from './testing/write-raw.ts';

const PASSWORD = 'a long enough password';

async function writeOperator({ config, clock }: Household, username: string): Promise<void> {
  const database = openDatabase(config, databaseOptions());
  const password_hash = await createPasswords({ random: systemRandom }).hash(PASSWORD);
  await writeRaw(database, 'operators', {
    ...{ id: `id-${username}`, username, password_hash, role: 'admin', groups: null },
    ...{ created_at: clock.now(), disabled_at: null },
  });
  await database.close();
}

/** The login's answers to the configured operator, and to the one that somebody inserted. */
async function logIn(server: LivingServer): Promise<number[]> {
  const statuses = [];
  for (const body of [OPERATOR, { username: 'mallory', password: PASSWORD }])
    statuses.push((await server.call('POST', '/api/v1/auth/login', { body })).status);
  return statuses;
}

describe.each(ENGINES)('an operator inserted into the database, on $name', (engine) => {
  async function household(): Promise<Household> {
    const it = await createHousehold(engine, {
      jwtSecret: 'a secret of the installation, long enough for one',
    });
    await (await it.start()).stop();
    await writeOperator(it, 'mallory');
    return it;
  }

  test('is refused: starting the server seals no row', async () => {
    const it = await household();
    for (const start of ['first', 'second']) {
      const server = await it.start();
      expect([start, await logIn(server)]).toEqual([start, [200, 401]]);
      await server.stop();
    }
  });

  test('is refused by a server with a new data folder too', async () => {
    const it = await household();
    const dataDir = mkdtempSync(join(tmpdir(), 'tidegate-replica-'));
    onTestFinished(() => rmSync(dataDir, { recursive: true, force: true }));
    cpSync(join(it.config.dataDir, 'keys'), join(dataDir, 'keys'), { recursive: true });
    if (it.config.databaseUrl === null)
      cpSync(join(it.config.dataDir, SQLITE_FILE), join(dataDir, SQLITE_FILE));
    expect(await logIn(await it.start({ dataDir }))).toEqual([200, 401]);
  });
});
