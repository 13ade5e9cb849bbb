import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;

describeConsole('rate limits in the console', { hosts: 0, operators: [VIEWER] }, (scene) => {
  const classes = async () => (await scene.stage.operator.call('GET', '/api/v1/admin/rate-limits')).body;

  test('a refused change is shown beside its field and changes nothing; a valid one takes effect', async () => {
    const page = await scene.openAs();
    await page.goto('/rate-limits');
    await page.getByText(/all budgets are halved|Full budgets apply/).waitFor();
    const requests = page.getByLabel('Requests for Token renewals');
    await requests.fill('0');
    await page.getByLabel('Requests for Approvals').fill('250');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Nothing was changed').waitFor();
    await expect.poll(() => requests.getAttribute('aria-invalid')).toBe('true');
    await expect.poll(() => requests.getAttribute('aria-describedby')).not.toBeNull();
    await inspect(page, 'rate-limits');
    expect(await classes()).toMatchObject({ classes: { approvals: { requests: 100_000 } } });
    await requests.fill('20');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('The limits are in force').waitFor();
    expect(await classes()).toMatchObject({
      classes: { approvals: { requests: 250, window_seconds: 1 }, agent_renewal: { requests: 20 } },
    });
    await expect.poll(() => page.getByRole('button', { name: 'Save' }).isDisabled()).toBe(true);
  });

  test('the defaults are restored after a confirmation, and a toast undoes that', async () => {
    const page = await scene.openAs();
    await page.goto('/rate-limits');
    await page.getByRole('button', { name: 'Reset to the defaults' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Reset all limits' }).click();
    await page.getByText('The default limits are in force').waitFor();
    expect(await classes()).toMatchObject({
      classes: { admin_reads: { requests: 600, window_seconds: 60 } },
    });
    await page.getByRole('button', { name: 'Undo' }).click();
    await page.getByText('The limits are in force').waitFor();
    expect(await classes()).toMatchObject({
      classes: { admin_reads: { requests: 100_000, window_seconds: 1 } },
    });
  });

  test('a viewer is offered no controls', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/rate-limits');
    await page.getByRole('heading', { name: 'Only admins can see the rate limits' }).waitFor();
    expect(await page.getByRole('button', { name: /save|defaults/i }).count()).toBe(0);
  });
});
