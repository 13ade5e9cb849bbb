import { HOLDS_MAX, type HoldRequest } from '@tidegate/protocol/holds-api';
import { scopeFault } from '../agents/host-scope.ts';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { type BackgroundWork, guarded, repeat } from '../platform/repeat.ts';
import { endFault } from './hold-rules.ts';
import { endHold, expiredHolds, type HoldRow, holdOf, holdsInForce, insertHold } from './store.ts';

/** Holds whose end is recorded in one transaction. */
const BATCH = 100;

/** What is wrong with a request of the right form, and where; null if nothing is. */
export async function holdFault(
  db: Db,
  request: HoldRequest,
  nowMs: number,
): Promise<{ path: string; message: string } | null> {
  return (await scopeFault(db, request.scope)) ?? endFault(request, nowMs);
}

/** Stores a hold with its event. Throws a Refusal if more would be in force than allowed. */
export async function placeHold(
  tx: Tx,
  platform: Platform,
  { request, actor }: { request: HoldRequest; actor: string },
): Promise<HoldRow> {
  const nowMs = platform.now();
  if ((await holdsInForce(tx, nowMs)).length >= HOLDS_MAX) {
    throw new Refusal('conflict', {
      detail: `At most ${HOLDS_MAX} holds may be in force. Release some first.`,
    });
  }
  const { ecosystems, packages, scope, reason, ends_at } = request;
  const row = {
    ...{ id: platform.newId(), ecosystems: JSON.stringify(ecosystems), packages: JSON.stringify(packages) },
    ...{ scope: JSON.stringify(scope), reason, created_by: actor, created_at: nowMs },
    ...{ ends_at: Date.parse(ends_at), ended_at: null, ended_by: null, enforced_at: null },
  };
  await insertHold(tx, row);
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'hold_placed', severity: 'info', component: 'security', actor },
    content: { ...aboutHold(row), actor },
  });
  return row;
}

/** Releases a hold, with its event; false when there is none in force. */
export async function releaseHold(
  tx: Tx,
  platform: Platform,
  { id, actor }: { id: string; actor: string },
): Promise<boolean> {
  const row = await endHold(tx, { id, by: actor, nowMs: platform.now() });
  if (!row) return false;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'hold_released', severity: 'info', component: 'security', actor },
    content: { ...aboutHold(row), actor },
  });
  return true;
}

/** Records that holds have ended. They hold nothing from their very end, whether this has run or not. */
export function createHoldBackground(
  platform: Platform,
  { intervalMs }: { intervalMs: number },
): BackgroundWork {
  return repeat({
    intervalMs,
    run: () => guarded(platform, 'recording ended holds failed', () => recordEndedHolds(platform)),
  });
}

export async function recordEndedHolds(platform: Platform): Promise<void> {
  const nowMs = platform.now();
  const ids = await expiredHolds(platform.database.read, { nowMs, limit: BATCH });
  if (ids.length === 0) return;
  await platform.database.transact(async (tx) => {
    for (const id of ids) {
      const row = await endHold(tx, { id, by: 'server', nowMs });
      if (!row) continue;
      await appendEvent(tx, platform, {
        // Its packages move again, with nobody looking.
        ...{ kind: 'system', type: 'hold_expired', severity: 'warning', component: 'security' },
        ...{ actor: 'server', content: aboutHold(row) },
      });
    }
  });
}

function aboutHold(row: HoldRow) {
  const { id: hold_id, ecosystems, packages, scope, reason, endsAtMs } = holdOf(row);
  return { hold_id, ecosystems, packages, scope, reason, ends_at: rfc3339(endsAtMs) };
}
