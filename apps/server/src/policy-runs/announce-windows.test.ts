import { describe, expect, test } from 'vitest';
import { insertOperator } from '../operators/store.ts';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { STANDING, STANDING_TERMS } from '../testing/standing.ts';
import { AHEAD_MS, announceWindows, type Looks } from './announce-windows.ts';

const WEEKLY = {
  ...{ rrule: 'FREQ=WEEKLY;BYDAY=SU', starts_on: '2026-11-01', start: '11:00', zone: 'UTC' },
  duration_minutes: 120,
};
const SUNDAY_MS = Date.parse('2026-11-22T11:00:00Z');

describe.each(ENGINES)('windows are announced on $name', (engine) => {
  async function scene(change: object = {}) {
    const it = await createApprovalsApp(engine);
    await it.database.transact(async (tx) => {
      const ada = { id: '01900000-0000-7000-a000-000000000001', username: 'ada', password_hash: 'x' };
      await insertOperator(tx, { ...ada, role: 'approver', groups: null, created_at: 1, disabled_at: null });
    });
    const publish = async (more: object = {}) => {
      const asked = { ...STANDING, windows: [WEEKLY], ends_at: '2026-12-20T00:00:00Z', ...change, ...more };
      const { status, body } = await it.call('POST', '/api/v1/policies', asked);
      expect(status, JSON.stringify(body)).toBe(201);
      return body;
    };
    const looks: Looks = new Map();
    const at = async (ms: number, own = looks) => {
      it.clock.advance(ms - it.platform.now());
      await announceWindows(it.deps, own);
    };
    const told = async () => {
      const rows = await it.database.read
        .selectFrom('events')
        .selectAll()
        .where('type', '=', 'policy_window_ahead')
        .orderBy('id')
        .execute();
      return rows.map(({ content }) => JSON.parse(content));
    };
    return { ...it, publish, at, told };
  }

  test('a day ahead, once, with what would be approved and what not', async () => {
    const it = await scene({ terms: { ...STANDING_TERMS, except_packages: ['linux-*'] } });
    const curl = await it.addUpdate({ name: 'curl' });
    await it.addUpdate({ name: 'linux-image' });
    const { id, sha256 } = await it.publish();
    await it.at(SUNDAY_MS - AHEAD_MS - 1);
    expect(await it.told()).toEqual([]);
    // Somebody has looked at it, and so it is judged.
    expect((await it.call('POST', `/api/v1/updates/${curl}/preview`, {})).status).toBe(200);
    await it.at(SUNDAY_MS - AHEAD_MS);
    await it.at(SUNDAY_MS - AHEAD_MS + 1);
    // Nor after a restart, or on a second server.
    await it.at(SUNDAY_MS - 1, new Map());
    expect(await it.told()).toEqual([
      {
        ...{ policy_id: id, sha256, name: STANDING.name, version: 1, author: 'ada', actions: ['install'] },
        ...{ opens_at: '2026-11-22T11:00:00.000Z', closes_at: '2026-11-22T13:00:00.000Z' },
        ...{ hosts: 1, approves: 1, unplanned: 0, leaves: 1, reasons: [{ reason: 'excepted', count: 1 }] },
      },
    ]);
    await it.at(SUNDAY_MS + 6 * AHEAD_MS);
    expect((await it.told()).map(({ opens_at }) => opens_at)).toEqual([
      '2026-11-22T11:00:00.000Z',
      '2026-11-29T11:00:00.000Z',
    ]);
  });

  test('after a clock that was ahead is set back', async () => {
    const it = await scene();
    await it.publish();
    await it.at(SUNDAY_MS + 14 * AHEAD_MS - 1);
    expect(await it.told()).toHaveLength(1);
    // When it is looked at next is remembered.
    await it.at(SUNDAY_MS + 14 * AHEAD_MS);
    await it.at(SUNDAY_MS - AHEAD_MS);
    await it.at(SUNDAY_MS - AHEAD_MS + 1);
    expect((await it.told()).map(({ opens_at }) => opens_at)).toEqual([
      '2026-12-06T11:00:00.000Z',
      '2026-11-22T11:00:00.000Z',
    ]);
  });

  test('nothing twice after a clock that was ahead by hours is set back', async () => {
    const it = await scene();
    await it.publish();
    await it.at(SUNDAY_MS - AHEAD_MS);
    await it.at(SUNDAY_MS - 2 * AHEAD_MS + 1, new Map());
    await it.at(SUNDAY_MS - AHEAD_MS, new Map());
    expect(await it.told()).toHaveLength(1);
  });

  test('of two servers at once one tells', async () => {
    const it = await scene();
    await it.publish();
    it.clock.advance(SUNDAY_MS - 1000 - it.platform.now());
    await Promise.all([announceWindows(it.deps, new Map()), announceWindows(it.deps, new Map())]);
    expect(await it.told()).toHaveLength(1);
  });

  test('of many at once a pass tells a few, and the next ones the others', async () => {
    const it = await scene();
    for (let n = 1; n <= 4; n++) await it.publish({ name: `Policy ${n}` });
    await it.at(SUNDAY_MS - 2_000);
    expect(await it.told()).toHaveLength(3);
    await it.at(SUNDAY_MS - 1_000);
    await it.at(SUNDAY_MS - 500);
    expect(new Set((await it.told()).map(({ name }) => name)).size).toBe(4);
    expect(await it.told()).toHaveLength(4);
  });

  test('windows that are not for installing are not announced, nor those of a policy that has ended', async () => {
    const it = await scene();
    const reboots = { ...WEEKLY, start: '10:00', actions: ['restart_services'] };
    await it.database.transact((tx) => tx.updateTable('operators').set({ role: 'admin' }).execute());
    const { id } = await it.publish();
    await it.call('DELETE', `/api/v1/policies/${id}`);
    await it.at(SUNDAY_MS - 2 * 3_600_000);
    expect(await it.told()).toEqual([]);
    await it.publish({ name: 'Other', windows: [WEEKLY, reboots], restart_services: 'needed' });
    await it.at(SUNDAY_MS - 90 * 60_000);
    expect((await it.told()).map(({ opens_at, name }) => [name, opens_at])).toEqual([
      ['Other', '2026-11-22T11:00:00.000Z'],
    ]);
  });

  test('a policy without windows announces nothing', async () => {
    const it = await scene({ windows: [] });
    await it.publish();
    await it.at(SUNDAY_MS);
    expect(await it.told()).toEqual([]);
  });
});
