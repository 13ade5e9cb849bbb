import type { InventoryReport } from '@tidegate/protocol/agent-api';
import { expect, test } from 'vitest';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';
import { offerUpdates } from '../harness/offer-updates.ts';

const HOST = 'h'.repeat(200);
const PACKAGE = 'p'.repeat(200);
const VERSIONS = { current_version: `1.${'0'.repeat(198)}`, available_version: `2.${'0'.repeat(198)}` };
/** As long as the server takes them. */
const GROUP = 'g'.repeat(128);
const OPERATOR = { username: 'o'.repeat(64), password: 'a long enough password', role: 'viewer' } as const;
const WIDTHS = [1440, 1024, 390];
/** Lists, and whether each row has a verdict. */
const LISTS = [
  ['/hosts', false],
  ['/updates', true],
  ['/updates/by-host', false],
  ['/packages', false],
  ['/commands', false],
  ['/events', false],
  ['/operators', false],
  ['/holds', false],
  [`/hosts/:host`, false],
  [`/hosts/:host/inventory`, false],
] as const;

/** How far the window scrolls sideways, and whether a column with a bound is wider than that. */
const SIDEWAYS = `[
  document.documentElement.scrollWidth - document.documentElement.clientWidth,
  Math.max(...[...document.querySelectorAll('main td.max-w-80')].map((cell) => cell.offsetWidth)) <= 320 || innerWidth < 640,
]`;

describeConsole(
  'names of 200 characters',
  {
    hosts: 2,
    operators: [OPERATOR],
    async prepare({ operator, server }) {
      const agent = await enrolBareAgent(server.url, {
        registrationToken: await operator.registrationToken(),
        machineId: 'long-names',
        hostname: HOST,
      });
      await offerUpdates(agent, { ecosystem: 'npm', names: [PACKAGE] });
      const report: InventoryReport = {
        scanned_at: new Date().toISOString(),
        complete: true,
        packages: [{ name: PACKAGE, version: VERSIONS.current_version, arch: 'amd64' }],
        updates: [{ name: PACKAGE, arch: 'amd64', ...VERSIONS }],
      };
      expect((await agent.call('PUT', '/inventory/apt', report)).status).toBe(200);
      await operator.moveTo(agent.agentId, GROUP);
      await operator.call('POST', `/api/v1/agents/${agent.agentId}/scan`, {});
      const until = new Date(Date.now() + 86_400_000).toISOString();
      const hold = {
        ...{ ecosystems: ['apt'], packages: [PACKAGE], scope: { kind: 'all' } },
        ...{ reason: 'r'.repeat(200), ends_at: until },
      };
      expect((await operator.call('POST', '/api/v1/holds', hold)).status).toBe(201);
    },
  },
  (scene) => {
    test.each(LISTS)('on %s move nothing out of sight', async (path, hasVerdict) => {
      const page = await scene.openAs();
      const { body } = await scene.stage.operator.call('GET', '/api/v1/agents?q=hhhh');
      const id = /"id":"([^"]+)"/.exec(JSON.stringify(body))?.[1] ?? '';
      for (const width of WIDTHS) {
        await page.setViewportSize({ width, height: 900 });
        await page.goto(path.replace(':host', id));
        const row = page
          .getByRole('row')
          .filter({ hasText: /hhhh|pppp|oooo/ })
          .first();
        await row.waitFor();
        if (path === '/updates/by-host') {
          await row.getByRole('button', { name: /^Contents of/ }).click();
          await page.getByRole('link', { name: /^pppp/ }).first().waitFor();
          const to = await page.getByText(VERSIONS.available_version, { exact: true }).boundingBox();
          expect(to?.width ?? 0, `the new version at ${width}`).toBeGreaterThan(40);
        }
        expect(await page.evaluate(SIDEWAYS), `${path} at ${width}`).toEqual([0, true]);
        if (width === 1440)
          expect(await page.locator('main [data-cut]').count(), 'tables that scroll sideways').toBe(0);
        if (path === '/packages' || path === '/updates') {
          const cut = `[...document.querySelectorAll('main td.max-w-80')].some((cell) => cell.scrollWidth > cell.clientWidth + 1
            && cell.querySelector('a'))`;
          expect(await page.evaluate(cut), 'a name that its column cuts off with what is behind it').toBe(
            false,
          );
        }
        if (hasVerdict) {
          const verdict = await row.getByText(/^(clear|vulnerable|unchecked|not judged)$/).boundingBox();
          expect((verdict?.x ?? width) + (verdict?.width ?? 0), `the verdict at ${width}`).toBeLessThan(
            width,
          );
        }
        await inspect(page, `long-names${path.replaceAll(/[/:]+/g, '-')}-${width}`, ['light']);
      }
    });
  },
);
