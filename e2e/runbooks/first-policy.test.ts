import { describe, expect, test } from 'vitest';
import { STANDING } from '../../apps/server/src/testing/standing.ts';
import { createFollower } from '../harness/follow-runbook.ts';
import { must } from '../harness/host.ts';
import { storyEngines } from '../harness/story-engines.ts';
import { NEW, STORY } from '../harness/story-packages.ts';
import { createWorld, storyMissing } from '../harness/world.ts';

const missing = storyMissing();
const GROUP = 'first';
const DAY_MS = 86_400_000;

describe.skipIf(missing !== null).each(storyEngines('sqlite'))(
  'docs/runbooks/first-policy.md on $name',
  (engine) => {
    test('previewed, published, watched and stopped; the host installs what it approved', async () => {
      const { server, operator, enrolled } = await createWorld(engine, {
        SERVICE_SWEEP_INTERVAL_SECONDS: '1',
      });
      const host = await enrolled({ packages: [STORY] });
      await operator.moveTo(host.agentId(), GROUP);
      const follow = createFollower('first-policy.md', {
        ...{ SERVER: server.url, TOKEN: operator.token, GROUP },
        ENDS: new Date(Date.now() + 90 * DAY_MS).toISOString(),
      });
      // The preview of a policy asks no source: it shows what is judged already.
      const draft = { scope: STANDING.scope, terms: STANDING.terms, windows: [] };
      const preview = async () => (await operator.call('POST', '/api/v1/policies/preview', draft)).body;
      for (const { id } of await operator.updates())
        await operator.call('POST', `/api/v1/updates/${id}/preview`);
      await expect.poll(preview, { interval: 250 }).toMatchObject({ approves: 2 });
      await follow('See what it would do');
      await follow('Publish', 'POLICY');
      await expect.poll(async () => (await operator.updates({ state: 'approved' })).length).toBe(2);
      await follow('Watch');
      await follow('Stop it');
      must(await host.runOnce());
      expect(await host.installed()).toEqual(NEW);
    });
  },
);
