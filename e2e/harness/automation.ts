import { createFleet } from '@tidegate/testkit/fleet';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { onTestFinished } from 'vitest';
import { logIn } from './operator.ts';
import { startServer } from './server-process.ts';

const NOBODY = 'http://127.0.0.1:9';
const HOSTS = 3;

/** A server with hosts named `lab-00000.example.invalid` and on, and an API token for scripts. */
export async function openAutomation(dataDir: string) {
  const server = await startServer({ dataDir, advisoryUrl: NOBODY });
  onTestFinished(async () => void (await server.stop()));
  const operator = await logIn(server.url);
  const fleet = createFleet({
    ...{ serverUrl: server.url, agents: HOSTS, registrationToken: await operator.registrationToken(HOSTS) },
    ...{ clock: { now: Date.now }, inventory: { packages: 5, updates: 1 }, prefix: 'lab' },
  });
  onTestFinished(() => fleet.stop());
  await fleet.enrolAll();
  await fleet.checkInAll();
  await fleet.reportAll();
  const { body } = await operator.call('POST', '/api/v1/admin/api-tokens', {
    ...{ label: 'automation', role: 'admin', scopes: ['read', 'hosts', 'approve', 'admin'], groups: null },
    expires_at: new Date(Date.now() + 86_400_000).toISOString(),
  });
  return { server, operator, token: Value.Parse(Type.Object({ token: Type.String() }), body).token };
}
