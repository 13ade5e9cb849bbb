import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { defaultConfig } from '../apps/server/src/config.ts';
import { systemClock } from '../apps/server/src/platform/clock.ts';
import { systemRandom } from '../apps/server/src/platform/ids.ts';
import { createLog } from '../apps/server/src/platform/log.ts';
import { startServer } from '../apps/server/src/start.ts';

/** A loopback port where nobody listens. */
const NOBODY = 'http://127.0.0.1:9';

/** The OpenAPI document of a server that is started for it, on a database in a folder of its own. */
export async function readOpenApi(): Promise<unknown> {
  const dataDir = mkdtempSync(join(tmpdir(), 'tidegate-openapi-'));
  const config = defaultConfig({
    ...{ dataDir, consoleDir: dataDir, host: '127.0.0.1', port: 0, advisorySource: 'off' },
    ...{ npmRegistryUrl: NOBODY, pypiUrl: NOBODY },
    ...{ adminUsername: 'openapi', adminPassword: systemRandom(24).toString('base64url') },
  });
  const log = createLog({ level: 'error', format: 'text', now: systemClock, write: () => {} });
  try {
    const started = await startServer(config, { log, now: systemClock, random: systemRandom });
    if (!started.ok) throw new Error(started.fault);
    try {
      return started.application.http.swagger();
    } finally {
      await started.stop();
    }
  } finally {
    rmSync(dataDir, { recursive: true, force: true });
  }
}
