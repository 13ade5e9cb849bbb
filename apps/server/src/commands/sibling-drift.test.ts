import type { CommandResult } from '@tidegate/protocol/agent-api';
import { describe, expect, test } from 'vitest';
import { insertTestAgent, insertTestUpdate } from '../testing/agent-rows.ts';
import { ENGINES } from '../testing/engines.ts';
import { createTestPlatform } from '../testing/test-platform.ts';
import { queueCommand } from './queue-command.ts';
import { isSiblingDrift } from './sibling-drift.ts';
import { compareAndSwapStatus, findCommand } from './store.ts';

interface Case {
  /** The other command of a host; null if there is none. */
  sibling?: {
    action?: 'install_update' | 'scan';
    status?: 'sent' | 'running' | 'success' | 'failed' | 'refused' | 'cancelled';
    /** When the server learnt of its end, after the approval was issued. */
    afterMs?: number;
    isElsewhere?: boolean;
  } | null;
  /** Whether the host has an older approval too. */
  isLater?: boolean;
  result?: CommandResult;
}

const DRIFT: CommandResult = { status: 'refused', reason: 'plan_drift: libc6 is newer' };

describe.each(ENGINES)('a plan that has drifted, on $name', (engine) => {
  test.each<[string, Case, boolean]>([
    ['by an approved installation that succeeded', {}, true],
    ['by one that failed halfway', { sibling: { status: 'failed' } }, true],
    ['in the millisecond of the approval', { sibling: { afterMs: 0 } }, true],
    ['without another installation', { sibling: null }, false],
    ['by one that ended before this approval', { sibling: { afterMs: -1 } }, false],
    [
      'by one that ended before this approval, after an older one of the host',
      { sibling: { afterMs: -1 }, isLater: true },
      false,
    ],
    ['beside one that runs', { sibling: { status: 'running' } }, false],
    ['beside one that was refused: it has changed nothing', { sibling: { status: 'refused' } }, false],
    ['beside one that was cancelled', { sibling: { status: 'cancelled' } }, false],
    ['beside a scan', { sibling: { action: 'scan' } }, false],
    ['while another host installed something', { sibling: { isElsewhere: true } }, false],
    ['but failed: the host has begun', { result: { ...DRIFT, status: 'failed' } }, false],
    ['or rather a lock', { result: { ...DRIFT, reason: 'package_manager_busy' } }, false],
    ['or a reason that begins alike', { result: { ...DRIFT, reason: 'plan_drifted' } }, false],
    ['or mentions it', { result: { ...DRIFT, reason: 'artifact_mismatch after plan_drift' } }, false],
    ['or nothing is said', { result: { status: 'refused' } }, false],
  ])('%s', async (_what, { sibling = {}, isLater = false, result = DRIFT }, expected) => {
    const database = await engine.open();
    const platform = createTestPlatform(database);
    const issuedMs = platform.now();
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const other = await insertTestAgent(database, { n: 2 });
    const of = { n: 1, state: 'approved', expiresAtMs: issuedMs + 86_400_000 };
    const install = await insertTestUpdate(database, { agentId, ...of });
    const own = install.approval.tokenId;
    if (isLater) await insertTestUpdate(database, { agentId, ...of, n: 2 });
    const found = await database.transact(async (tx) => {
      await tx.updateTable('approvals').set({ issued_at: issuedMs }).execute();
      const older = issuedMs - 1_000;
      await tx.updateTable('approvals').set({ issued_at: older }).where('token_id', '!=', own).execute();
      const queue = (command: Parameters<typeof queueCommand>[2]) => queueCommand(tx, platform, command);
      const id = await queue({ ...install, agentId, action: 'install_update', createdBy: 'ada' });
      // A host's own drift is no sibling of itself, whatever its status.
      const change = { status: 'failed' };
      await compareAndSwapStatus(tx, { id, from: ['pending'], change, nowMs: issuedMs });
      if (sibling) {
        const { action = 'install_update', status = 'success', afterMs = 1, isElsewhere } = sibling;
        const params = action === 'scan' ? {} : install.params;
        const host = isElsewhere ? other.agentId : agentId;
        const second = await queue({ agentId: host, action, params, createdBy: 'ada' });
        const nowMs = issuedMs + afterMs;
        await compareAndSwapStatus(tx, { id: second, from: ['pending'], change: { status }, nowMs });
      }
      const command = await findCommand(tx, id);
      if (!command) throw new Error('it is queued');
      return isSiblingDrift(tx, { command, result });
    });
    expect(found).toBe(expected);
  });
});
