import { listenToHosts } from '../agents/listen-to-hosts.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, guarded, repeat } from '../platform/repeat.ts';
import { aheadTime } from '../platform/retention/retention-clock.ts';
import { updatesOfCommand } from './named-updates.ts';
import { queueCommand } from './queue-command.ts';
import {
  type CommandRow,
  compareAndSwapStatus,
  type Overdue,
  overdue,
  queuedAhead,
  stillApproved,
} from './store.ts';

/** Commands that one call examines. */
const EXPIRE_MAX = 500;

/** Ends overdue commands, again and again. */
export function createCommandExpiry(
  platform: Platform,
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  const looks = createExpiryLooks(platform, { everyMs: intervalMs });
  return repeat({
    intervalMs,
    run: () => guarded(platform, 'the expiry of commands failed', looks.next),
  });
}

/** The looks at all hosts. After a gap between them no delivered command expires before its host had the time to answer. */
export function createExpiryLooks(
  platform: Pick<Platform, 'database' | 'newId' | 'now'>,
  { everyMs }: { everyMs: number },
): { next(): Promise<void> } {
  const listening = listenToHosts(platform, everyMs);
  return {
    async next() {
      const listeningSince = await listening.since(platform.now());
      const aheadMs = await aheadTime(platform);
      await platform.database.transact(async (tx) => {
        await expireCommands(tx, platform, { listeningSince });
        if (aheadMs !== null) await expireAhead(tx, platform, aheadMs);
      });
      listening.looked(platform.now());
    },
  };
}

/**
 * Ends overdue commands (at most EXPIRE_MAX). While the approval of an install command is live, the command is issued anew.
 * Returns how many ended.
 */
export async function expireCommands(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  of: Overdue,
): Promise<number> {
  const commands = await overdue(tx, { of, nowMs: platform.now(), limit: EXPIRE_MAX });
  return endAsExpired(tx, platform, { commands });
}

/** Ends commands that a clock that was ahead has queued, which no host would get before that time comes (at most EXPIRE_MAX). */
async function expireAhead(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  aheadMs: number,
): Promise<void> {
  const commands = await queuedAhead(tx, { aheadMs, limit: EXPIRE_MAX });
  // An approval of the same clock ends by itself: nothing is issued anew for it.
  await endAsExpired(tx, platform, { commands, issuedUntilMs: aheadMs });
}

async function endAsExpired(
  tx: Tx,
  platform: Pick<Platform, 'newId' | 'now'>,
  { commands, ...issued }: { commands: readonly CommandRow[]; issuedUntilMs?: number },
): Promise<number> {
  const nowMs = platform.now();
  const installs = commands.filter((command) => command.action === 'install_update');
  const commandIds = installs.map((command) => command.id);
  const live = await stillApproved(tx, { commandIds, nowMs, ...issued });
  let expired = 0;
  for (const command of commands) {
    const change = { status: 'expired', reason: 'expired', finished_at: nowMs };
    if (
      !(await compareAndSwapStatus(tx, {
        id: command.id,
        from: ['pending', 'sent'],
        change,
        nowMs: platform.now(),
      }))
    )
      continue;
    expired++;
    const { approval_id: tokenId, approval_sha256: sha256 } = command;
    if (!live.has(command.id) || tokenId === null || sha256 === null) continue;
    await queueCommand(tx, platform, {
      agentId: command.agent_id,
      action: 'install_update',
      params: { update_ids: updatesOfCommand(command) },
      approval: { tokenId, sha256 },
      createdBy: command.created_by,
    });
  }
  return expired;
}
