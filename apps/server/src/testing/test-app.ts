import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { type Application, createApplication } from '../app.ts';
import { firstOperatorOf } from '../composition/open-operators.ts';
import { type Config, defaultConfig } from '../config.ts';
import { MIGRATIONS } from '../migrations.ts';
import { prepareFirstOperator } from '../operators/first-operator.ts';
import { loadSecrets } from '../platform/secrets.ts';
import { openKeyFolder } from '../signing-keys/key-folder.ts';
import { openKeyRing } from '../signing-keys/key-ring.ts';
import { loadKeys } from '../signing-keys/load-keys.ts';
import { createCheapPasswords } from './cheap-passwords.ts';
import { checkAnswers } from './check-answers.ts';
import type { TestEngine } from './engines.ts';
import { NO_REGISTRIES } from './no-registries.ts';
import { createTestPlatform, type TestPlatform } from './test-platform.ts';

export interface TestApp extends Application {
  platform: TestPlatform;
  config: Config;
  /** Logs the first operator (an admin) in and returns the token. */
  adminToken(): Promise<string>;
}

export const TEST_ADMIN = { username: 'admin', password: 'correct horse battery' };

/** The whole application on a fresh database, with a clock that stands still; nothing listens: use `http.inject`. */
export async function createTestApp(engine: TestEngine, settings: Partial<Config> = {}): Promise<TestApp> {
  const { dataDir } = await engine.place();
  const platform = createTestPlatform(await engine.open());
  const config = defaultConfig({
    dataDir,
    advisorySource: 'off',
    // The same with and without a built console; there is none in this folder.
    consoleDir: dataDir,
    agentsDir: join(dataDir, 'agents'),
    ...NO_REGISTRIES,
    // Most tests are not about idleness.
    sessionIdleMinutes: 480,
    adminUsername: TEST_ADMIN.username,
    adminPassword: TEST_ADMIN.password,
    ...settings,
  });
  const secrets = loadSecrets({
    configured: config.jwtSecret,
    dataDir,
    random: platform.random,
    log: platform.log,
  });
  const keyFolder = openKeyFolder(dataDir);
  const keys = await loadKeys(platform, config, keyFolder);
  if (!keys.ok) throw new Error(keys.fault);
  const keyRing = await openKeyRing(platform, keys);
  const journal = { has: () => false };
  const configured = firstOperatorOf(config);
  if (configured) {
    await prepareFirstOperator(platform, { passwords: createCheapPasswords(platform.random), configured });
  }
  const application = await createApplication({
    config,
    platform,
    schemaVersion: MIGRATIONS.at(-1)?.version ?? 0,
    secrets,
    keyFolder,
    keyRing,
    tls: null,
    serverCa: () => ({ kind: 'public' }),
    trustedRoot: null,
    exportTargets: { syslog: null, otlp: null },
    journal,
  });
  checkAnswers(application.http);
  onTestFinished(() => application.stop());
  return {
    ...application,
    platform,
    config,
    async adminToken() {
      const answer = await application.http.inject({
        method: 'POST',
        url: '/api/v1/auth/login',
        payload: TEST_ADMIN,
      });
      const body: unknown = answer.json();
      if (body !== null && typeof body === 'object' && 'token' in body && typeof body.token === 'string') {
        return body.token;
      }
      throw new Error(`login failed: ${answer.body}`);
    },
  };
}
