import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { createFleet } from '@tidegate/testkit/fleet';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../apps/server/src/testing/engines.ts';
import { liftLimits, logIn } from './harness/operator.ts';
import { ecosystemsOfThisHost } from './harness/os-release.ts';
import { pgbouncerMissing, startPgbouncer } from './harness/pgbouncer.ts';
import { startServer } from './harness/server-process.ts';

const HOSTS = 12;
const UPDATES = 3;
const ENV = { SERVICE_SWEEP_INTERVAL_SECONDS: '1', SERVICE_LOG_LEVEL: 'info' };

const missing = pgbouncerMissing();
if (missing !== null) console.log(`skipped: a server behind PgBouncer: ${missing}`);

describe.each(ENGINES.filter(({ name }) => name === 'postgres'))('a server on $name', (engine) => {
  test.skipIf(missing !== null)(
    'behind PgBouncer in transaction mode installs updates, verifies its log, is backed up and comes back',
    async () => {
      const { dataDir, databaseUrl } = await engine.place();
      if (databaseUrl === null) throw new Error('a pooler is before PostgreSQL');
      const pooled = await startPgbouncer(databaseUrl);
      const osv = await startFakeOsv({
        covered: [...ecosystemsOfThisHost(), 'Ubuntu:24.04', 'Ubuntu:24.04:LTS'],
      });
      onTestFinished(() => osv.stop());
      const server = await startServer({ dataDir, databaseUrl: pooled, advisoryUrl: osv.url, env: ENV });
      onTestFinished(async () => void (await server.stop()));

      const operator = await logIn(server.url);
      await liftLimits(operator);
      const fleet = createFleet({
        ...{ serverUrl: server.url, agents: HOSTS, clock: { now: Date.now } },
        registrationToken: await operator.registrationToken(HOSTS),
        inventory: { packages: 40, updates: UPDATES },
        ...{ concurrency: 8, timeoutMs: 5_000 },
      });
      onTestFinished(() => fleet.stop());
      await fleet.enrolAll();
      await fleet.checkInAll();
      await fleet.reportAll();
      await fleet.renewAll();
      const pending = await operator.updates({ state: 'pending' });
      expect(pending).toHaveLength(HOSTS * UPDATES);
      const approved = await Promise.all(pending.map(({ id }) => operator.approve(id)));
      expect(approved.map(({ status }) => status)).toEqual(pending.map(() => 200));

      const installed = async () => {
        await fleet.checkInAll();
        await fleet.answerAll();
        return (await operator.updates({ state: 'installed' })).length;
      };
      await expect.poll(installed, { interval: 500 }).toBe(HOSTS * UPDATES);
      const refused = fleet
        .verdict()
        .operations.flatMap(({ statuses }) => Object.keys(statuses))
        .filter((status) => !/^20[0-4]$/.test(status));
      expect(refused).toEqual([]);

      expect(await server.command('doctor', '--verify-events')).toContain('The log of events is intact');
      await server.command('backup');
      await server.kill();
      await server.restart();
      const again = await logIn(server.url);
      expect(await again.updates({ state: 'installed' })).toHaveLength(HOSTS * UPDATES);
      expect(server.lines().filter((line) => line.includes('[ERROR]'))).toEqual([]);
    },
  );
});
