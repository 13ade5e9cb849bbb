import { listenOnLoopback, readBody } from '@tidegate/testkit/loopback';
import { expect, onTestFinished, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { OPERATOR } from '../harness/server-process.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

const PHONE = { width: 390, height: 844 };

describeUpdates(
  'the link of a notice',
  (scene) => {
    /** The ids of the messages that tell of blocked approvals. */
    async function followBlocks(name: string): Promise<string[]> {
      const ids: string[] = [];
      const { url, stop } = await listenOnLoopback(async (request, response) => {
        await readBody(request, 1_000_000);
        ids.push(String(request.headers['webhook-id']));
        response.end();
      });
      onTestFinished(stop);
      const { operator } = scene.stage;
      const config = { kind: 'webhook', url, allow_http: true };
      const added = await operator.call('POST', '/api/v1/notifications/channels', {
        ...{ name, is_enabled: true, config },
      });
      expect(added.status).toBe(201);
      const rule = await operator.call('POST', '/api/v1/notifications/rules', {
        ...{ name, is_enabled: true, channel_id: Object(added.body).id, quiet_hours: null },
        conditions: {
          ...{ event_types: ['approval_blocked'], minimum_severity: 'info', groups: [], ecosystems: [] },
          exploited_only: false,
        },
        mode: { kind: 'at_once', batch_seconds: 0 },
      });
      expect(rule.status).toBe(201);
      return ids;
    }

    test('it asks for a login, opens exactly the updates of the notice, and approves nothing by itself', async () => {
      const ids = await followBlocks('first');
      const { idOf, hostname } = await scene.hostWith(['bad', 'curl']);
      const blocked = await scene.stage.operator.call('POST', `/api/v1/updates/${idOf('bad')}/approve`, {});
      expect(blocked.status).not.toBe(200);
      await expect.poll(() => ids.length, { timeout: 30_000 }).toBe(1);

      const page = await scene.open();
      await page.goto(`/notices/${ids[0]}`);
      await page.getByRole('heading', { name: 'Log in to Tidegate' }).waitFor();
      await page.getByLabel('Username').fill(OPERATOR.username);
      await page.getByLabel('Password', { exact: true }).fill(OPERATOR.password);
      await page.keyboard.press('Enter');
      await page.getByText('1 of 1 update waits for a decision.').waitFor();
      const rows = page.getByRole('table', { name: 'Updates of the notice' }).getByRole('row');
      expect(await rows.count()).toBe(2);
      await page.getByRole('row', { name: new RegExp(`bad.*${hostname}`) }).waitFor();
      expect(await scene.stateOf(idOf('bad'))).toBe('pending');
      await inspect(page, 'notice');
      await page.getByRole('button', { name: 'Review and approve 1' }).focus();
      await page.keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Approve 1 update' }).waitFor();
      await inspect(page, 'notice-review');
      await page.keyboard.press('Escape');
      expect(await scene.stateOf(idOf('bad'))).toBe('pending');

      await page.setViewportSize(PHONE);
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(PHONE.width);
      await inspect(page, 'phone-notice');
    });

    test('a viewer sees the updates and cannot approve, and an unknown notice says so', async () => {
      const ids = await followBlocks('second');
      const { idOf } = await scene.hostWith(['bad']);
      await scene.stage.operator.call('POST', `/api/v1/updates/${idOf('bad')}/approve`, {});
      await expect.poll(() => ids.length, { timeout: 30_000 }).toBe(1);
      const page = await scene.openAs(VIEWER);
      await page.goto(`/notices/${ids[0]}`);
      await page.getByText('1 of 1 update waits for a decision.').waitFor();
      expect(await page.getByRole('button', { name: /approve/i }).count()).toBe(0);
      await page.goto('/notices/01920000-0000-7000-8000-000000000001');
      await page.getByText(/There is no such notice/).waitFor();
    });
  },
  { SERVICE_PRIVATE_DESTINATIONS: '127.0.0.1' },
);
