import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { readConfig } from '../config.ts';
import { MIGRATIONS } from '../migrations.ts';
import { systemClock } from '../platform/clock.ts';
import type { Migration } from '../platform/db/migrate.ts';
import { systemRandom } from '../platform/ids.ts';
import { createLog } from '../platform/log.ts';
import { startServer } from '../start.ts';
import { ENGINES, type TestEngine } from '../testing/engines.ts';
import { NO_REGISTRIES_ENV } from '../testing/no-registries.ts';

const NEWEST = MIGRATIONS.at(-1)?.version;
const NEXT: readonly Migration[] = [
  ...MIGRATIONS,
  { version: 9_000, name: 'next-release', statements: ['ALTER TABLE fleet ADD COLUMN motto TEXT'] },
];

/** A data folder that is served by this release and by the next one. */
async function place(engine: TestEngine) {
  const { dataDir, databaseUrl } = await engine.place();
  const lines: string[] = [];
  async function start(migrations: readonly Migration[] = MIGRATIONS, more: Record<string, string> = {}) {
    const read = readConfig({
      SERVICE_DATA_DIR: dataDir,
      SERVICE_PORT: '0',
      SERVICE_ADVISORY_SOURCE: 'off',
      ...NO_REGISTRIES_ENV,
      ...(databaseUrl === null ? {} : { SERVICE_DATABASE_URL: databaseUrl }),
      SERVICE_ADMIN_USERNAME: 'olga',
      SERVICE_ADMIN_PASSWORD: 'a long enough password',
      ...more,
    });
    if (!read.ok) throw new Error(read.fault);
    const log = createLog({
      level: 'info',
      format: 'text',
      now: systemClock,
      write: (line) => lines.push(line),
    });
    const outcome = await startServer(read.config, {
      log,
      now: systemClock,
      random: systemRandom,
      migrations,
    });
    if (!outcome.ok) return outcome.fault;
    onTestFinished(outcome.stop);
    await outcome.stop();
    return 'started';
  }
  const backups = join(dataDir, 'backups');
  return { start, lines, backups, dataDir };
}

describe.each(ENGINES)('an upgrade on $name', (engine) => {
  test('backs the database up before its migrations, once, and the backup is the way back', async () => {
    const { start, lines, backups } = await place(engine);
    expect(await start()).toBe('started');
    expect(() => readdirSync(backups)).toThrow('ENOENT');
    expect(await start(NEXT)).toBe('started');
    const made = readdirSync(backups);
    expect(made).toEqual([
      expect.stringMatching(new RegExp(`^before-upgrade-from-${NEWEST}-.*\\.backup$`)),
      expect.stringMatching(new RegExp(`^before-upgrade-from-${NEWEST}-.*\\.backup\\.revocations\\.jsonl$`)),
    ]);
    expect(lines.join('\n')).toContain('backed up before the upgrade');
    expect(await start(NEXT)).toBe('started');
    expect(readdirSync(backups)).toEqual(made);
    expect(await start()).toContain('restore the backup that it made before the upgrade');
  });

  test('without a backup does not happen, unless the setting says so', async () => {
    const { start, backups, dataDir } = await place(engine);
    await start();
    writeFileSync(backups, 'a file in the way');
    const fault = await start(NEXT);
    expect(fault).toContain('the database was not upgraded, as it could not be backed up (');
    expect(fault).toContain('SERVICE_BACKUP_BEFORE_UPGRADE=false');
    expect(await start()).toBe('started');
    expect(await start(NEXT, { SERVICE_BACKUP_BEFORE_UPGRADE: 'false' })).toBe('started');
    expect(readdirSync(dataDir)).toContain('backups');
  });
});
