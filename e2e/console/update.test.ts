import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { describeUpdates, SECOND, VIEWER } from '../harness/update-scene.ts';

const rows = (page: Page) => page.locator('main tbody tr');

describeUpdates('one update in the console', (scene) => {
  test('the toast withdraws an approval', async () => {
    const { idOf } = await scene.hostWith(['one']);
    const page = await scene.openAs();
    await page.goto(`/updates/${idOf('one')}`);
    await page.getByRole('button', { name: /^Approve: installs/ }).click();
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => scene.stateOf(idOf('one'))).toBe('pending');
  });

  test('an override is deliberate, says what it does not waive, and is recorded as an event (A3, A4, A5)', async () => {
    const { hostname, idOf } = await scene.hostWith(['bad']);
    const page = await scene.openAs();
    await page.goto(`/updates/${idOf('bad')}`);
    await page.getByRole('heading', { name: /^Blocked:/ }).waitFor();
    expect(await page.getByRole('button', { name: /^Approve/ }).count()).toBe(0);
    await inspect(page, 'update-blocked');
    await page.keyboard.press('a');
    await page.keyboard.press('o');
    await expect.poll(() => page.evaluate('document.activeElement?.tagName')).toBe('TEXTAREA');
    await page.getByText('signature and hashes are still verified').waitFor();
    const submit = page.getByRole('button', { name: `Override for bad on ${hostname}` });
    await expect.poll(() => submit.isDisabled()).toBe(true);
    await page.keyboard.type('   ');
    await expect.poll(() => submit.isDisabled()).toBe(true);
    expect(await scene.stateOf(idOf('bad'))).toBe('pending');
    await page.keyboard.type('the parser is not used here');
    await inspect(page, 'update-override');
    await submit.click();
    await page.getByText('The override is recorded.').waitFor();
    expect(await scene.stateOf(idOf('bad'))).toBe('approved');
    const [event] = await scene.stage.operator.events({ type: 'supply_chain_override' });
    expect(event?.content).toMatchObject({
      update_id: idOf('bad'),
      reason: expect.stringContaining('the parser is not used here'),
    });
    await page.getByText(event?.id ?? 'no event').waitFor();
    await page.getByRole('link', { name: 'See its event' }).click();
    await page.getByRole('heading', { name: 'Event', exact: true }).waitFor();
    await expect.poll(() => new URL(page.url()).pathname).toBe(`/events/${event?.id}`);
    await page.getByText('the parser is not used here').first().waitFor();
    await inspect(page, 'event');
  });

  test('a second operator sees an approval without reloading', async () => {
    const { idOf } = await scene.hostWith(['shared']);
    const [first, second] = [await scene.openAs(), await scene.openAs(SECOND)];
    for (const page of [first, second]) {
      await page.goto(`/updates/${idOf('shared')}`);
      await page.getByRole('button', { name: /^Approve: installs/ }).waitFor();
    }
    await first.getByRole('button', { name: /^Approve: installs/ }).click();
    await first.getByText(/^shared on .* is approved\.$/).waitFor();
    await second.getByRole('button', { name: 'Withdraw the approval' }).waitFor();
    expect(await second.getByRole('button', { name: /^Approve: installs/ }).count()).toBe(0);
  });

  test('an operator who decides too late is told so and sees the current state', async () => {
    const { idOf } = await scene.hostWith(['raced']);
    const page = await scene.openAs(SECOND);
    // A page without the stream shows old data.
    await page.route('**/api/v1/stream', (route) => route.abort());
    await page.goto(`/updates/${idOf('raced')}`);
    const button = page.getByRole('button', { name: /^Approve: installs/ });
    await button.waitFor();
    await page.route(`**/api/v1/updates/${idOf('raced')}`, (route) => route.abort());
    await scene.stage.operator.approved(idOf('raced'));
    await page.unroute(`**/api/v1/updates/${idOf('raced')}`);
    await button.click();
    await page.getByRole('alert').getByText('The update cannot be approved: it is approved.').waitFor();
    await page.getByRole('button', { name: 'Withdraw the approval' }).waitFor();
  });

  test('an approval may be scheduled, and countersigned for hosts that require it', async () => {
    const { idOf } = await scene.hostWith(['later']);
    const page = await scene.openAs();
    await page.goto(`/updates/${idOf('later')}`);
    await page.getByText('Install later').click();
    const inTwoDays = new Date(Date.now() + 48 * 3_600_000);
    const local = new Date(inTwoDays.getTime() - inTwoDays.getTimezoneOffset() * 60_000);
    await page.getByLabel('Not before').fill(local.toISOString().slice(0, 16));
    await page.getByRole('button', { name: /^Approve: installs/ }).click();
    await page.getByText(/, not before/).waitFor();
    const { not_before } = await scene.stage.operator.update(idOf('later'));
    expect(not_before?.slice(0, 16)).toBe(inTwoDays.toISOString().slice(0, 16));
    await page.getByText('Countersign', { exact: true }).click();
    await page.getByLabel('Key id').fill('second-key');
    await page.getByLabel('Signature', { exact: true }).fill(`${'_'.repeat(86)}==`);
    await page.getByRole('button', { name: 'Add the signature' }).click();
    await expect
      .poll(() => page.getByLabel('Signature', { exact: true }).getAttribute('aria-invalid'))
      .toBe('true');
    await page.getByLabel('Signature', { exact: true }).fill(`${'A'.repeat(86)}==`);
    await page.getByRole('button', { name: 'Add the signature' }).click();
    await page.getByText('The token has 2 signatures now.').waitFor();
  });

  test('a recorded decision is saved as a signed statement', async () => {
    const { idOf } = await scene.hostWith(['kept']);
    await scene.stage.operator.approved(idOf('kept'));
    const page = await scene.openAs();
    await page.goto(`/updates/${idOf('kept')}`);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Signed statement' }).click();
    const file = await saved;
    expect(file.suggestedFilename()).toMatch(/^decision-[0-9a-f-]{36}\.dsse\.json$/);
    const envelope: unknown = JSON.parse(await readFile(await file.path(), 'utf8'));
    expect(envelope).toMatchObject({ payloadType: 'application/vnd.in-toto+json' });
  });

  test('rejecting asks for an optional reason and can be undone', async () => {
    const { idOf, hostname } = await scene.hostWith(['unwanted']);
    const page = await scene.openAs();
    await page.goto(`/updates/${idOf('unwanted')}`);
    await page.getByRole('button', { name: /^Approve: installs/ }).waitFor();
    await page.keyboard.press('r');
    await page.getByRole('dialog').getByLabel('Reason (optional)').fill('not this one');
    await page.getByRole('dialog').getByRole('button', { name: 'Reject', exact: true }).click();
    await page.getByText(`unwanted on ${hostname} is rejected.`).waitFor();
    expect(await scene.stateOf(idOf('unwanted'))).toBe('rejected');
    await page.getByText('not this one').first().waitFor();
    await page.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(() => scene.stateOf(idOf('unwanted'))).toBe('pending');
  });

  test('a viewer is offered no decision', async () => {
    const { idOf } = await scene.hostWith(['bad']);
    const page = await scene.openAs(VIEWER);
    await page.goto('/updates');
    await expect.poll(() => rows(page).count()).toBeGreaterThan(0);
    expect(await page.getByRole('checkbox').count()).toBe(0);
    await page.goto(`/updates/${idOf('bad')}`);
    await page.getByRole('heading', { name: /^Blocked:/ }).waitFor();
    const verbs = page
      .getByRole('main')
      .getByRole('button', { name: /approve|override|reject|reopen|check again/i });
    expect(await verbs.count()).toBe(0);
    await page.keyboard.press('o');
    expect(await page.getByLabel('Reason').count()).toBe(0);
  });

  test('the pages of packages and of one update are accessible in both themes', async () => {
    const { idOf } = await scene.hostWith(['one']);
    const page = await scene.openAs();
    await page.goto('/packages?ecosystem=dnf');
    await expect.poll(() => rows(page).count()).toBeGreaterThan(0);
    await inspect(page, 'packages');
    await page.goto(`/updates/${idOf('one')}`);
    await page.getByRole('button', { name: /^Approve: installs/ }).waitFor();
    await inspect(page, 'update');
  });
});
