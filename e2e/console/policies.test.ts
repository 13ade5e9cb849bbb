import { LoginAnswer } from '@tidegate/protocol/operators-api';
import { PolicyDetail } from '@tidegate/protocol/policies-api';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { STANDING } from '../../apps/server/src/testing/standing.ts';
import { inspect } from '../harness/browser.ts';
import { expectAnswer } from '../harness/operator.ts';
import { describeUpdates, VIEWER } from '../harness/update-scene.ts';

const DAY_MS = 86_400_000;
const MONTHLY = {
  ...{ rrule: 'FREQ=MONTHLY;BYDAY=2TU', starts_on: '2026-11-01', start: '22:00' },
  ...{ zone: 'Europe/Berlin', duration_minutes: 240 },
};

describeUpdates('policies in the console', (scene) => {
  async function publish(
    name: string,
    hosts: readonly string[],
    change: object = {},
    token = scene.stage.operator.token,
  ): Promise<PolicyDetail> {
    const ends_at = new Date(Date.now() + 90 * DAY_MS).toISOString();
    const scope = { kind: 'some', groups: [], hosts };
    const answer = await fetch(`${scene.stage.server.url}/api/v1/policies`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', authorization: `Bearer ${token}` },
      body: JSON.stringify({ ...STANDING, name, scope, ends_at, ...change }),
    });
    return expectAnswer({ status: answer.status, body: await answer.json() }, 201, PolicyDetail);
  }

  async function hostNamed(hostname: string): Promise<string> {
    const [update] = await scene.stage.operator.updates({ host: hostname });
    return update?.agent_id ?? '';
  }

  test('a policy shows its hosts, what it would approve, what it leaves and why, and its next windows', async () => {
    const { hostname, idOf } = await scene.hostWith(['bad', 'curl', 'zlib']);
    // Outside of its window it approves nothing, so the page has something to say.
    const policy = await publish('Patch Tuesday', [await hostNamed(hostname)], {
      ...{ windows: [MONTHLY], terms: { ...STANDING.terms, except_packages: ['zlib'] } },
    });
    const page = await scene.openAs(VIEWER);
    await page.goto('/');
    await page.getByRole('navigation', { name: 'Pages' }).getByRole('link', { name: 'Policies' }).focus();
    await page.keyboard.press('Enter');
    const row = page.getByRole('row', { name: /Patch Tuesday/ });
    await row.getByText('on the second Tuesday of each month at 22:00 (Europe/Berlin) for 4 hours').waitFor();
    await row.getByText('in force, ends').waitFor();
    await page.getByText('1 policy', { exact: true }).waitFor();
    await inspect(page, 'policies');
    await row.getByRole('link', { name: 'Patch Tuesday' }).focus();
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Patch Tuesday' }).waitFor();
    const approves = page.locator('section', { hasText: 'What it would approve now' });
    await approves.getByText('1 update on 1 host.').waitFor();
    expect(await approves.getByRole('link').getAttribute('href')).toBe(`/updates/${idOf('curl')}`);
    const leaves = page.locator('section', { hasText: 'What it leaves, and why' });
    await leaves
      .getByText('A package that this update installs or keeps has a known vulnerability.')
      .first()
      .waitFor();
    await leaves.getByText('The policy leaves this package out.').first().waitFor();
    await page.locator('section', { hasText: 'Its hosts' }).getByRole('link', { name: hostname }).waitFor();
    const windows = page.locator('section', { hasText: 'Windows' });
    expect(await windows.getByText(/^Tue, \d+ \w+ \d{4}, 22:00/).count()).toBe(5);
    await page.getByText('Except: zlib').waitFor();
    await page.getByText(`Version 1 by ${policy.author}`).waitFor();
    await inspect(page, 'policy');
    expect(await page.getByRole('button', { name: /revoke/i }).count()).toBe(0);
  });

  test('an approver revokes one, and the page says what that means', async () => {
    const { hostname } = await scene.hostWith(['curl']);
    const { id } = await publish('Short lived', [await hostNamed(hostname)]);
    const page = await scene.openAs();
    await page.goto(`/policies/${id}`);
    await page.getByRole('button', { name: 'Revoke the policy' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Revoke the policy Short lived' });
    await dialog.getByText('What it approved keeps its approval.').waitFor();
    await inspect(page, 'policy-revoke');
    await dialog.getByRole('button', { name: 'Revoke the policy' }).click();
    await dialog.waitFor({ state: 'hidden' });
    await page.getByText(/revoked it\. What it approved keeps its token\./).waitFor();
    await page.getByRole('heading', { name: 'What it would approve if it ran' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: 'Revoke the policy' }).count()).toBe(0);
    await page.goto('/policies');
    await page
      .getByRole('row', { name: /Short lived/ })
      .getByText('revoked')
      .waitFor();
  });

  test('a suspended policy says why, and what brings it back', async () => {
    const { operator, server } = scene.stage;
    const { hostname } = await scene.hostWith(['curl']);
    const author = { username: 'sam', password: 'a long enough password', role: 'approver' };
    const made = await operator.call('POST', '/api/v1/admin/operators', author);
    const { id: operatorId } = expectAnswer(made, 201, Type.Object({ id: Type.String() }));
    const { id } = await publish(
      'Of somebody',
      [await hostNamed(hostname)],
      {},
      await tokenOf(server.url, author),
    );
    const demoted = await operator.call('PATCH', `/api/v1/admin/operators/${operatorId}`, { role: 'viewer' });
    expect(demoted.status, JSON.stringify(demoted.body)).toBe(200);
    const page = await scene.openAs();
    await page.goto(`/policies/${id}`);
    await page
      .getByText('It approves nothing, because its author may not approve any more. It runs again when')
      .waitFor();
    await inspect(page, 'policy-suspended');
  });
});

async function tokenOf(url: string, { username, password }: { username: string; password: string }) {
  const answer = await fetch(`${url}/api/v1/auth/login`, {
    ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
    body: JSON.stringify({ username, password }),
  });
  return Value.Parse(LoginAnswer, await answer.json()).token;
}
