import type { Hold } from '@tidegate/protocol/holds-api';
import { rfc3339 } from '../platform/clock.ts';
import { type HoldRow, holdOf } from './store.ts';

export function holdView(row: HoldRow, nowMs: number): Hold {
  const { id, ecosystems, packages, scope, reason, endsAtMs } = holdOf(row);
  const { created_by, created_at, ended_by, ended_at } = row;
  const isReleased = ended_at !== null && ended_by !== 'server';
  return {
    ...{ id, ecosystems, packages, scope, reason, ends_at: rfc3339(endsAtMs) },
    state: isReleased ? 'released' : endsAtMs <= nowMs ? 'expired' : 'in_force',
    ...{ created_by, created_at: rfc3339(created_at), ended_by },
    ended_at: ended_at === null ? null : rfc3339(ended_at),
  };
}
