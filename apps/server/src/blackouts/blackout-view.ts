import { Blackout, NEXT_BLACKOUTS_SHOWN } from '@tidegate/protocol/blackouts-api';
import { Value } from 'typebox/value';
import { rfc3339 } from '../platform/clock.ts';
import type { Occurrence } from '../windows/schedule-rules.ts';
import { activeAt, nextAfter } from './blackout-rules.ts';
import { type BlackoutRow, contentOf } from './store.ts';

export function blackoutView(row: BlackoutRow, nowMs: number): Blackout {
  const { id, name, scope, times } = contentOf(row);
  const { reason, created_by, created_at, ended_by, ended_at, end_reason } = row;
  const isLive = ended_at === null && (row.over_at === null || row.over_at > nowMs);
  const active = isLive ? activeAt(times, nowMs) : null;
  const afterMs = Math.max(nowMs, active?.startMs ?? nowMs);
  const next = isLive ? nextAfter(times, { afterMs, count: NEXT_BLACKOUTS_SHOWN }) : [];
  const isDue = active !== null ? 'active' : next.length > 0 ? 'upcoming' : 'over';
  return Value.Parse(Blackout, {
    ...{ id, name, reason, scope, times, state: ended_by === null ? isDue : 'ended' },
    ...{ active: active && timesOf(active), next: next.map(timesOf) },
    ...{ created_by, created_at: rfc3339(created_at), ended_by, end_reason },
    ended_at: ended_at === null ? null : rfc3339(ended_at),
  });
}

function timesOf({ startMs, endMs }: Occurrence) {
  return { starts_at: rfc3339(startMs), ends_at: rfc3339(endMs) };
}
