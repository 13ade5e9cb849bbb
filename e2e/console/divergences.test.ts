import { expect, test } from 'vitest';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import type { ConsoleStage } from '../harness/console-stage.ts';
import { describeConsole } from '../harness/describe-console.ts';

const RIGHT = 'a'.repeat(64);
const WRONG = 'b'.repeat(64);

describeConsole(
  'divergences in the console',
  {
    hosts: 1,
    prepare: async (stage) => {
      for (const [i, sha256] of [RIGHT, WRONG].entries()) await reportPlan(stage, { i, sha256 });
    },
  },
  (scene) => {
    test('the first page leads to it, and who may only look is shown the hashes', async () => {
      const viewer = { username: 'vera', password: 'correct horse battery', role: 'viewer' } as const;
      await scene.stage.addOperator(viewer);
      const page = await scene.openAs(viewer);
      await page.goto('/');
      await page.getByRole('link', { name: /packages with two hashes/ }).click();
      await page.getByRole('heading', { name: 'Divergences', exact: true }).waitFor();
      await inspect(page, 'divergences');
      await page.getByRole('button', { name: 'Look at xz@5.4-1' }).click();
      const dialog = page.getByRole('dialog', { name: 'xz@5.4-1' });
      await dialog.getByText(WRONG).waitFor();
      expect(await dialog.getByRole('button', { name: /Accept/ }).count()).toBe(0);
    });

    test('one hash is accepted with a reason, and the other stays blocked', async () => {
      const page = await scene.openAs();
      await page.goto('/divergences?open=true');
      await page.getByRole('button', { name: 'Look at xz@5.4-1' }).click();
      const dialog = page.getByRole('dialog', { name: 'xz@5.4-1' });
      const accept = dialog.getByRole('button', { name: 'Accept this hash, block the others' });
      expect(await accept.isDisabled()).toBe(true);
      await inspect(page, 'divergence');
      await dialog.getByRole('radio', { name: `Accept ${RIGHT.slice(0, 12)}` }).check();
      await dialog.getByLabel('Reason').fill('compared with the signed index of the archive');
      await accept.click();
      await page.getByText('No divergences match the filter').waitFor();
      await page.goto('/divergences');
      await page.getByRole('button', { name: 'Look at xz@5.4-1' }).click();
      await page.getByText(/^refused; told by/).waitFor();
      const told = await scene.stage.operator.events({ type: 'ARTIFACT_DIVERGENCE_DECIDED' });
      expect(told).toHaveLength(1);
    });
  },
);

/** A host that was offered one version, by a plan that binds this hash. */
async function reportPlan({ server, operator }: ConsoleStage, { i, sha256 }: { i: number; sha256: string }) {
  const agent = await enrolBareAgent(server.url, {
    registrationToken: await operator.registrationToken(),
    machineId: `machine-${i}`,
    hostname: `vault-${i}`,
  });
  const at = new Date().toISOString();
  const artifact = {
    filename: 'xz_5.4-1.deb',
    url: 'https://archive.example/xz_5.4-1.deb',
    size_bytes: 1,
    sha256,
  };
  const action = {
    action: 'upgrade',
    name: 'xz',
    arch: 'amd64',
    from_version: '5.2-1',
    to_version: '5.4-1',
    artifact,
  } as const;
  const update = { name: 'xz', arch: 'amd64', current_version: '5.2-1', available_version: '5.4-1' };
  const plan = { resolved_at: at, actions: [action] };
  const answer = await agent.report({
    scanned_at: at,
    complete: true,
    packages: [{ name: 'xz', version: '5.2-1', arch: 'amd64' }],
    updates: [{ ...update, plan }],
  });
  expect(answer.status).toBe(200);
}
