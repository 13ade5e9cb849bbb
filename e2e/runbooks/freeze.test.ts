import { fileURLToPath } from 'node:url';
import { SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../apps/server/src/testing/engines.ts';
import { must } from '../harness/host.ts';
import { missingLines, readRunbook, runCommands, stepOf, withVariables } from '../harness/runbook.ts';
import { NEW, OLD, STORY } from '../harness/story-packages.ts';
import { createWorld, storyMissing } from '../harness/world.ts';

const missing = storyMissing();
const RUNBOOK = fileURLToPath(new URL('../../docs/runbooks/freeze.md', import.meta.url));
const steps = readRunbook(RUNBOOK);
const GROUP = 'shop';
const DAY_MS = 86_400_000;
const Begun = Type.Object({ id: Type.String() });

describe.skipIf(missing !== null).each(ENGINES)('docs/runbooks/freeze.md on $name', (engine) => {
  test('a month without changes: approved meanwhile, installed after its end', async () => {
    const { server, operator, enrolled } = await createWorld(engine);
    const host = await enrolled({ packages: [STORY] });
    const patched = await operator.call('PATCH', `/api/v1/agents/${host.agentId()}`, { group: GROUP });
    expect(patched.status, JSON.stringify(patched.body)).toBe(200);
    const [update] = await operator.updates({ name: 'demo' });
    const names: Record<string, string> = {
      ...{ SERVER: server.url, TOKEN: operator.token, GROUP, UPDATE_ID: update?.id ?? '' },
      FROM: new Date(Date.now() - DAY_MS).toISOString(),
      UNTIL: new Date(Date.now() + 30 * DAY_MS).toISOString(),
    };

    async function follow(title: string): Promise<string[]> {
      const { commands, shown } = stepOf(steps, title);
      const said: string[] = [];
      for (const block of commands) {
        const ran = await runCommands(block, { env: { ...names, PATH: SYSTEM_PATH }, cwd: '/' });
        expect(ran.code, `${title}: ${ran.stdout}\n${ran.stderr}`).toBe(0);
        said.push(ran.stdout);
        if (title === 'Begin' && said.length === 1) {
          names.BLACKOUT = Value.Parse(Begun, JSON.parse(ran.stdout)).id;
        }
      }
      for (const text of shown) {
        expect(missingLines(withVariables(text, names), said.join('\n')), said.join('\n')).toEqual([]);
      }
      return said;
    }

    await follow('Begin');
    // Asks the sources before the one request of the runbook.
    expect((await operator.call('POST', `/api/v1/updates/${names.UPDATE_ID}/preview`)).status).toBe(200);
    await follow('Meanwhile');
    must(await host.runOnce());
    expect(await host.installed()).toEqual(OLD);
    await follow('End');
    must(await host.runOnce());
    expect(await host.installed()).toEqual(NEW);
    await follow('Check');
  });
});
