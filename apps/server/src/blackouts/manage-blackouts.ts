import { BLACKOUTS_MAX, type BlackoutRequest } from '@tidegate/protocol/blackouts-api';
import { scopeFault } from '../agents/host-scope.ts';
import { appendEvent } from '../events/append-event.ts';
import type { Db, Tx } from '../platform/db/engine.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { Platform } from '../platform/platform.ts';
import { timesFault } from './blackout-rules.ts';
import {
  type BlackoutRow,
  contentOf,
  endBlackout,
  endOverBlackouts,
  insertBlackout,
  liveBlackouts,
} from './store.ts';

/** What is wrong with a request of the right form, and where; null if nothing is. */
export async function blackoutFault(
  db: Db,
  { scope, times }: BlackoutRequest,
  nowMs: number,
): Promise<{ path: string; message: string } | null> {
  return (await scopeFault(db, scope)) ?? timesFault(times, nowMs);
}

/** Stores a blackout with its event. Throws a Refusal where the name is taken, or there are too many. */
export async function createBlackout(
  tx: Tx,
  platform: Platform,
  { request, actor }: { request: BlackoutRequest; actor: string },
): Promise<BlackoutRow> {
  const nowMs = platform.now();
  await endOverBlackouts(tx, nowMs);
  const live = await liveBlackouts(tx, nowMs);
  if (live.length >= BLACKOUTS_MAX) {
    throw new Refusal('conflict', {
      detail: `At most ${BLACKOUTS_MAX} blackouts may exist. End some first.`,
    });
  }
  const { name, reason, scope, times } = request;
  if (live.some((other) => other.name === name)) {
    throw new Refusal('conflict', { detail: 'A blackout with this name exists already.' });
  }
  const row = {
    ...{ id: platform.newId(), name, reason, scope: JSON.stringify(scope), times: JSON.stringify(times) },
    over_at: times.kind === 'once' ? Date.parse(times.ends_at) : null,
    ...{ created_by: actor, created_at: nowMs, ended_at: null, ended_by: null, end_reason: null },
  };
  await insertBlackout(tx, row);
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'blackout_created', severity: 'info', component: 'security', actor },
    content: { ...aboutBlackout(row), reason, actor },
  });
  return row;
}

/** Ends a blackout before its time, with its event; null when there is none, or it has ended. */
export async function liftBlackout(
  tx: Tx,
  platform: Platform,
  { id, reason, actor }: { id: string; reason: string; actor: string },
): Promise<BlackoutRow | null> {
  await endOverBlackouts(tx, platform.now());
  const row = await endBlackout(tx, { id, by: actor, reason, nowMs: platform.now() });
  if (!row) return null;
  await appendEvent(tx, platform, {
    ...{ kind: 'system', type: 'blackout_ended', severity: 'warning', component: 'security', actor },
    content: { ...aboutBlackout(row), reason, actor },
  });
  return row;
}

function aboutBlackout(row: BlackoutRow) {
  const { id: blackout_id, name, scope, times } = contentOf(row);
  return { blackout_id, name, scope, times };
}
