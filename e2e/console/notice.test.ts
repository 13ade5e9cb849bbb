import { Type } from 'typebox';
import { expect, test } from 'vitest';
import { inspect } from '../harness/browser.ts';
import { expectAnswer, pause } from '../harness/operator.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

const API = '/api/v1/notifications';
const WithId = Type.Object({ id: Type.String() });
const Deliveries = Type.Object({
  items: Type.Array(Type.Object({ id: Type.String(), updates: Type.Integer() })),
});

describeUpdates('the link of a notice in the console', (scene) => {
  /** A notice that speaks of these updates: the gate has refused each of them. */
  async function noticeOf(ids: readonly string[]): Promise<string> {
    const { operator } = scene.stage;
    const config = { kind: 'webhook', url: 'https://receiver.invalid/hook', allow_http: false };
    const channel = await operator.call('POST', `${API}/channels`, {
      name: 'Pager',
      is_enabled: true,
      config,
    });
    const rule = {
      ...{ name: 'Blocked', is_enabled: true, quiet_hours: null },
      channel_id: expectAnswer(channel, 201, WithId).id,
      conditions: {
        ...{ event_types: ['approval_blocked'], minimum_severity: 'info', groups: [], ecosystems: [] },
        exploited_only: false,
      },
      mode: { kind: 'at_once', batch_seconds: 2 },
    };
    expect(await operator.call('POST', `${API}/rules`, rule)).toMatchObject({ status: 201 });
    for (const id of ids) expect(await operator.approve(id)).toMatchObject({ status: 409 });
    for (;;) {
      const { items } = expectAnswer(await operator.call('GET', `${API}/deliveries`), 200, Deliveries);
      const [notice] = items;
      if (notice) return notice.id;
      await pause(200);
    }
  }

  test('opens exactly its updates, and approves what is selected through the dialog alone', async () => {
    const { idOf } = await scene.hostWith(['bad', 'curl']);
    const { operator } = scene.stage;
    const hold = { ecosystems: ['apt'], packages: ['curl'], scope: { kind: 'all' }, reason: 'test' };
    const endsAt = new Date(Date.now() + 3_600_000).toISOString();
    const held = await operator.call('POST', '/api/v1/holds', { ...hold, ends_at: endsAt });
    const notice = await noticeOf([idOf('bad'), idOf('curl')]);
    await operator.call('DELETE', `/api/v1/holds/${expectAnswer(held, 201, WithId).id}`);

    const page = await scene.openAs();
    await page.goto(`/notices/${notice}`);
    await page.getByText('2 updates, 2 waiting for a decision.').waitFor();
    await expect.poll(() => page.locator('main tbody tr').count()).toBe(2);
    await inspect(page, 'notice');
    // Opening it decided nothing.
    expect(await scene.stateOf(idOf('curl'))).toBe('pending');

    const row = page.getByRole('row', { name: /^Select curl/ });
    await row.focus();
    await page.keyboard.press('x');
    await page.getByRole('button', { name: 'Approve' }).click();
    const dialog = page.getByRole('dialog', { name: 'Approve 1 update' });
    await inspect(page, 'notice-approve');
    await dialog.getByRole('button', { name: /^Approve/ }).click();
    await page.getByRole('heading', { name: 'Result' }).waitFor();
    expect(await scene.stateOf(idOf('curl'))).toBe('approved');
    expect(await scene.stateOf(idOf('bad'))).toBe('pending');
    await page.keyboard.press('Escape');
    await page.getByText('2 updates, 1 waiting for a decision.').waitFor();

    const viewer = await scene.openAs(VIEWER);
    await viewer.goto(`/notices/${notice}`);
    await viewer.getByText('2 updates, 1 waiting for a decision.').waitFor();
    expect(await viewer.getByRole('checkbox').count()).toBe(0);
    await viewer.goto('/notices/01900000-0000-7000-8000-00000000beef');
    await viewer.getByText(/There is no such message/).waitFor();
  });
});
