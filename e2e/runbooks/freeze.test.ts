import { describe, expect, test } from 'vitest';
import { createFollower } from '../harness/follow-runbook.ts';
import { must } from '../harness/host.ts';
import { storyEngines } from '../harness/story-engines.ts';
import { NEW, OLD, STORY } from '../harness/story-packages.ts';
import { createWorld, storyMissing } from '../harness/world.ts';

const missing = storyMissing();
const GROUP = 'shop';
const DAY_MS = 86_400_000;

describe.skipIf(missing !== null).each(storyEngines('sqlite'))(
  'docs/runbooks/freeze.md on $name',
  (engine) => {
    test('a month without changes: approved meanwhile, installed after its end', async () => {
      const { server, operator, enrolled } = await createWorld(engine);
      const host = await enrolled({ packages: [STORY] });
      await operator.moveTo(host.agentId(), GROUP);
      const [update] = await operator.updates({ name: 'demo' });
      const follow = createFollower('freeze.md', {
        ...{ SERVER: server.url, TOKEN: operator.token, GROUP, UPDATE_ID: update?.id ?? '' },
        FROM: new Date(Date.now() - DAY_MS).toISOString(),
        UNTIL: new Date(Date.now() + 30 * DAY_MS).toISOString(),
      });
      await follow('Begin', 'BLACKOUT');
      await follow('Meanwhile');
      must(await host.runOnce());
      expect(await host.installed()).toEqual(OLD);
      await follow('End');
      must(await host.runOnce());
      expect(await host.installed()).toEqual(NEW);
      await follow('Check');
    });
  },
);
