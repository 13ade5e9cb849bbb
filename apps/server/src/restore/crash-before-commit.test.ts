import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openDatabase } from '../platform/db/open.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { ENGINES } from '../testing/engines.ts';
import { createHousehold, enrolHost } from '../testing/restored-server.ts';
import { openJournal } from './revocation-journal.ts';

const PROGRAM = join(import.meta.dirname, '../testing/revoke-and-die.ts');

test.each(ENGINES)(
  'T20: a server killed between journal and commit revokes at its next start, on $name',
  async (engine) => {
    const { config, start } = await createHousehold(engine);
    const first = await start();
    const host = await enrolHost(first, 'machine-1');
    await first.stop();
    const child = spawn(process.execPath, [PROGRAM, config.dataDir, config.databaseUrl ?? ''], {
      stdio: 'inherit',
    });
    expect(await new Promise((resolve) => child.on('close', (_code, signal) => resolve(signal)))).toBe(
      'SIGKILL',
    );

    const database = openDatabase(config, databaseOptions());
    const [family] = await database.read.selectFrom('refresh_families').select(['id', 'status']).execute();
    await database.close();
    const opened = openJournal(config.dataDir);
    if (!opened.ok || !family) throw new Error('the family and its journal are there');
    expect([family.status, opened.journal.has('family', family.id)]).toEqual(['active', true]);
    opened.journal.close();

    const second = await start();
    expect(await host.renew(second)).toBe(401);
    expect(second.lines.join('')).toContain('revocations of the journal were made again');
  },
);
