import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import { CommandPayload } from '@tidegate/protocol/documents';
import { PolicyDetail } from '@tidegate/protocol/policies-api';
import type { Page } from 'playwright-core';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import { CANARY_THEN_REST } from '../../apps/server/src/testing/rollout-rings.ts';
import { STANDING } from '../../apps/server/src/testing/standing.ts';
import { type BareAgent, enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { fieldsOf } from '../harness/forge.ts';
import { offerUpdates } from '../harness/offer-updates.ts';
import { expectAnswer } from '../harness/operator.ts';
import { OFTEN } from '../harness/server-process.ts';
import { describeUpdates, SECOND, VIEWER } from '../harness/update-scene.ts';

const DAY_MS = 86_400_000;
const PHONE = { width: 360, height: 740 };
const WIDE = { width: 1440, height: 900 };
/** Policies and rollouts run every second. */

describeUpdates(
  'rollouts in the console',
  (scene) => {
    async function hostOf(hostname: string, system?: { id: string; version_id: string }): Promise<BareAgent> {
      const { operator, server } = scene.stage;
      const agent = await enrolBareAgent(server.url, {
        ...{ registrationToken: await operator.registrationToken(), machineId: `machine-of-${hostname}` },
        ...{ hostname, ...(system && { system }) },
      });
      await offerUpdates(agent, { ecosystem: 'apt', names: ['curl'] });
      return agent;
    }

    /** Two hosts in the first ring, two in the last, one of which has a system that the first ring lacks. */
    async function begin() {
      const { operator } = scene.stage;
      const [first, second] = [await hostOf('canary-1'), await hostOf('canary-2')];
      const rest = [await hostOf('shop-1'), await hostOf('shop-2', { id: 'ubuntu', version_id: '24.04' })];
      const hosts = [first, second, ...rest].map(({ agentId }) => agentId);
      const canaries = { agent_ids: [first.agentId, second.agentId], group: 'canary' };
      expect(await operator.call('POST', '/api/v1/agents/group', canaries)).toMatchObject({ status: 200 });
      const rings = CANARY_THEN_REST.map((ring) => ({
        ...ring,
        gate: ring.gate && { ...ring.gate, approval: true },
      }));
      const answer = await operator.call('POST', '/api/v1/policies', {
        ...{ ...STANDING, rings, unproven: { wait_days: 7 }, scope: { kind: 'some', groups: [], hosts } },
        ends_at: new Date(Date.now() + 30 * DAY_MS).toISOString(),
      });
      return { first, second, policy: expectAnswer(answer, 201, PolicyDetail) };
    }

    /** Gives the reason of an act in its dialog, and does it. */
    async function act(
      page: Page,
      { button, submit, reason }: Readonly<Record<'button' | 'submit' | 'reason', string>>,
    ) {
      await page.getByRole('button', { name: button }).press('Enter');
      const dialog = page.getByRole('dialog', { name: submit });
      await dialog.getByLabel('Reason').focus();
      await page.keyboard.type(reason);
      await dialog.getByRole('button', { name: submit }).press('Enter');
      await expect.poll(() => dialog.count()).toBe(0);
    }

    test('a board shows what each ring has and wants; a failed host halts it, and people resume and approve by keyboard', async () => {
      const { first, second } = await begin();
      const page = await scene.openAs(SECOND);
      await page.goto('/rollouts');
      await page
        .getByRole('row', { name: /Nightly running ring 1 of 2, canary Waits in ring "canary"/ })
        .waitFor();
      await inspect(page, 'rollouts');
      await page.getByRole('link', { name: 'Nightly' }).press('Enter');

      const status = page.getByRole('status').filter({ hasText: 'ring "canary"' });
      await status.getByText('Waits in ring "canary": 1 host must have installed; 0 of 1.').waitFor();
      await page.getByText('ubuntu 24.04, amd64: 1 host').waitFor();
      const lane = (name: string) => page.getByRole('listitem', { name });
      await lane('1. canary').getByText('not met: 0 of 1 host').waitFor();
      await lane('2. rest').getByText('not entered yet').waitFor();

      await act(page, { button: 'Halt…', submit: 'Halt the rollout', reason: 'The shop is down.' });
      await page.getByText('Halted by otto: The shop is down.').waitFor();
      await act(page, { button: 'Resume…', submit: 'Resume the rollout', reason: 'The shop is up.' });
      await page.getByText('running', { exact: true }).first().waitFor();

      await carryOut(first, 'success');
      await carryOut(second, 'failed');
      await page.getByText(/Halted by server: 1 of 2 hosts of ring "canary" failed/).waitFor();
      await lane('1. canary').getByText('met: 1 host', { exact: true }).waitFor();
      await lane('1. canary').getByText('not met: 50 %, needs 100 %').waitFor();
      await inspect(page, 'rollout-halted');
      await page.setViewportSize(PHONE);
      await inspect(page, 'rollout-halted-narrow');
      expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(PHONE.width);
      await page.setViewportSize(WIDE);

      await page.getByRole('button', { name: 'Roll back… canary' }).press('Enter');
      const undo = page.getByRole('dialog', { name: 'Roll back ring “canary”' });
      await undo.getByText('1 installation on 1 host will be undone.').waitFor();
      await undo.getByText('1 update left out: This server has installed nothing of it').waitFor();
      await inspect(page, 'rollout-roll-back');
      await page.keyboard.press('Escape');
      await expect.poll(() => undo.count()).toBe(0);

      await lane('1. canary').getByRole('link', { name: '1 failed' }).press('Enter');
      const rows = page.getByRole('table', { name: 'Hosts of this rollout' }).getByRole('row');
      await expect.poll(() => rows.count()).toBe(1 + 1);
      await rows.getByText('canary-2').waitFor();
      expect(new URL(page.url()).search).toBe('?ring=0&outcome=failed');
      await page.getByLabel('Outcome', { exact: true }).selectOption('');
      await expect.poll(() => rows.count()).toBe(1 + 2);

      await act(page, { button: 'Resume…', submit: 'Resume the rollout', reason: 'Its disk was full.' });
      await lane('1. canary').getByText('1 failed host does not count any more').waitFor();
      await page.getByRole('button', { name: 'Approve the next ring…' }).press('Enter');
      await page.getByRole('dialog').getByRole('button', { name: 'Approve the next ring' }).press('Enter');
      await lane('1. canary').getByText('passed', { exact: true }).waitFor();
      await lane('2. rest').getByText('now', { exact: true }).waitFor();
      await act(page, {
        button: 'Skip the waiting times…',
        submit: 'Skip the waiting times of all rings',
        reason: 'CVE-2026-1 is exploited.',
      });
      await page.getByText('emergency', { exact: true }).waitFor();
      await inspect(page, 'rollout');

      const viewer = await scene.openAs(VIEWER);
      await viewer.goto(new URL(page.url()).pathname);
      await viewer.getByRole('heading', { name: 'Rollout of Nightly' }).waitFor();
      expect(await viewer.getByRole('button', { name: /…$/ }).count()).toBe(0);

      await act(page, {
        button: 'Cancel…',
        submit: 'Cancel the rollout',
        reason: 'A newer version is near.',
      });
      await page.getByText('Cancelled by otto: A newer version is near.').waitFor();
      expect(await page.getByRole('button', { name: /…$/ }).count()).toBe(0);
      for (const type of ['halted', 'resumed', 'ring_approved', 'expedited', 'cancelled']) {
        expect(await scene.stage.operator.events({ type: `rollout_${type}` }), type).not.toEqual([]);
      }

      await page.getByRole('link', { name: 'See the policy' }).press('Enter');
      await page.getByText('the group canary (2 hosts now)').waitFor();
      await inspect(page, 'policy-with-rings');
      await page.getByRole('button', { name: 'Change', exact: true }).press('Enter');
      const form = page.getByRole('dialog', { name: 'Change Nightly' });
      const ring = form.getByRole('group', { name: 'Ring 1' });
      await expect.poll(() => ring.getByLabel('canary', { exact: true }).isChecked()).toBe(true);
      await form.getByRole('button', { name: 'Add a ring before the last' }).press('Enter');
      const added = form.getByRole('group', { name: 'Ring 2' });
      await expect.poll(() => added.getByLabel('Ring name').inputValue()).toBe('early');
      await added.getByLabel('Installed, at least').fill('99');
      await inspect(page, 'policy-rings-form');
      await form.getByRole('button', { name: 'Show what it would do' }).press('Enter');
      await form.getByText(/^2\. early/).waitFor();
      await form.getByText('ubuntu 24.04, amd64: 1 host').waitFor();
      await inspect(page, 'policy-rings-preview');
      await form.getByRole('button', { name: 'Publish version 2' }).press('Enter');
      await expect.poll(() => form.count()).toBe(0);
      await page.getByText(/^2\. early/).waitFor();
      await page.getByText('waits 7 days after its ring was entered').waitFor();
      await page.getByRole('link', { name: 'See its rollouts' }).press('Enter');
      await page.getByRole('row', { name: /Nightly cancelled/ }).waitFor();
    });
  },
  OFTEN,
);

/** Takes the installation as soon as it is delivered, and reports how it ended. */
async function carryOut(agent: BareAgent, status: 'success' | 'failed'): Promise<void> {
  const request = {
    ...{ agent_version: '0.1.0', boot_id: 'boot', uptime_seconds: 1, received: [], key_set_version: 1 },
    inventory_digest: {},
  };
  const take = async () => {
    const { commands } = expectAnswer(await agent.call('POST', '/check-in', request), 200, CheckInAnswer);
    const payloads = commands.map((envelope) => Value.Parse(CommandPayload, fieldsOf(envelope)));
    return payloads.filter(({ action }) => action === 'install_update').map(({ command_id: id }) => id);
  };
  let taken: string[] = [];
  await expect
    .poll(async () => {
      taken = await take();
      return taken.length;
    })
    .toBeGreaterThan(0);
  for (const id of taken) {
    const result = { status, ...(status === 'failed' && { reason: 'dpkg failed' }) };
    expect(await agent.call('POST', `/commands/${id}/result`, result)).toMatchObject({ status: 200 });
  }
}
