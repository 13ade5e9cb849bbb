import { expect, test } from 'vitest';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import type { ConsoleStage } from '../harness/console-stage.ts';
import { describeConsole } from '../harness/describe-console.ts';

const RIGHT = 'a'.repeat(64);
const WRONG = 'b'.repeat(64);
const TYPED = 'c'.repeat(64);

describeConsole(
  'divergences in the console',
  {
    hosts: 1,
    prepare: async (stage) => {
      for (const [i, sha256] of [RIGHT, WRONG].entries()) await reportPlan(stage, { i, sha256 });
    },
  },
  (scene) => {
    test('the overview links to it, and a viewer sees the hashes', async () => {
      const viewer = { username: 'vera', password: 'correct horse battery', role: 'viewer' } as const;
      await scene.stage.addOperator(viewer);
      const page = await scene.openAs(viewer);
      await page.goto('/');
      await page.getByRole('link', { name: /packages? ha(s|ve) different files under one version/ }).click();
      await page.getByRole('heading', { name: 'Divergences', exact: true }).waitFor();
      await inspect(page, 'divergences');
      await page.getByRole('button', { name: 'Review xz@5.4-1' }).click();
      const dialog = page.getByRole('dialog', { name: 'xz@5.4-1' });
      await dialog.getByText(WRONG).waitFor();
      expect(await dialog.getByRole('button', { name: /Accept/ }).count()).toBe(0);
    });

    test('one hash is accepted with a reason, and the other stays blocked', async () => {
      const page = await scene.openAs();
      await page.goto('/divergences?open=true');
      await page.getByRole('button', { name: 'Review xz@5.4-1' }).click();
      const dialog = page.getByRole('dialog', { name: 'xz@5.4-1' });
      const accept = dialog.getByRole('button', { name: 'Accept this hash, block the others' });
      await expect.poll(() => accept.isDisabled()).toBe(true);
      await inspect(page, 'divergence');
      await dialog.getByRole('radio', { name: `Accept ${RIGHT.slice(0, 12)}` }).check();
      await dialog.getByLabel('Reason').fill('compared with the signed index of the archive');
      await accept.click();
      await page.getByText('No divergences match the filter').waitFor();
      await page.goto('/divergences');
      await page.getByRole('button', { name: 'Review xz@5.4-1' }).click();
      await page.getByText(/^refused by an operator: blocked; first reported by/).waitFor();
      await page.locator('summary', { hasText: 'Who reported which hash' }).click();
      await page.getByRole('cell', { name: 'vault-1' }).waitFor();
      const events = await scene.stage.operator.events({ type: 'ARTIFACT_DIVERGENCE_DECIDED' });
      expect(events).toHaveLength(1);
    });

    test('a decision is undone, and a hash that nobody reported is accepted by typing it', async () => {
      const page = await scene.openAs();
      await page.goto('/divergences');
      await page.getByRole('button', { name: 'Review xz@5.4-1' }).click();
      const dialog = page.getByRole('dialog', { name: 'xz@5.4-1' });
      await dialog.getByLabel('Reason').fill('it was the wrong row');
      await dialog.getByRole('button', { name: 'Undo the decision' }).click();
      await page.getByText('Undone: xz@5.4-1.').waitFor();
      await page.getByRole('button', { name: 'Review xz@5.4-1' }).click();
      await dialog.getByLabel('None of them: enter the right one').check();
      await dialog.getByLabel('Correct SHA-256 hash').fill(TYPED);
      await dialog.getByLabel('Reason').fill('as signed by the project');
      await inspect(page, 'divergence-typed');
      await dialog.getByRole('button', { name: 'Accept this hash, block the others' }).click();
      await page.getByText('Decided: xz@5.4-1.').waitFor();
      await page.getByRole('button', { name: 'Review xz@5.4-1' }).click();
      await dialog.getByText(/^accepted by an operator; entered by an operator/).waitFor();
    });

    test('several are decided at once', async () => {
      await reportPlan(scene.stage, { i: 2, sha256: RIGHT, names: ['curl', 'zstd'] });
      await reportPlan(scene.stage, { i: 3, sha256: WRONG, names: ['curl', 'zstd'] });
      const page = await scene.openAs();
      await page.goto('/divergences?open=true');
      for (const name of ['curl', 'zstd']) {
        await page.getByRole('checkbox', { name: `Select ${name}@5.4-1` }).check();
      }
      await page.getByRole('button', { name: 'Decide all of them' }).click();
      const dialog = page.getByRole('dialog', { name: 'Decide 2 divergences' });
      await dialog.getByLabel('The one reported first; the others stay blocked').check();
      await dialog.getByLabel('Reason').fill('compared with the signed index of the archive');
      await inspect(page, 'divergences-many');
      await dialog.getByRole('button', { name: 'Decide all of them' }).click();
      await page.getByText('No divergences match the filter').waitFor();
    });

    test('a host that contradicts too much is shown, and trusted again with a reason', async () => {
      const names = ['a', 'b', 'c', 'd', 'e', 'f'];
      await reportPlan(scene.stage, { i: 4, sha256: RIGHT, names });
      await reportPlan(scene.stage, { i: 5, sha256: WRONG, names });
      const page = await scene.openAs();
      await page.goto('/divergences');
      await page.getByText('Package reports from these hosts are ignored').waitFor();
      await inspect(page, 'divergences-flood');
      await page.getByRole('link', { name: 'vault-5' }).click();
      await page.getByRole('heading', { name: 'vault-5', exact: true }).waitFor();
      await page.getByRole('button', { name: 'Trust again: vault-5' }).click();
      const dialog = page.getByRole('dialog', { name: 'Trust vault-5 again' });
      await dialog.getByLabel('Reason').fill('its mirror is mended');
      await dialog.getByRole('button', { name: 'Trust it again' }).click();
      await page.getByText('Package reports from vault-5 count again.').waitFor();
      const events = await scene.stage.operator.events({ type: 'ARTIFACT_HOST_TRUSTED' });
      expect(events).toHaveLength(1);
    });
  },
);

/** A host reports an update with a plan that gives each of these packages this hash. */
async function reportPlan(
  { server, operator }: ConsoleStage,
  { i, sha256, names = ['xz'] }: { i: number; sha256: string; names?: readonly string[] },
) {
  const agent = await enrolBareAgent(server.url, {
    registrationToken: await operator.registrationToken(),
    machineId: `machine-${i}`,
    hostname: `vault-${i}`,
  });
  const at = new Date().toISOString();
  const url = 'https://archive.example/xz_5.4-1.deb';
  const artifact = { filename: 'xz_5.4-1.deb', url, size_bytes: 1, sha256 };
  const actions = names.map((name) => ({
    ...({ action: 'upgrade', arch: 'amd64', from_version: '5.2-1', to_version: '5.4-1' } as const),
    ...{ name, artifact },
  }));
  const [name = ''] = names;
  const update = { name, arch: 'amd64', current_version: '5.2-1', available_version: '5.4-1' };
  const plan = { resolved_at: at, actions };
  const answer = await agent.report({
    scanned_at: at,
    complete: true,
    packages: [{ name, version: '5.2-1', arch: 'amd64' }],
    updates: [{ ...update, plan }],
  });
  expect(answer.status).toBe(200);
}
