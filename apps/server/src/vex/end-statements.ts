import { appendEvent } from '../events/append-event.ts';
import type { Tx } from '../platform/db/engine.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, guarded, repeat } from '../platform/repeat.ts';
import { aboutStatement } from './add-statements.ts';
import { endStatement, expiredStatements } from './store.ts';

/** Statements whose end is recorded in one transaction. */
const BATCH = 100;

/** Revokes a statement, with its event; false when there is none in force. Approvals that used it keep their token. */
export async function revokeStatement(
  tx: Tx,
  platform: Platform,
  { id, actor }: { id: string; actor: string },
): Promise<boolean> {
  const row = await endStatement(tx, { id, by: actor, reason: 'revoked', nowMs: platform.now() });
  if (!row) return false;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'vex_statement_revoked', severity: 'info', component: 'security', actor },
    content: { ...aboutStatement(row), actor },
  });
  return true;
}

/** Records that statements have ended. They count no longer from their very end, whether this has run or not. */
export function createStatementBackground(
  platform: Platform,
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  return repeat({
    intervalMs,
    run: () => guarded(platform, 'recording expired statements failed', () => recordExpired(platform)),
  });
}

export async function recordExpired(platform: Platform): Promise<void> {
  const nowMs = platform.now();
  const ids = await expiredStatements(platform.database.read, { nowMs, limit: BATCH });
  if (ids.length === 0) return;
  await platform.database.transact(async (tx) => {
    for (const id of ids) {
      const row = await endStatement(tx, { id, by: 'server', reason: 'expired', nowMs });
      if (!row) continue;
      await appendEvent(tx, platform, {
        ...{ kind: 'system', type: 'vex_statement_expired', severity: 'info', component: 'security' },
        ...{ actor: 'server', content: aboutStatement(row) },
      });
    }
  });
}
