import { expect, test } from 'vitest';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { offerUpdates } from '../harness/offer-updates.ts';

const HOST = 'h'.repeat(200);
const PACKAGE = 'p'.repeat(200);
const WIDTHS = [1440, 1024, 390];
const LISTS = ['/hosts', '/updates', '/packages', '/commands', '/events'];

/** How far the window scrolls sideways, and how wide the widest column with a bound is. */
const SIDEWAYS = `[
  document.documentElement.scrollWidth - document.documentElement.clientWidth,
  Math.max(...[...document.querySelectorAll('main td.max-w-80')].map((cell) => cell.offsetWidth)) <= 320,
]`;

describeConsole(
  'names of 200 characters',
  {
    hosts: 2,
    async prepare({ operator, server }) {
      const agent = await enrolBareAgent(server.url, {
        registrationToken: await operator.registrationToken(),
        machineId: 'long-names',
        hostname: HOST,
      });
      await offerUpdates(agent, { ecosystem: 'npm', names: [PACKAGE] });
      await operator.call('POST', `/api/v1/agents/${agent.agentId}/scan`, {});
    },
  },
  (scene) => {
    test.each(LISTS)('on %s move nothing out of sight', async (path) => {
      const page = await scene.openAs();
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(path);
        await page
          .getByRole('row')
          .filter({ hasText: /hhhh|pppp/ })
          .first()
          .waitFor();
        expect(await page.evaluate(SIDEWAYS), `${path} at ${width}`).toEqual([0, true]);
        if (width === 1440 && path === '/updates') {
          const verdict = await page.getByRole('columnheader', { name: 'Verdict' }).boundingBox();
          expect((verdict?.x ?? width) + (verdict?.width ?? 0)).toBeLessThan(width);
        }
        await inspect(page, `long-names${path.replace('/', '-')}-${width}`, ['light']);
      }
    });
  },
);
