import { describe, expect, test } from 'vitest';
import { actionOf, createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { insertInstalled } from '../testing/installed-rows.ts';

const DOCKER = 'Docker CE:bookworm';
const KEY = 'a'.repeat(40);

describe.each(ENGINES)('a package that another vendor publishes on $name', (engine) => {
  async function scene(installed: { name: string; origin: string | null }[]) {
    const it = await createApprovalsApp(engine);
    await it.database.transact((tx) =>
      insertInstalled(
        tx,
        installed.map((one) => ({
          ...{ agent_id: it.agentId, ecosystem: 'apt', arch: 'amd64', version: '1.0.0-1', held: 0 },
          ...{ source_name: one.name, source_version: '1.0.0-1', ...one },
        })),
      ),
    );
    const eventsOf = async (type: string) => {
      const rows = await it.database.read.selectFrom('events').selectAll().where('type', '=', type).execute();
      return rows.map(({ content, severity }) => ({ severity, ...JSON.parse(content) }));
    };
    const planOf = (...names: string[]) =>
      names.map((name) => actionOf({ name, version: '3.0.12-1', fields: { arch: 'amd64' } }));
    return { ...it, eventsOf, planOf };
  }

  test('passes with a warning, in preview, event and record: also where a dependency jumps', async () => {
    const it = await scene([
      { name: 'openssl', origin: 'Debian:12.5/stable' },
      { name: 'libssl3', origin: DOCKER },
    ]);
    const id = await it.addUpdate({ plan: it.planOf('openssl', 'libssl3') });
    const changes = [{ package: 'libssl3', arch: 'amd64', from: DOCKER, to: 'Debian:12/stable' }];
    const preview = await it.call('POST', `/api/v1/updates/${id}/preview`);
    expect(preview.body).toMatchObject({ blocked_by: null, origin_changes: changes });
    const { status, body } = await it.approve(id);
    expect({ status, warnings: body.warnings }).toMatchObject({
      status: 200,
      warnings: [{ code: 'origin_changed' }],
    });
    expect(await it.eventsOf('update_approved')).toMatchObject([
      { severity: 'warning', origin_changes: changes },
    ]);
    const [decision] = (await it.call('GET', `/api/v1/updates/${id}/decisions`)).body.items;
    const { record, replays } = (await it.call('GET', `/api/v1/decisions/${decision.id}`)).body;
    expect({ replays, warnings: record.verdict.warnings, changes: record.facts.origin_changes }).toEqual({
      ...{ replays: true, warnings: ['origin_changed'], changes: { total: 1, items: changes } },
    });
  });

  test('is in the event of a stop and of an override', async () => {
    const it = await scene([{ name: 'docker', origin: 'Debian:12.5/stable' }]);
    const [action] = it.planOf('docker');
    const id = await it.addUpdate({
      name: 'docker',
      plan: action ? [{ ...action, origin: DOCKER }] : [],
    });
    expect((await it.approve(id)).body).toMatchObject({
      ...{ blocked_by: 'unchecked', reason: 'uncovered' },
      origin_changes: [{ package: 'docker', to: DOCKER }],
    });
    expect(await it.eventsOf('approval_blocked')).toMatchObject([{ origin_changes: [{ to: DOCKER }] }]);
    const passed = await it.approve(id, {
      ...{ override_supply_chain: true, override_reason: 'moved on purpose' },
    });
    expect(passed.body.warnings).toContainEqual(expect.objectContaining({ code: 'origin_changed' }));
  });

  test.each([
    ['the distribution', 'Debian:12.5/stable'],
    ['another registered origin', 'Node Source:nodistro'],
  ])(
    'from %s to a registered origin passes with both warnings, and names the vendors',
    async (_what, from) => {
      const it = await scene([
        { name: 'docker', origin: DOCKER },
        { name: 'libssl3', origin: from },
      ]);
      for (const suite of [DOCKER, 'Node Source:nodistro']) {
        const made = await it.call('POST', '/api/v1/admin/origins', {
          ...{ ecosystem: 'apt', key: KEY, suites: [suite], rule: 'allow', min_age_days: null },
          ...{ reason: 'we build on it', ends_at: '2026-12-21T09:00:00Z' },
        });
        expect(made.status).toBe(201);
      }
      const plan = it
        .planOf('docker', 'libssl3')
        .map((action) => ({ ...action, origin: DOCKER, origin_key: KEY }));
      const id = await it.addUpdate({ name: 'docker', plan });
      const { status, body } = await it.approve(id);
      const codes = body.warnings.map(({ code }: { code: string }) => code);
      expect({ status, codes }).toEqual({
        status: 200,
        codes: expect.arrayContaining(['origin_changed', 'registered_origin_used']),
      });
      expect(await it.eventsOf('update_approved')).toMatchObject([
        { severity: 'warning', origin_changes: [{ package: 'libssl3', arch: 'amd64', from, to: DOCKER }] },
      ]);
    },
  );

  test('without a change there is no warning', async () => {
    const it = await scene([{ name: 'openssl', origin: 'Debian-Security:12/stable-security' }]);
    const id = await it.addUpdate({ plan: it.planOf('openssl') });
    expect((await it.approve(id)).body.warnings).toEqual([]);
    expect(await it.eventsOf('update_approved')).toMatchObject([{ severity: 'info' }]);
  });

  test('what the host said when it was offered counts where the archive dropped the version', async () => {
    const it = await scene([{ name: 'openssl', origin: null }]);
    const earlier = await it.addUpdate({ version: '1.0.0-1', plan: null, state: 'installed' });
    await it.database.transact((tx) =>
      tx.updateTable('updates').set({ origin: DOCKER, arch: 'amd64' }).where('id', '=', earlier).execute(),
    );
    const id = await it.addUpdate({ plan: it.planOf('openssl') });
    expect((await it.call('POST', `/api/v1/updates/${id}/preview`)).body.origin_changes).toMatchObject([
      { package: 'openssl', from: DOCKER },
    ]);
  });

  test('a plan that does not say where a package comes from is unchecked, and uncovered: warn does not let it pass', async () => {
    const it = await createApprovalsApp(engine, { settings: { uncovered: 'warn' } });
    const { origin: _, ...action } = actionOf({ name: 'openssl', version: '3.0.12-1' });
    const id = await it.addUpdate({ plan: [action] });
    expect((await it.approve(id)).body).toMatchObject({ blocked_by: 'unchecked', reason: 'undecidable' });
  });
});
