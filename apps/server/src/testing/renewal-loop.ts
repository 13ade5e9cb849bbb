import { writeSync } from 'node:fs';
import { parseRefreshToken, refreshTagKey } from '../agent-credentials/refresh-tokens.ts';
import { renewTokens } from '../agent-credentials/renew-tokens.ts';
import { agentDirectory } from '../agents/agent-directory.ts';
import { openSqlite } from '../platform/db/sqlite.ts';
import { isMachineId } from '../platform/http/identities.ts';
import { systemRandom } from '../platform/ids.ts';
import { TEST_SECRET } from './agents-app.ts';
import { databaseOptions } from './database-options.ts';
import { createTestPlatform } from './test-platform.ts';

/**
 * A program for crash tests: renews one token after the other in the given SQLite file, and prints each child
 * on its own line once the renewal has answered, until it is killed.
 */
const [, , file = '', first = '', machineId = ''] = process.argv;
const platform = { ...createTestPlatform(openSqlite(file, databaseOptions())), random: systemRandom };
const deps = {
  platform,
  tagKey: refreshTagKey(TEST_SECRET),
  directory: agentDirectory,
  familyMaxAgeMs: null,
};
if (!isMachineId(machineId)) throw new Error('usage: renewal-loop.ts <file> <refresh token> <machine id>');
for (let text = first; ; ) {
  const token = parseRefreshToken(text);
  if (!token) throw new Error('not a refresh token');
  const outcome = await renewTokens(deps, { token, machineId, requestId: null });
  if (!outcome.ok) throw new Error(`refused: ${outcome.code}`);
  text = outcome.refreshToken;
  writeSync(1, `${text}\n`);
}
