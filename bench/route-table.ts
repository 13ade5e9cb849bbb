import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { createApplication } from '../apps/server/src/app.ts';
import { defaultConfig } from '../apps/server/src/config.ts';
import { MIGRATIONS } from '../apps/server/src/migrations.ts';
import { systemClock } from '../apps/server/src/platform/clock.ts';
import { migrate } from '../apps/server/src/platform/db/migrate.ts';
import { openSqlite } from '../apps/server/src/platform/db/sqlite.ts';
import { createIdMaker, systemRandom } from '../apps/server/src/platform/ids.ts';
import { createLog } from '../apps/server/src/platform/log.ts';
import { loadSecrets } from '../apps/server/src/platform/secrets.ts';
import { openKeyFolder } from '../apps/server/src/signing-keys/key-folder.ts';
import { openKeyRing } from '../apps/server/src/signing-keys/key-ring.ts';
import { loadKeys } from '../apps/server/src/signing-keys/load-keys.ts';
import { databaseOptions } from '../apps/server/src/testing/database-options.ts';
import { routesOf } from '../apps/server/src/testing/routes-of.ts';

/** Every route of the server, such as `GET /api/health`, read from an application that never listens. */
export async function readRouteTable(): Promise<string[]> {
  const folder = tmpDir('tidegate-routes-');
  const dataDir = folder.path;
  const [now, random] = [systemClock, systemRandom];
  const log = createLog({ level: 'error', format: 'text', write: () => {}, now });
  const database = openSqlite(join(dataDir, 'tidegate.db'), databaseOptions());
  try {
    await migrate(database, { migrations: MIGRATIONS, now });
    const platform = { database, now, random, log, newId: createIdMaker(now, random) };
    const config = defaultConfig({ dataDir, advisorySource: 'off', consoleDir: dataDir });
    const keyFolder = openKeyFolder(dataDir);
    const keys = await loadKeys(platform, config, keyFolder);
    if (!keys.ok) throw new Error(keys.fault);
    const application = await createApplication({
      ...{
        config,
        platform,
        keyFolder,
        schemaVersion: MIGRATIONS.at(-1)?.version ?? 0,
        tls: null,
        trustedRoot: null,
      },
      exportTargets: { syslog: null, otlp: null },
      serverCa: () => ({ kind: 'public' }),
      secrets: loadSecrets({ configured: null, dataDir, random, log }),
      keyRing: await openKeyRing(platform, keys),
      journal: { has: () => false },
    });
    await application.http.ready();
    const routes = routesOf(application.http.printRoutes({ commonPrefix: false }));
    await application.stop();
    return routes;
  } finally {
    await database.close();
    folder.remove();
  }
}
