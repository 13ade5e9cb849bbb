import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../apps/server/src/testing/engines.ts';
import { REST, ringOf } from '../../apps/server/src/testing/rollout-rings.ts';
import { createFollower } from '../harness/follow-runbook.ts';
import { must } from '../harness/host.ts';
import { publishRings, untilRollout, untilStates } from '../harness/rollouts.ts';
import { OFTEN } from '../harness/server-process.ts';
import { createWorld, storyMissing } from '../harness/world.ts';

const missing = storyMissing();
const DAY_MS = 86_400_000;
const PACKAGE = 'fragile';
const CANNOT = 'echo "fragile cannot be set up" >&2; exit 1';
const FRAGILE = {
  installed: [{ name: PACKAGE, version: '1.0-1' }],
  offered: [
    { name: PACKAGE, version: '1.1-1', postinst: CANNOT },
    { name: 'other', version: '1.0-1', archive: 'security' as const },
  ],
};

describe.skipIf(missing !== null).each(ENGINES.slice(0, 1))(
  'docs/runbooks/ring-has-halted.md on $name',
  (engine) => {
    test('a package that cannot be set up halts its rollout: looked at, resumed, halted, held, cancelled and taken back', async () => {
      const { server, operator, enrolled } = await createWorld(engine, OFTEN);
      const [canary, rest] = await Promise.all([
        enrolled({ packages: [FRAGILE] }),
        enrolled({ packages: [FRAGILE] }),
      ]);
      await operator.moveTo(canary.agentId(), 'canary');
      await publishRings(operator, [ringOf('canary'), REST]);
      const ids = [canary.agentId(), rest.agentId()];
      const bad = { name: PACKAGE, version: '1.1-1' };
      await untilStates(operator, ids, bad, ['approved', 'pending']);
      must(await canary.runOnce());
      const { id } = await untilRollout(operator, { state: 'halted', outcomes: { failed: 1 } });
      const follow = createFollower('ring-has-halted.md', {
        ...{ SERVER: server.url, TOKEN: operator.token, AGENT_ID: canary.agentId(), PACKAGE, ROLLOUT: id },
        ENDS: new Date(Date.now() + 30 * DAY_MS).toISOString(),
      });
      await follow('What you see');
      await follow('Why hosts failed');
      await follow('It was not the update');
      await follow('It was the update');
      await follow('Take it back');
      await follow('Check');
      must(await rest.runOnce());
      expect(await rest.installed()).toMatchObject({ [PACKAGE]: '1.0-1' });
    });
  },
);
