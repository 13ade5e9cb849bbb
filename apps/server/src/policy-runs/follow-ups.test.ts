import type { PolicyRequest } from '@tidegate/protocol/policies-api';
import type { RestartReport } from '@tidegate/protocol/restarts';
import { describe, expect, test } from 'vitest';
import { saveRestarts } from '../agents/restarts-store.ts';
import { changeOperator } from '../operators/change-operators.ts';
import { createPasswords } from '../operators/passwords/passwords.ts';
import { insertOperator } from '../operators/store.ts';
import { policiesInForce } from '../policies/store.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { STANDING } from '../testing/standing.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { askFollowUps } from './ask-follow-ups.ts';
import { hostsToFollowUp } from './follow-ups-store.ts';
import { createRefused } from './refused.ts';
import { runPoliciesOnce } from './run-policies.ts';

const URL = '/api/v1/policies';
const ADA = '01900000-0000-7000-a000-000000000001';
const ROOT = '01900000-0000-7000-a000-000000000002';
const HOUR_MS = 3_600_000;
const BY = { ...{ id: ROOT, username: 'root', sessionId: 'none' }, address: '127.0.0.1' } as const;
const NO_SERVICES: RestartReport['services'] = { need: 'not_needed', stale: [], more_services: 0 };
type When = NonNullable<PolicyRequest['reboot']>['when'];

