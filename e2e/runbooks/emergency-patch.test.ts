import { Type } from 'typebox';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../apps/server/src/testing/engines.ts';
import { createFollower } from '../harness/follow-runbook.ts';
import { must } from '../harness/host.ts';
import { expectAnswer } from '../harness/operator.ts';
import { NEW, OLD, STORY } from '../harness/story-packages.ts';
import { createWorld, storyMissing } from '../harness/world.ts';

const Made = Type.Object({ id: Type.String() });
const missing = storyMissing();
const PACKAGE = 'demo';
const DAY_MS = 86_400_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

describe.skipIf(missing !== null).each(ENGINES.slice(0, 1))(
  'docs/runbooks/emergency-patch.md on $name',
  (engine) => {
    test('found, freed of a hold and of a blackout, approved everywhere, installed', async () => {
      const { server, operator, enrolled } = await createWorld(engine, {
        SERVICE_SWEEP_INTERVAL_SECONDS: '1',
      });
      const host = await enrolled({ packages: [STORY] });
      const held = await operator.call('POST', '/api/v1/holds', {
        ...{ ecosystems: ['apt'], packages: [PACKAGE], scope: { kind: 'all' }, ends_at: inDays(30) },
        reason: 'The vendor has not tested the new one.',
      });
      const frozen = await operator.call('POST', '/api/v1/blackouts', {
        ...{ name: 'Season', reason: 'The shop earns its year.', scope: { kind: 'all' } },
        times: { kind: 'once', starts_at: inDays(-1), ends_at: inDays(30) },
      });
      const follow = createFollower('emergency-patch.md', {
        ...{ SERVER: server.url, TOKEN: operator.token, PACKAGE, AGENT_ID: host.agentId() },
        HOLD: expectAnswer(held, 201, Made).id,
        BLACKOUT: expectAnswer(frozen, 201, Made).id,
      });
      await follow('Look now');
      must(await host.runOnce());
      await follow('Who needs it');
      // What is held is stopped by the gate, whoever asks.
      const [update] = await operator.updates({ name: PACKAGE });
      const stopped = () => operator.call('POST', `/api/v1/updates/${update?.id}/approve`);
      await expect
        .poll(async () => (await stopped()).body, { interval: 250 })
        .toMatchObject({
          blocked_by: 'hold',
        });
      await follow('Clear the way');
      expect(await host.installed()).toEqual(OLD);
      // The preview of many asks no source: it shows what is judged already.
      await operator.call('POST', `/api/v1/updates/${update?.id}/preview`);
      const asked = { filter: { name: PACKAGE, state: 'pending' }, confirm_count: 1 };
      const preview = async () => (await operator.call('POST', '/api/v1/updates/preview', asked)).body;
      await expect.poll(preview, { interval: 250 }).toMatchObject({ updates: 1 });
      await follow('Approve');
      must(await host.runOnce());
      expect(await host.installed()).toEqual(NEW);
      await follow('Watch');
      await follow('Check what still runs');
    });
  },
);
