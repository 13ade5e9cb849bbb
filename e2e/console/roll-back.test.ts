import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import { CommandPayload } from '@tidegate/protocol/documents';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import type { BareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { fieldsOf } from '../harness/forge.ts';
import { OFFERED } from '../harness/offer-updates.ts';
import { expectAnswer } from '../harness/operator.ts';
import { describeUpdates } from '../harness/update-scene.ts';

const back = { size_bytes: 10_000, sha256: 'b'.repeat(64) };

describeUpdates('the way back in the console', (scene) => {
  /** A host with one update of `nginx`, whose plan replaces two packages; one of the old files cannot be had. */
  async function hostWithPlan() {
    const host = await scene.hostWith(['nginx'], ['nginx']);
    const actionOf = (name: string) => ({
      ...{ action: 'upgrade', name, arch: 'amd64', from_version: '1.0.0', to_version: OFFERED.apt },
      ...{ source_name: 'nginx', source_version: OFFERED.apt, origin: 'Debian:12/stable' },
      artifact: {
        filename: `${name}.deb`,
        url: `https://mirror.example/${name}.deb`,
        ...{ size_bytes: 10_345, sha256: 'a'.repeat(64) },
      },
    });
    const actions = [{ ...actionOf('nginx'), back }, actionOf('nginx-common')];
    const report = {
      sets: [[host.idOf('nginx')]],
      plan: { resolved_at: new Date().toISOString(), actions },
    };
    expect(await host.agent.call('PUT', '/plans', report)).toMatchObject({ status: 200 });
    return host;
  }

  test('is stated before an approval, and an installation is undone by keyboard, with a reason', async () => {
    const { agent, hostname, idOf } = await hostWithPlan();
    const id = idOf('nginx');
    const page = await scene.openAs();
    await page.goto(`/updates/${id}`);
    const partial = 'Rollback: possible in part, the old files of nginx-common 1.0.0 are not available.';
    await expect.poll(() => page.getByText(partial).count()).toBe(2);
    expect(await page.getByRole('button', { name: 'Roll back…' }).count()).toBe(0);
    await inspect(page, 'way-back-partial');

    await scene.stage.operator.approved(id);
    await carryOut(agent);
    await page.getByRole('button', { name: 'Roll back…' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: `Roll back nginx on ${hostname}` });
    const listed = dialog.getByLabel('What the rollback does').getByRole('listitem');
    await expect
      .poll(() => listed.allTextContents())
      .toEqual([
        `Take back nginx from ${OFFERED.apt} to 1.0.0`,
        `Take back nginx-common from ${OFFERED.apt} to 1.0.0`,
      ]);
    await inspect(page, 'roll-back-dialog');
    await dialog.getByLabel('Reason').focus();
    await page.keyboard.type('it does not start');
    await page.keyboard.press('Tab');
    await dialog.getByRole('button', { name: 'Roll back' }).press('Enter');
    await page.getByText('This undoes an installation').waitFor();
    await inspect(page, 'roll-back-requested');
    const [event] = await scene.stage.operator.events({ type: 'rollback_requested' });
    expect(event?.content).toMatchObject({ reason: 'it does not start' });

    await page.goto(`/updates/${id}`);
    await page.getByRole('button', { name: 'Roll back…' }).click();
    await page.getByRole('alert').getByText('is being undone').waitFor();
  });
});

/** Carries out the one installation that is delivered, as a host says. */
async function carryOut(agent: BareAgent): Promise<void> {
  const request = {
    ...{ agent_version: '0.1.0', boot_id: 'boot', uptime_seconds: 1, received: [], key_set_version: 1 },
    inventory_digest: {},
  };
  const { commands } = expectAnswer(await agent.call('POST', '/check-in', request), 200, CheckInAnswer);
  const install = commands
    .map((envelope) => Value.Parse(CommandPayload, fieldsOf(envelope)))
    .find(({ action }) => action === 'install_update');
  const path = `/commands/${install?.command_id}/result`;
  expect(await agent.call('POST', path, { status: 'success' })).toMatchObject({ status: 200 });
}
