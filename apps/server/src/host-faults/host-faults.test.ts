import type { HostFaults } from '@tidegate/protocol/host-faults-api';
import { describe, expect, onTestFinished, test } from 'vitest';
import { defaultConfig } from '../config.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { countStatements } from '../testing/count-statements.ts';
import { ENGINES } from '../testing/engines.ts';
import { createSliceApp } from '../testing/slice-app.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { writeRaw } from '../testing/write-raw.ts';
import { mountHostFaults } from './routes.ts';

const MINUTE_MS = 60_000;
const STATEMENTS_MAX = 9;

describe.each(ENGINES)('what is wrong with a host, on $name,', (engine) => {
  async function scene({ minAgentVersion = null }: { minAgentVersion?: string | null } = {}) {
    const counted = countStatements(await engine.open());
    const { database } = counted;
    const platform = createTestPlatform(database);
    const app = createSliceApp(platform);
    onTestFinished(() => app.close());
    mountHostFaults(app.routes, { platform, config: { ...defaultConfig(), minAgentVersion } });
    const nowMs = platform.now();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const read = async (id = agentId): Promise<HostFaults['items']> => {
      const answer = await app.inject({ method: 'GET', url: `/api/v1/agents/${id}/faults` });
      expect(answer.statusCode, answer.body).toBe(200);
      return answer.json().items;
    };
    const kinds = async () => (await read()).map(({ kind }) => kind);
    const seen = (atMs: number) =>
      database.transact((tx) =>
        tx.insertInto('agent_presence').values({ agent_id: agentId, last_seen_at: atMs }).execute(),
      );
    const report = (row: object = {}) =>
      database.transact((tx) =>
        tx
          .insertInto('inventory_reports')
          .values({
            ...{ agent_id: agentId, ecosystem: 'apt', digest: 'd', scanned_at: 1, received_at: 1 },
            ...{ complete: 1, package_count: 1, writing: null, condition: null, changes_since: 1, ...row },
          })
          .execute(),
      );
    let position = 0;
    const mismatch = (atMs: number) =>
      database.transact((tx) =>
        tx
          .insertInto('events')
          .values({
            ...{ position: ++position, id: `e${position}`, kind: 'security', type: 'MACHINE_ID_MISMATCH' },
            ...{ severity: 'warning', component: 'agents', agent_id: agentId, actor: 'agent' },
            ...{ content: '{}', created_at: atMs, previous_hash: null, hash: `h${position}` },
          })
          .execute(),
      );
    const command = (n: number, status: string) =>
      writeRaw(database, 'agent_commands', {
        ...{ id: `01900000-0000-7000-a000-00000000000${n}`, agent_id: agentId, action: 'scan' },
        ...{ params: '{}', status, created_by: 'ada', created_at: n, not_before: n, expires_at: 99 },
        ...{ finished_at: n + 1, reason: status === 'failed' ? 'timeout' : null },
      });
    return { ...counted, app, agentId, nowMs, read, kinds, seen, report, mismatch, command, database };
  }

  test('is nothing while it checks in and reports, and costs few statements', async () => {
    const it = await scene();
    await it.seen(it.nowMs);
    await it.report();
    it.reset();
    expect(await it.read()).toEqual([]);
    expect(it.counts().reads).toBeLessThanOrEqual(STATEMENTS_MAX);
  });

  test('is not found for a host that does not exist', async () => {
    const { app } = await scene();
    const answer = await app.inject({ method: 'GET', url: '/api/v1/agents/nobody/faults' });
    expect(answer.statusCode).toBe(404);
  });

  test('is another machine that asks since the host was last heard of, with the way to rebind', async () => {
    const it = await scene();
    await it.mismatch(it.nowMs - 90 * MINUTE_MS);
    await it.seen(it.nowMs - 60 * MINUTE_MS);
    await it.report();
    expect(await it.kinds()).toEqual(['offline']);
    await it.mismatch(it.nowMs - 40 * MINUTE_MS);
    await it.mismatch(it.nowMs - 20 * MINUTE_MS);
    expect(await it.read()).toMatchObject([
      { kind: 'other_machine', mend: 'rebind', since: '2026-11-21T08:20:00.000Z', urgent: true },
    ]);
  });

  test('is ended credentials once nothing can renew them', async () => {
    const it = await scene();
    await it.report();
    await it.database.transact((tx) =>
      tx.updateTable('refresh_families').set({ expires_at: it.nowMs }).execute(),
    );
    expect(await it.read()).toMatchObject([{ kind: 'credentials_ended', mend: 'enrol' }]);
  });

  test('is what its package manager cannot do, with the repair if it offers one', async () => {
    const it = await scene();
    await it.seen(it.nowMs);
    const condition = {
      trouble: { reason: 'packages_broken', detail: 'loud is half-configured' },
      ...{ broken: [], more_broken: 0, left_files: [], more_left_files: 0, unread_folders: 0 },
    };
    await it.report({ complete: 0, condition: JSON.stringify({ ...condition, repair: { packages: [] } }) });
    await it.report({ ecosystem: 'npm', complete: 0, writing: 'other' });
    expect(await it.read()).toMatchObject([
      {
        ...{ kind: 'packages_broken', mend: 'repair', since: null },
        why: 'Nothing is installed until it is mended: loud is half-configured',
      },
    ]);
  });

  test('is the newest command that ended, if it failed', async () => {
    const it = await scene();
    await it.seen(it.nowMs);
    await it.report();
    await it.command(1, 'failed');
    await it.command(2, 'pending');
    await it.command(3, 'cancelled');
    expect(await it.read()).toMatchObject([
      { kind: 'command_failed', command_id: '01900000-0000-7000-a000-000000000001' },
    ]);
    await it.command(4, 'success');
    expect(await it.read()).toEqual([]);
  });

  test('is an agent below the oldest version that the server accepts', async () => {
    const it = await scene({ minAgentVersion: '2.0.0' });
    await it.seen(it.nowMs);
    await it.report();
    expect(await it.kinds()).toEqual(['agent_too_old']);
  });
});
