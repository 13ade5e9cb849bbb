import { RegisterAnswer } from '@tidegate/protocol/agent-api';
import { Check } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openConfig } from '../apps/agent/src/identity/config-file.ts';
import { sendInventory } from '../apps/agent/src/inventory/send-inventory.ts';
import { createRenewer } from '../apps/agent/src/session/renew.ts';
import { createServerClient } from '../apps/agent/src/session/server-client.ts';
import { createSession } from '../apps/agent/src/session/session.ts';
import { configOf } from '../apps/agent/src/testing/agent-config.ts';
import { createAgent } from '../apps/agent/src/testing/agent-runtime.ts';
import { logIn } from './harness/operator.ts';
import { startServer } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';

const PACKAGES = 45_000;

describe.each(storyEngines('sqlite'))(
  'a host with more packages than one request takes, on $name',
  (engine) => {
    test('its agent sends the scan in parts, and the server stores it as one complete report', async () => {
      const server = await startServer({ ...(await engine.place()), advisoryUrl: 'http://127.0.0.1:9' });
      onTestFinished(async () => void (await server.stop()));
      const operator = await logIn(server.url);
      const agent = await createAgent();
      onTestFinished(agent.stop);
      agent.localMs = Date.now();
      const { machineId } = agent.fleet;
      const client = createServerClient({ baseUrl: server.url });
      const registered = await client.request({
        method: 'POST',
        path: '/api/v1/agents/register',
        headers: { authorization: `Bearer ${await operator.registrationToken()}`, 'x-machine-id': machineId },
        body: {
          hostname: 'build-1',
          os: { family: 'debian', id: 'debian', version_id: '12', arch: 'x86_64' },
          agent_version: '1.0.0',
        },
      });
      if (registered.kind !== 'ok' || !Check(RegisterAnswer, registered.body))
        throw new Error('not enrolled');
      const { agent_id, access_token, refresh_token } = registered.body;
      const enrolled = configOf(agent.fleet, {
        server_url: server.url,
        agent_id,
        access_token,
        refresh_token,
      });
      const config = openConfig(agent.folder, enrolled);
      const clocks = { nowMs: () => agent.localMs, elapsedMs: () => performance.now(), random: () => 0.5 };
      const renewer = createRenewer({ ...clocks, config, client, machineId });
      const session = createSession({ ...clocks, config, client, renewer, machineId });
      agent.driver.scanned = {
        complete: true,
        reason: null,
        packages: Array.from({ length: PACKAGES }, (_, n) => ({
          name: `package-${n}`,
          version: `1.${n}-1`,
          arch: 'amd64',
        })),
        updates: [
          { name: 'package-44999', arch: 'amd64', current_version: '1.44999-1', available_version: '2.0-1' },
        ],
      };
      const runtime = agent.start({ config, session });
      expect((await runtime.inventory.scan(null)).problems).toEqual([]);
      expect(runtime.inventory.report('apt')?.bodies).toHaveLength(3);
      expect(await sendInventory(runtime, { wanted: ['apt'] })).toEqual({ sent: 1, failure: null });

      const path = `/api/v1/agents/${agent_id}/inventory`;
      expect((await operator.call('GET', path)).body).toMatchObject({
        reports: [{ ecosystem: 'apt', complete: true, packages: PACKAGES }],
      });
      const last = await operator.call('GET', `${path}?q=package-44999`);
      expect(last.body).toMatchObject({
        items: [{ name: 'package-44999', version: '1.44999-1', update: { available_version: '2.0-1' } }],
      });
      // The agent stores what it sent: after a restart it has the same report with the same digest.
      const again = agent.start({ config, session });
      expect(again.inventory.digests()).toEqual(runtime.inventory.digests());
    });
  },
);