describe.each(ENGINES)('what policies ask for after their updates on $name', (engine) => {
  async function scene(when: When, change: object = {}) {
    const it = await createApprovalsApp(engine);
    const { database, platform, agentId } = it;
    await database.transact(async (tx) => {
      const admin = {
        password_hash: 'x',
        role: 'admin',
        groups: null,
        created_at: 1,
        disabled_at: null,
      } as const;
      await insertOperator(tx, { ...admin, id: ADA, username: 'ada' });
      await insertOperator(tx, { ...admin, id: ROOT, username: 'root' });
    });
    const refused = createRefused();
    const says = (need: RestartReport['reboot']['need'], boot_id = 'boot-1', services = NO_SERVICES) =>
      database.transact(async (tx) => {
        await tx.updateTable('agents').set({ boot_id: 'boot-1' }).where('id', '=', agentId).execute();
        const observed_at = new Date(platform.now()).toISOString();
        const report: RestartReport = {
          ...{ observed_at, boot_id, services },
          reboot: { need, evidence: [], packages: [], livepatch: 'inactive' },
        };
        await saveRestarts(tx, { agentId, nowMs: platform.now(), report });
      });
    const finish = (status = 'success') =>
      database.transact((tx) =>
        tx
          .updateTable('agent_commands')
          .set({ status, finished_at: platform.now() })
          .where('action', '=', 'install_update')
          .execute(),
      );
    const end = (state: 'rebooted' | 'done' | 'cancelled') =>
      database.transact((tx) =>
        tx
          .updateTable('host_reboots')
          .set({ state, ended_at: platform.now(), seal: null })
          .where('ended_at', 'is', null)
          .execute(),
      );
    const asked = () =>
      database.read.selectFrom('host_reboots').selectAll().where('ended_at', 'is', null).execute();
    const reboot = { when, warn_minutes: 7 };
    const { status, body: policy } = await it.call('POST', URL, { ...STANDING, reboot, ...change });
    expect(status, JSON.stringify(policy)).toBe(201);
    await it.addUpdate({ name: 'curl' });
    const run = () => runPoliciesOnce(it.deps, refused);
    await run();
    return { ...it, policy, says, finish, end, asked, run };
  }

  test('the reboot waits for the installation, names the policy, and is asked for once', async () => {
    const it = await scene('needed');
    await it.says('needed');
    await it.run();
    expect(await it.asked()).toEqual([]);
    await it.finish();
    await it.run();
    await it.run();
    const { id, sha256 } = it.policy;
    expect(await it.asked()).toMatchObject([
      {
        ...{ agent_id: it.agentId, kind: 'reboot', boot_id: 'boot-1', warn_minutes: 7 },
        ...{ asked_by: `policy/${id}@${sha256}`, reason: 'Updates of the policy Nightly are installed.' },
        deadline_at: it.platform.now() + 24 * HOUR_MS,
      },
    ]);
    const events = await it.database.read
      .selectFrom('events')
      .selectAll()
      .where('type', '=', 'reboots_asked')
      .execute();
    expect(events).toMatchObject([{ actor: `policy/${id}@${sha256}` }]);
  });

  test.each<[When, RestartReport['reboot']['need'], number]>([
    ['never', 'needed', 0],
    ['needed', 'needed', 1],
    ['needed', 'not_needed', 0],
    ['needed', 'unknown', 0],
    ['always', 'needed', 1],
    ['always', 'not_needed', 1],
    ['always', 'unknown', 1],
  ])('%s, and the host says %s: %i asked', async (when, need, count) => {
    const it = await scene(when);
    await it.says(need);
    await it.finish();
    await it.run();
    expect(await it.asked()).toHaveLength(count);
  });

  test('no reboot comes between two installations of one policy', async () => {
    const it = await scene('always');
    await it.says('needed');
    await it.finish();
    await it.addUpdate({ name: 'wget' });
    await it.run();
    expect(await it.asked()).toEqual([]);
    await it.finish();
    await it.run();
    expect(await it.asked()).toHaveLength(1);
  });

  test('evidence of another boot is none', async () => {
    const it = await scene('needed');
    await it.says('needed', 'boot-0');
    await it.finish();
    await it.run();
    expect(await it.asked()).toEqual([]);
  });

  test('an installation that failed, or that another policy or a person approved, reboots nothing', async () => {
    const it = await scene('always');
    await it.says('needed');
    await it.finish('failed');
    await it.run();
    expect(await it.asked()).toEqual([]);
    await it.finish();
    await it.database.transact((tx) => tx.updateTable('approvals').set({ policy_id: null }).execute());
    await it.run();
    expect(await it.asked()).toEqual([]);
  });

  test('after the reboot nothing is asked until something is installed again', async () => {
    const it = await scene('always');
    await it.says('unknown');
    await it.finish();
    await it.run();
    await it.end('rebooted');
    it.clock.advance(48 * HOUR_MS);
    await it.run();
    expect(await it.asked()).toEqual([]);
    await it.finish();
    await it.run();
    expect(await it.asked()).toHaveLength(1);
  });

  test('a proven reboot that a person asked for from the page of the host counts as well', async () => {
    const it = await scene('always');
    await it.says('unknown');
    await it.finish();
    const slot = { id: 'slot-1', agent_id: it.agentId, group_name: '', command_id: 'x', boot_id: 'boot-0' };
    const ended = { state: 'ended', taken_at: 1, ends_at: 1, ended_at: it.platform.now() };
    await writeRaw(it.database, 'reboot_slots', { ...slot, ...ended, outcome: 'not_rebooted' });
    await writeRaw(it.database, 'reboot_slots', { ...slot, ...ended, id: 'slot-2', outcome: 'well' });
    await it.run();
    expect(await it.asked()).toEqual([]);
    await it.database.transact((tx) => tx.deleteFrom('reboot_slots').where('id', '=', 'slot-2').execute());
    await it.run();
    expect(await it.asked()).toHaveLength(1);
  });

  test('what a person cancels is asked for again a day later, not before', async () => {
    const it = await scene('always');
    await it.says('needed');
    await it.finish();
    await it.run();
    await it.end('cancelled');
    it.clock.advance(23 * HOUR_MS);
    await it.run();
    expect(await it.asked()).toEqual([]);
    it.clock.advance(2 * HOUR_MS);
    await it.run();
    expect(await it.asked()).toHaveLength(1);
  });

  test('it begins within the windows of the policy, five minutes before their end at the latest', async () => {
    const now = '2026-11-21';
    const daily = { rrule: 'FREQ=DAILY', starts_on: now, start: '09:00', zone: 'UTC', duration_minutes: 120 };
    const it = await scene('always', { windows: [daily] });
    const at = (time: string) => it.clock.advance(Date.parse(time) - it.clock.now());
    await it.says('needed');
    await it.finish();
    at('2026-11-21T11:30:00Z');
    await it.run();
    expect(await it.asked()).toEqual([]);
    at('2026-11-22T09:30:00Z');
    await it.run();
    expect(await it.asked()).toMatchObject([{ deadline_at: Date.parse('2026-11-22T10:55:00Z') }]);
  });

  test('reboots begin in windows for reboots alone, also while none for installing is open', async () => {
    const now = '2026-11-21';
    const daily = { rrule: 'FREQ=DAILY', starts_on: now, zone: 'UTC', duration_minutes: 120 };
    const it = await scene('always', {
      windows: [
        { ...daily, start: '09:00', actions: ['install'] },
        { ...daily, start: '20:00', actions: ['reboot'] },
      ],
    });
    const at = (time: string) => it.clock.advance(Date.parse(time) - it.clock.now());
    await it.says('needed');
    await it.finish();
    at('2026-11-22T09:30:00Z');
    await it.run();
    expect(await it.asked()).toEqual([]);
    at('2026-11-22T20:30:00Z');
    await it.addUpdate({ name: 'wget' });
    await it.run();
    expect(await it.asked()).toMatchObject([{ deadline_at: Date.parse('2026-11-22T21:55:00Z') }]);
    // What came meanwhile waits for the window for installing.
    const wget = await it.database.read
      .selectFrom('updates')
      .select('state')
      .where('name', '=', 'wget')
      .executeTakeFirst();
    expect(wget).toEqual({ state: 'pending' });
  });

  test('an author who is no admin any more has none asked for', async () => {
    const it = await scene('always');
    await it.says('needed');
    await it.finish();
    const passwords = createPasswords({ random: it.platform.random });
    const deps = { platform: it.platform, passwords, endTokens: async () => 0 };
    const change = { disabled: false, role: 'approver', groups: null } as const;
    const stopped = async () => (await it.call('GET', `${URL}/${it.policy.id}`)).body.follow_ups_stopped;
    expect(await stopped()).toBe(false);
    await changeOperator(deps, { id: ADA, change, by: BY });
    await it.run();
    expect(await it.asked()).toEqual([]);
    expect(await stopped()).toBe(true);
  });

  describe('restarts of services', () => {
    const SERVICES = { reboot: undefined, restart_services: 'needed' } as const;
    const unit = (name: string, kind: 'service' | 'core' = 'service') => ({
      ...{ name, kind, processes: 1, more_files: 0 },
      files: [{ path: '/usr/lib/libssl.so.3', package: 'libssl3' }],
    });
    /** What the host says of its services, and that it needs no reboot. */
    const saysOf = (it: Awaited<ReturnType<typeof scene>>, ...stale: RestartReport['services']['stale']) => {
      const need = stale.length > 0 ? ('needed' as const) : ('not_needed' as const);
      return it.says('not_needed', 'boot-1', { need, stale, more_services: 0 });
    };

    test('are asked for once after an installation, by need, with the units that the host names', async () => {
      const it = await scene('never', SERVICES);
      await saysOf(it, unit('nginx.service'));
      await it.run();
      expect(await it.asked()).toEqual([]);
      await it.finish();
      await it.run();
      await it.run();
      const { id, sha256 } = it.policy;
      expect(await it.asked()).toMatchObject([
        {
          ...{ agent_id: it.agentId, kind: 'restart_services', boot_id: 'boot-1' },
          ...{ units: '["nginx.service"]', asked_by: `policy/${id}@${sha256}` },
        },
      ]);
      await it.end('done');
      it.clock.advance(48 * HOUR_MS);
      await it.run();
      expect(await it.asked()).toEqual([]);
    });

    test('are not asked for where nothing is stale, or only what a reboot alone restarts', async () => {
      const it = await scene('never', SERVICES);
      await it.finish();
      await saysOf(it);
      await it.run();
      expect(await it.asked()).toEqual([]);
      await saysOf(it, unit('dbus.service', 'core'));
      await it.run();
      expect(await it.asked()).toEqual([]);
      // Nor do such hosts take the places of others in a pass.
      const asked = { kind: 'restart_services', policyId: it.policy.id, scope: { kind: 'all' } } as const;
      const times = { installedSinceMs: 0, askedSinceMs: 0, deadlineMs: it.platform.now() };
      const found = () =>
        hostsToFollowUp(it.database.read, { ...asked, ...times, onlyNeeded: true, limit: 9 });
      expect(await found()).toEqual([]);
      await saysOf(it, unit('nginx.service'));
      expect(await found()).toEqual([it.agentId]);
    });

    test('are left to a reboot that is due by then, and come before one that is due later', async () => {
      const it = await scene('always', { restart_services: 'needed' });
      await saysOf(it, unit('nginx.service'));
      await it.finish();
      await it.run();
      expect(await it.asked()).toMatchObject([{ kind: 'reboot' }]);
      await it.database.transact((tx) =>
        tx
          .updateTable('host_reboots')
          .set({ deadline_at: it.clock.now() + 25 * HOUR_MS })
          .execute(),
      );
      await it.run();
      expect((await it.asked()).map(({ kind }) => kind).toSorted()).toEqual(['reboot', 'restart_services']);
    });

    test('a reboot after the installation leaves none to restart', async () => {
      const it = await scene('always', { restart_services: 'needed' });
      await saysOf(it, unit('nginx.service'));
      await it.finish();
      await it.run();
      await it.end('rebooted');
      await it.run();
      expect(await it.asked()).toEqual([]);
    });

    test('wait for the windows that are for them', async () => {
      const daily = { rrule: 'FREQ=DAILY', starts_on: '2026-11-21', zone: 'UTC', duration_minutes: 120 };
      const it = await scene('never', {
        ...SERVICES,
        windows: [
          { ...daily, start: '09:00', actions: ['install'] },
          { ...daily, start: '20:00', actions: ['restart_services'] },
        ],
      });
      const at = (time: string) => it.clock.advance(Date.parse(time) - it.clock.now());
      await saysOf(it, unit('nginx.service'));
      await it.finish();
      at('2026-11-22T09:30:00Z');
      await it.run();
      expect(await it.asked()).toEqual([]);
      at('2026-11-22T20:30:00Z');
      await it.run();
      expect(await it.asked()).toMatchObject([{ deadline_at: Date.parse('2026-11-22T21:55:00Z') }]);
    });

    test('a policy that asks for none has none', async () => {
      const it = await scene('never', { ...SERVICES, restart_services: 'never' });
      await saysOf(it, unit('nginx.service'));
      await it.finish();
      await it.run();
      expect(await it.asked()).toEqual([]);
    });
  });

  test('a policy that is revoked during a run asks for nothing', async () => {
    const it = await scene('always');
    await it.says('needed');
    await it.finish();
    const [row] = await policiesInForce(it.database.read, { nowMs: it.platform.now(), limit: 1 });
    if (!row) throw new Error('no policy is in force');
    expect((await it.call('DELETE', `${URL}/${it.policy.id}`)).status).toBe(204);
    await askFollowUps(it.platform, row);
    expect(await it.asked()).toEqual([]);
  });
});
