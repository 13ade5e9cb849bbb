import { listenOnLoopback, readBody } from '@tidegate/testkit/loopback';
import type { Page } from 'playwright-core';
import { expect, onTestFinished, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const PASSWORD = 'correct horse battery';
const VIEWER = { username: 'vera', password: PASSWORD, role: 'viewer' } as const;
const PHONE = { width: 390, height: 844 };

/** A receiver of webhooks that refuses until the test opens it. */
async function startReceiver() {
  const bodies: string[] = [];
  const state = { isOpen: false };
  const { url, stop } = await listenOnLoopback(async (request, response) => {
    bodies.push((await readBody(request, 1_000_000)) ?? '');
    response.writeHead(state.isOpen ? 200 : 404).end(state.isOpen ? 'thanks' : 'no such hook');
  });
  onTestFinished(stop);
  return { url, bodies, open: () => Object.assign(state, { isOpen: true }) };
}

const press = async (page: Page, name: string) => {
  await page.getByRole('button', { name, exact: true }).focus();
  await page.keyboard.press('Enter');
};

describeConsole(
  'notifications in the console',
  { hosts: 2, env: { SERVICE_PRIVATE_DESTINATIONS: '127.0.0.1' }, operators: [VIEWER] },
  (scene) => {
    test('a channel is added with the keyboard, and its test says what is wrong', async () => {
      const receiver = await startReceiver();
      const page = await scene.openAs();
      await page.goto('/');
      await press(page, 'Administration');
      await page.getByRole('link', { name: 'Notifications' }).click();
      await page.getByText('No channels').waitFor();
      await inspect(page, 'notifications-none');

      await press(page, 'Add a channel');
      const dialog = page.getByRole('dialog', { name: 'Add a channel' });
      await dialog.getByLabel('Name', { exact: true }).fill('Post');
      await dialog.getByLabel('Mail server').fill('mail.example.org');
      await dialog.getByLabel('Encryption').selectOption('none');
      await dialog.getByLabel('Sender').fill('tidegate@example.org');
      await dialog.getByLabel('Recipients').fill('ops@example.org');
      await dialog.getByLabel('User').fill('tidegate');
      await dialog.getByLabel('Password').fill('hunter2');
      await press(page, 'Save the channel');
      await dialog.getByText(/passwords are not sent in the clear/).waitFor();
      await expect.poll(() => dialog.getByLabel('Encryption').getAttribute('aria-invalid')).toBe('true');
      await inspect(page, 'notifications-add-mail');

      await dialog.getByLabel('Kind').selectOption('webhook');
      await dialog.getByLabel('Name', { exact: true }).fill('Desk');
      await dialog.getByLabel('URL').fill(receiver.url);
      await press(page, 'Save the channel');
      await dialog.getByText(/others on the way read http/).waitFor();
      await dialog.getByLabel(/Also http/).check();
      await press(page, 'Save the channel');

      const result = page.getByRole('dialog', { name: 'Test of Desk' });
      await result.getByText('not delivered').waitFor();
      await result.getByText(/knows no such address \(404\)/).waitFor();
      await result.getByText('does not help before something is changed').waitFor();
      await inspect(page, 'notifications-test-failed');
      receiver.open();
      await press(page, 'Send another');
      await result.getByText('delivered', { exact: true }).waitFor();
      await result.getByText('200: thanks').waitFor();
      await inspect(page, 'notifications-test');
      await page.keyboard.press('Escape');

      const row = page.getByRole('row', { name: /Desk/ });
      await row.getByText('works').waitFor();
      await row.getByText('public key').waitFor();
      await inspect(page, 'notifications-channels');
    });

    test('a rule is previewed and saved, and its dead letter is sent again', async () => {
      const receiver = await startReceiver();
      const config = { kind: 'webhook', url: receiver.url, allow_http: true };
      const body = { name: 'Pager', is_enabled: true, config };
      await scene.stage.operator.call('POST', '/api/v1/notifications/channels', body);
      const page = await scene.openAs();
      await page.goto('/notifications');
      await page
        .getByRole('navigation', { name: 'Notifications' })
        .getByRole('link', { name: 'Rules' })
        .click();
      await page.getByText('No rules').waitFor();

      await press(page, 'Add a rule');
      const dialog = page.getByRole('dialog', { name: 'Add a rule' });
      await dialog.getByLabel('Name', { exact: true }).fill('People');
      await dialog.getByLabel('Channel').selectOption('Pager');
      await dialog.getByLabel('Minutes that share a message').fill('0');
      await dialog.getByLabel('Severity').selectOption('info');
      await dialog.getByLabel('Event type', { exact: true }).selectOption('OPERATOR_CHANGED');
      await press(page, 'Add the type');
      await dialog.getByLabel(/^Quiet hours/).check();
      await dialog.getByLabel('Until').fill('20:00');
      await press(page, 'Show what it would have sent');
      await dialog.getByText('must differ from the begin of the quiet hours').waitFor();
      await inspect(page, 'notifications-rule-wrong');
      await dialog.getByLabel(/^Quiet hours/).uncheck();
      await press(page, 'Show what it would have sent');
      await dialog.getByText(/messages? about \d+ match/).waitFor();
      await inspect(page, 'notifications-rule');
      await press(page, 'Save the rule');
      // The list may have the rule before the dialog has its answer.
      await dialog.waitFor({ state: 'hidden' });
      const row = page.getByRole('row', { name: /People/ });
      await row.getByText('an operator was added, changed or deleted').waitFor();

      await press(page, 'Add a rule');
      await dialog.getByLabel('Name', { exact: true }).fill('Nobody acted');
      await dialog.getByLabel('Tell').selectOption('escalation');
      await dialog.getByLabel('After hours', { exact: true }).fill('4');
      await inspect(page, 'notifications-rule-escalation');
      await press(page, 'Save the rule');
      await dialog.waitFor({ state: 'hidden' });
      await page.getByRole('row', { name: /when an exploited fix waits for 4 h/ }).waitFor();

      await press(page, 'Add a rule');
      await dialog.getByLabel('Name', { exact: true }).fill('Each morning');
      await dialog.getByLabel('Tell').selectOption('digest');
      await dialog.getByLabel('Time zone').fill('Europe/Nowhere');
      await press(page, 'Save the rule');
      await expect.poll(() => dialog.getByLabel('Time zone').getAttribute('aria-invalid')).toBe('true');
      await dialog.getByLabel('Time zone').fill('Europe/Berlin');
      await press(page, 'Save the rule');
      await page.getByRole('row', { name: /digest every day at 07:30/ }).waitFor();
      await inspect(page, 'notifications-rules');

      await scene.stage.addOperator({ username: 'nina', password: PASSWORD, role: 'viewer' });
      const tab = page.getByRole('navigation', { name: 'Notifications' });
      await tab.getByRole('link', { name: 'Channels' }).click();
      const channel = page.getByRole('row', { name: /Pager/ });
      await channel.getByText('fails').waitFor();
      await inspect(page, 'notifications-failing');
      await channel.getByRole('link', { name: '1', exact: true }).click();
      const letter = page.getByRole('row', { name: /given up/ });
      await letter.focus();
      await page.keyboard.press('x');
      await page.getByText('1 delivery selected').waitFor();
      await inspect(page, 'notifications-dead');
      receiver.open();
      await page.keyboard.press('r');
      await page.getByText('1 message will be sent again.').waitFor();
      await page.getByText('No deliveries match the filter').waitFor();
      await page.getByRole('button', { name: 'Clear the filter' }).click();
      const sent = page.getByRole('row', { name: /Pager.*People|delivered.*People/ });
      await sent.getByText('delivered').waitFor();
      // The same message, with the same id.
      expect(receiver.bodies).toHaveLength(2);
      expect(receiver.bodies[1]).toBe(receiver.bodies[0]);
      expect(receiver.bodies[0]).toContain('OPERATOR_CHANGED');
      await sent.focus();
      await page.keyboard.press('Enter');
      const detail = page.getByRole('dialog');
      await detail.getByText(/knows no such address/).waitFor();
      await detail.getByText('200: thanks').waitFor();
      await inspect(page, 'notifications-delivery');
      await page.keyboard.press('Escape');

      await tab.getByRole('link', { name: 'Rules' }).click();
      await row.getByRole('button', { name: 'Actions for People' }).click();
      await page.getByRole('menuitem', { name: 'Turn off' }).click();
      await row.getByText('off', { exact: true }).waitFor();
    });

    test('in the window of a phone', async () => {
      const page = await scene.openAs();
      await page.setViewportSize(PHONE);
      for (const [path, row] of [
        ['/notifications', /Desk/],
        ['/notifications/rules', /People/],
        ['/notifications/deliveries', /Test message/],
      ] as const) {
        await page.goto(path);
        await page.getByRole('row', { name: row }).first().waitFor();
        const width = await page.evaluate('document.documentElement.scrollWidth');
        expect(width, path).toBeLessThanOrEqual(PHONE.width);
        await inspect(page, `phone${path.replaceAll('/', '-')}`);
      }
    });

    test('a viewer is not offered the page, and is refused when opening its address', async () => {
      const page = await scene.openAs(VIEWER);
      await page.goto('/settings');
      await page.getByRole('heading', { name: 'Settings', exact: true }).waitFor();
      expect(await page.getByRole('link', { name: 'Notifications' }).count()).toBe(0);
      await page.goto('/notifications');
      await page
        .getByText(/This requires the role admin/)
        .first()
        .waitFor();
    });
  },
);
