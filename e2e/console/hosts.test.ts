import type { Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { enrolBareAgent } from '../harness/bare-agent.ts';
import { inspect } from '../harness/browser.ts';
import { describeConsole } from '../harness/describe-console.ts';

const VIEWER = { username: 'vera', password: 'a long enough password', role: 'viewer' } as const;
/** A text that would be markup or a script if it were not escaped. */
const HOSTILE = `"><img src=x onerror=alert(1)><script>alert(2)</script>{{7*7}} gnp.exe`;
const poll = <T>(look: () => T) => expect.poll(look);

describeConsole('hosts in the console', { hosts: 5, operators: [VIEWER] }, (scene) => {
  let added = 0;
  async function addHost(hostname: string) {
    return enrolBareAgent(scene.stage.server.url, {
      registrationToken: await scene.stage.operator.registrationToken(),
      machineId: `machine-added-${++added}`,
      hostname,
    });
  }
  const checkIn = (agent: Awaited<ReturnType<typeof addHost>>, bootId: string) =>
    agent.call('POST', '/check-in', {
      ...{ agent_version: '0.1.0', boot_id: bootId, uptime_seconds: 1, received: [] },
      ...{ key_set_version: 1, inventory_digest: {} },
    });
  const rows = (page: Page) => page.locator('main tbody tr');

  test('the list is searched, narrowed and sorted by its URL, and a link to it is the view', async () => {
    const page = await scene.openAs();
    await page.goto('/hosts');
    await page.getByRole('link', { name: 'web-00003.example.invalid' }).waitFor();
    await inspect(page, 'hosts');
    await page.getByRole('searchbox', { name: 'Filter' }).fill('web-00003');
    await poll(() => rows(page).count()).toBe(1);
    expect(new URL(page.url()).searchParams.get('q')).toBe('web-00003');
    await page.getByLabel('Status').selectOption('revoked');
    await page.getByRole('heading', { name: 'No hosts match the filter' }).waitFor();
    await page.getByRole('button', { name: 'Clear the filter' }).click();
    await poll(() => rows(page).count()).toBeGreaterThan(4);
    await page.getByRole('button', { name: 'Host', exact: true }).click();
    await poll(() => new URL(page.url()).searchParams.get('sort')).toBe('-hostname');
    await poll(() => rows(page).first().innerText()).toContain('web-00004');
    await page.goto('/hosts?q=web-00001&clone_suspected=false');
    await poll(() => rows(page).count()).toBe(1);
    await page.getByRole('button', { name: 'Remove the filter clone-suspected: false' }).click();
    await poll(() => new URL(page.url()).search).toBe('?q=web-00001');
  });

  test('hosts are found by a package that they have, below a version, and by a vulnerability', async () => {
    const page = await scene.openAs();
    await page.goto('/hosts?q=web-0000');
    await poll(() => rows(page).count()).toBe(5);
    await page.keyboard.press('/');
    const box = page.getByRole('searchbox', { name: 'Filter' });
    await poll(() => box.and(page.locator(':focus')).count()).toBe(1);
    // The language of the filter may still be loading.
    await poll(async () => (await box.inputValue()).trim()).toBe('q:web-0000');
    await box.fill('web-0000 package:openssl below:0');
    await page.getByRole('heading', { name: 'No hosts match the filter' }).waitFor();
    expect(new URL(page.url()).searchParams.get('package')).toBe('openssl');
    await box.fill('web-0000 package:openssl below:"999:1"');
    await poll(() => rows(page).count()).toBeGreaterThan(0);
    await box.press('Enter');
    await poll(() => page.evaluate("document.activeElement?.closest('tbody') !== null")).toBe(true);
    await inspect(page, 'hosts-by-package');
    await box.fill('web-0000 colour:red');
    await page.getByText('there is no colour: what can be filtered by is status, group, tag, os').waitFor();
    await inspect(page, 'hosts-filter-wrong');
    await box.fill('web-0000');
    await poll(() => new URL(page.url()).search).toBe('?q=web-0000');
    await box.fill('web-0000 cve:CVE-1999-0001');
    await page.getByRole('heading', { name: 'No hosts match the filter' }).waitFor();
    expect(new URL(page.url()).searchParams.get('cve')).toBe('CVE-1999-0001');
    await page.goto('/hosts?below=1');
    await page.getByRole('alert').getByText('below needs package, whose versions are compared').waitFor();
    await inspect(page, 'hosts-not-valid');
  });

  test('hosts are selected by keyboard, asked to scan, and put into a group', async () => {
    const page = await scene.openAs();
    await page.goto('/hosts?q=web-0000');
    await poll(() => rows(page).count()).toBe(5);
    await rows(page).first().focus();
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('j');
    await page.keyboard.press('Shift+X');
    await page.getByText('3 hosts selected').waitFor();
    await page.keyboard.press('s');
    await page.getByRole('button', { name: 'Scan now' }).last().click();
    await page.getByText('3 hosts will scan at their next check-in').waitFor();
    expect(await scene.stage.operator.commands({ action: 'scan' })).toHaveLength(3);
    await page.getByRole('button', { name: 'Set group' }).click();
    const dialog = page.getByRole('dialog', { name: 'Set the group of 3 hosts' });
    await dialog.getByLabel('Group').fill('rack 4');
    await dialog.getByRole('button', { name: 'Set the group' }).click();
    await page.getByText('3 of 3 moved to rack 4').waitFor();
    await page.getByLabel('Group').selectOption('rack 4');
    await poll(() => rows(page).count()).toBe(3);
  });

  test('hosts are tagged by keyboard, filtered by a tag, and a policy, a hold and a blackout may name it', async () => {
    const page = await scene.openAs();
    await page.goto('/hosts?q=web-0000');
    await poll(() => rows(page).count()).toBe(5);
    await rows(page).first().focus();
    await page.keyboard.press('x');
    await page.keyboard.press('j');
    await page.keyboard.press('x');
    await page.getByRole('button', { name: 'Change tags' }).focus();
    await page.keyboard.press('Enter');
    const dialog = page.getByRole('dialog', { name: 'Change the tags of 2 hosts' });
    await dialog.getByLabel('Set tags').fill('host.role=web');
    await page.keyboard.press('Enter');
    await dialog.getByText(/must match|pattern/).waitFor();
    await dialog.getByLabel('Set tags').fill('env=prod site=wien');
    await inspect(page, 'host-tags');
    await page.keyboard.press('Enter');
    await page.getByText('The tags of 2 of 2 changed').waitFor();
    await page.getByLabel('Tag').selectOption('env=prod');
    await poll(() => rows(page).count()).toBe(2);
    expect(new URL(page.url()).searchParams.get('tag')).toBe('env=prod');
    await inspect(page, 'hosts-tagged');
    await page.getByRole('link', { name: /^web-/ }).first().click();
    await page.getByRole('heading', { name: 'Credentials and keys' }).waitFor();
    await page.getByRole('link', { name: 'site=wien' }).waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Download what is installed (SBOM)' }).click();
    expect((await download).suggestedFilename()).toMatch(/^web-.*\.sbom\.cdx\.json$/);
    await page.getByText(/^The SBOM of web-.* is saved\.$/).waitFor();
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Change tags' }).click();
    await page.getByRole('dialog').getByRole('checkbox', { name: 'site' }).check();
    await page.getByRole('button', { name: 'Change the tags' }).click();
    await page.getByText('The tags of 1 of 1 changed').waitFor();
    await poll(() => page.getByRole('link', { name: 'site=wien' }).count()).toBe(0);
    await page.getByText('olga changed the tags of the host: removed site=wien.').first().waitFor();
    for (const [path, button] of [
      ['/holds', 'Put packages on hold'],
      ['/blackouts', 'Plan a blackout'],
    ] as const) {
      await page.goto(path);
      await page.getByRole('button', { name: button }).click();
      await page.getByRole('dialog').getByLabel('Hosts').selectOption('the tag env=prod');
    }
    await page.goto('/policies');
    await page.getByRole('button', { name: 'Publish a policy' }).click();
    await page.getByRole('dialog').getByLabel('Hosts').selectOption('some');
    await page.getByRole('checkbox', { name: 'env=prod' }).check();
  });

  test('a host shows its state, its updates, its commands and its events', async () => {
    const page = await scene.openAs();
    await page.goto('/hosts?q=web-00004');
    await page.getByRole('link', { name: 'web-00004.example.invalid' }).click();
    await page.getByRole('heading', { name: 'web-00004.example.invalid' }).waitFor();
    await page.getByText('bound to one machine').waitFor();
    await page.getByText(/version \d+, the newest/).waitFor();
    await page.getByRole('img', { name: /Check-ins of the last 24 hours in 48 slots/ }).waitFor();
    await page.getByRole('table', { name: 'Updates of this host' }).waitFor();
    await page.getByText('web-00004.example.invalid enrolled.').waitFor();
    await inspect(page, 'host');
    await page.getByRole('link', { name: 'All updates of this host' }).click();
    await page.getByRole('heading', { name: 'Updates', exact: true }).waitFor();
    expect(new URL(page.url()).searchParams.get('agent_id')).toMatch(/^[0-9a-f-]{36}$/);
  });

  test('a hostile host name is text everywhere, and a revocation is confirmed by the id', async () => {
    const { agentId } = await addHost(HOSTILE);
    const page = await scene.openAs();
    await page.goto(`/hosts?q=${agentId}`);
    await page.getByRole('link', { name: HOSTILE }).click();
    await page.getByRole('heading', { name: HOSTILE }).waitFor();
    await page.getByText(`${HOSTILE} enrolled.`).waitFor();
    expect(await page.locator('main img[src=x], main script').count()).toBe(0);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Revoke the credentials' }).click();
    const dialog = page.getByRole('dialog');
    const confirm = dialog.getByRole('button', { name: 'Revoke the credentials' });
    await expect.poll(() => confirm.isDisabled()).toBe(true);
    const typed = dialog.getByLabel(`Type ${agentId.slice(0, 8)} to continue`);
    await typed.fill(agentId.slice(0, 8));
    await inspect(page, 'host-revoke');
    await typed.press('Enter');
    await page.getByText('The credentials are revoked').waitFor();
    await page.getByText('revoked', { exact: true }).first().waitFor();
    const [event] = await scene.stage.operator.events({ type: 'AGENT_REVOKED', agent_id: agentId });
    expect(event?.actor).toBe('olga');
  });

  test('a host shows which services run replaced files and why it needs a reboot; lists filter by both', async () => {
    const agent = await addHost('stale');
    expect((await checkIn(agent, 'boot')).status).toBe(200);
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}`);
    await page.getByText('Not known: the host has not reported since its last boot.').waitFor();
    const file = { path: '/usr/lib/x86_64-linux-gnu/libssl.so.3', package: 'libssl3' };
    const stale = [
      { name: 'dbus.service', kind: 'core', processes: 1, files: [file], more_files: 0 },
      { name: 'nginx.service', kind: 'service', processes: 3, files: [file], more_files: 2 },
    ];
    const report = {
      ...{ observed_at: new Date().toISOString(), boot_id: 'boot' },
      services: { need: 'needed', stale, more_services: 0 },
      reboot: {
        ...{ need: 'needed', evidence: ['newer_kernel', 'core_service'], packages: [], livepatch: 'active' },
        running_kernel: { release: '6.1.0-28-amd64', version: '6.1.119-1' },
        next_kernel: { release: '6.1.0-30-amd64', version: '6.1.124-1' },
      },
    };
    expect((await agent.call('PUT', '/restarts', report)).status).toBe(200);
    await page.reload();
    const services = page.getByRole('list', { name: 'Services that run replaced files' });
    await services.getByText('nginx.service').waitFor();
    await services.getByText(`${file.path} (libssl3)`).first().waitFor();
    await services.getByText('2 more files').waitFor();
    await services.getByText(/reboot the host/).waitFor();
    await page
      .getByText(
        'A newer kernel is installed: 6.1.0-30-amd64 (6.1.124-1). Running: 6.1.0-28-amd64 (6.1.119-1).',
      )
      .waitFor();
    await page.getByText('A live patch is active. It can delay the reboot, not replace it.').waitFor();
    await inspect(page, 'host-restarts');

    await page.getByRole('button', { name: 'Restart 1 service…' }).press('Enter');
    const restart = page.getByRole('dialog', { name: 'Restart 1 service' });
    await restart.getByText('nginx.service.').waitFor();
    await restart.getByRole('button', { name: 'Sign the restart' }).press('Enter');
    await page.getByText('The host restarts them after its next check-in.').waitFor();
    await page.getByRole('button', { name: 'Reboot the host…' }).press('Enter');
    const reboot = page.getByRole('dialog', { name: 'Reboot the host' });
    await reboot.getByText(/warned five minutes before/).waitFor();
    await inspect(page, 'host-reboot');
    await reboot.getByRole('button', { name: 'Sign the reboot' }).press('Enter');
    await page.getByText('The host reboots after its next check-in.').waitFor();
    const ordered = await scene.stage.operator.call('GET', `/api/v1/commands?agent_id=${agent.agentId}`);
    expect(ordered.body).toMatchObject({
      items: [
        { action: 'reboot', params: { boot_id: 'boot', warn_minutes: 5 } },
        { action: 'restart_services', params: { units: ['nginx.service'] } },
      ],
    });

    for (const filter of ['reboot=needed', 'services_restart=needed']) {
      await page.goto(`/hosts?${filter}`);
      await page.getByRole('link', { name: 'stale' }).waitFor();
      await expect.poll(() => rows(page).count()).toBe(1);
    }
    await page.goto('/hosts?reboot=not_needed');
    await page.getByText('No host').first().waitFor();
    expect((await checkIn(agent, 'another boot')).status).toBe(200);
    await page.goto(`/hosts/${agent.agentId}`);
    await page.getByText('Not known: the host has not reported since its last boot.').waitFor();
  });

  test('a host shows its probes: never run, none named, each as it was seen, and old ones never as green', async () => {
    const agent = await addHost('probed');
    const report = async (probes: readonly object[], ageMs = 0) => {
      const at = new Date(Date.now() - ageMs).toISOString();
      expect((await agent.call('PUT', '/probes', { at, probes })).status).toBe(200);
    };
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}`);
    const panel = page.locator('section', {
      has: page.getByRole('heading', { name: 'Probes', exact: true }),
    });
    await panel.getByText('Not known: the host has not reported its probes.').waitFor();
    await panel.getByText('never run').waitFor();

    const web = { name: 'web', kind: 'http', state: 'green' };
    await report([web, { name: 'lag', kind: 'program', state: 'red', detail: HOSTILE }], 25 * 3_600_000);
    await page.reload();
    await panel
      .getByText('Red at the last run. That is too long ago to rely on the other results.')
      .waitFor();
    const list = panel.getByRole('list', { name: 'Probes of this host' });
    await list.getByText('was green when it last ran').waitFor();
    await page.getByText('A probe turned red: lag.').waitFor();
    expect(await panel.getByText('green', { exact: true }).count()).toBe(0);
    await expect.poll(() => list.getByText('red', { exact: true }).count()).toBe(1);
    await inspect(page, 'host-probes-old');

    const broken = {
      name: 'broken',
      state: 'unknown',
      detail: '/kind must be equal to one of the allowed values',
    };
    await report([web, { name: 'lag', kind: 'program', state: 'red', detail: HOSTILE }, broken]);
    await page.reload();
    await panel.getByText('1 red, 1 unknown, 1 green.').waitFor();
    await list.getByText('green', { exact: true }).waitFor();
    await list.getByText(HOSTILE).waitFor();
    await list.getByText(broken.detail).waitFor();
    await inspect(page, 'host-probes');

    await panel.getByRole('button', { name: 'Run the probes' }).press('Enter');
    await page.getByText('The host runs its probes after its next check-in.').waitFor();
    const ordered = await scene.stage.operator.call('GET', `/api/v1/commands?agent_id=${agent.agentId}`);
    expect(ordered.body).toMatchObject({ items: [{ action: 'run_probes', params: {}, created_by: 'olga' }] });

    await report([]);
    await page.reload();
    await panel.getByText('Root has named no probes on this host').waitFor();
    await panel.getByText('none named', { exact: true }).waitFor();
  });

  test('a suspected clone shows its evidence, and each next step is a button', async () => {
    const agent = await addHost('twin');
    for (const boot of ['another-boot', 'boot']) expect((await checkIn(agent, boot)).status).toBe(200);
    const page = await scene.openAs();
    await page.goto('/hosts?clone_suspected=true');
    await page.getByRole('link', { name: 'twin' }).click();
    await page.getByRole('heading', { name: 'Two machines seem to use the identity of this host' }).waitFor();
    await page.getByRole('table', { name: 'Evidence' }).getByText('another-boot').waitFor();
    await inspect(page, 'host-clone');
    await page.getByRole('button', { name: 'It is one machine' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('restored from a snapshot');
    await dialog.getByRole('button', { name: 'It is one machine' }).click();
    await page.getByText('The suspicion is closed').waitFor();
    await poll(() => page.getByRole('heading', { name: 'Two machines seem to use' }).count()).toBe(0);
    const [event] = await scene.stage.operator.events({ type: 'CLONE_DISMISSED', agent_id: agent.agentId });
    expect(event?.content.reason).toBe('restored from a snapshot');
  });

  test('a rebind asks for the name and a reason, and clears the binding (E2)', async () => {
    const agent = await addHost('moved');
    const page = await scene.openAs();
    await page.goto(`/hosts/${agent.agentId}`);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Rebind to another machine' }).click();
    const dialog = page.getByRole('dialog', { name: 'Rebind moved' });
    await dialog.getByLabel('Type moved to continue').fill('moved');
    await dialog.getByLabel('Reason').fill('new mainboard');
    await dialog.getByRole('button', { name: 'Clear the binding' }).click();
    await page.getByText('bound to no machine', { exact: true }).waitFor();
    await page.getByText('not bound', { exact: true }).first().waitFor();
    const [event] = await scene.stage.operator.events({ type: 'MACHINE_REBOUND', agent_id: agent.agentId });
    expect(event?.content.reason).toBe('new mainboard');
  });

  test('a viewer is offered nothing that changes a host', async () => {
    const page = await scene.openAs(VIEWER);
    await page.goto('/hosts?q=web-00002');
    await poll(() => rows(page).count()).toBe(1);
    expect(await page.getByRole('checkbox').count()).toBe(0);
    await page.getByRole('link', { name: 'web-00002.example.invalid' }).click();
    await page.getByRole('table', { name: 'Events of this host' }).waitFor();
    expect(await page.getByRole('button', { name: /scan|revoke|rebind|run the probes/i }).count()).toBe(0);
    await page.getByRole('button', { name: 'More' }).click();
    await page.getByRole('menuitem', { name: 'Download what is installed (SBOM)' }).waitFor();
    expect(await page.getByRole('menuitem', { name: /tags|group|rebind|revoke|interval/i }).count()).toBe(0);
  });
});
