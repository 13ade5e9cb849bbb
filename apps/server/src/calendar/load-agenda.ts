import { blackoutsIn, contentOf } from '../blackouts/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { payloadOf } from '../policies/policy-view.ts';
import { type AnyPolicyRow, versionsIn } from '../policies/store.ts';
import { followUpsOf } from '../policies/window-actions.ts';
import type { AgendaParts } from './agenda.ts';

/** Versions of policies, and blackouts, that one answer looks at: all that may be in force together, and as many before. */
const ROWS_MAX = 500;

export interface LoadedAgenda extends AgendaParts {
  readonly versions: readonly AnyPolicyRow[];
  /** Those that can still be changed, by id: policies in force, and blackouts that are not over. */
  readonly live: ReadonlySet<string>;
}

/** The policies and blackouts of a time, also those that have ended. */
export async function loadAgenda(
  db: Db,
  { fromMs, toMs, nowMs }: { fromMs: number; toMs: number; nowMs: number },
): Promise<LoadedAgenda> {
  const range = { fromMs, toMs, limit: ROWS_MAX };
  const versions = await versionsIn(db, range);
  const rows = await blackoutsIn(db, range);
  const live = [
    ...versions.filter((row) => row.ended_at === null && row.ends_at > nowMs).map((row) => row.policy_id),
    ...rows.filter((row) => row.ended_at === null && (row.over_at ?? Infinity) > nowMs).map(({ id }) => id),
  ];
  return {
    versions,
    live: new Set(live),
    policies: versions.map((row) => {
      const policy = payloadOf(row);
      return {
        ...{ id: row.policy_id, name: row.name, windows: policy.windows, ...followUpsOf(policy) },
        ...{ sinceMs: row.created_at, untilMs: Math.min(row.ends_at, row.ended_at ?? Infinity) },
      };
    }),
    blackouts: rows.map((row) => {
      const { id, name, times } = contentOf(row);
      return { id, name, times, sinceMs: row.created_at, untilMs: row.ended_at ?? Infinity };
    }),
  };
}
