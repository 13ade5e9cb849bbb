import { type Static, Type } from 'typebox';
import { UpdateOfHost } from './policies-api.ts';
import { Count, nullable, strict, Timestamp } from './scalars.ts';

/** How far a backtest looks back, in days. */
export const BACKTEST_DAYS = 30;
/** Recorded decisions that a backtest judges again, the newest first. */
export const BACKTEST_DECISIONS_MAX = 10_000;
/** Updates that an answer names. */
export const BACKTEST_UPDATES_SHOWN = 200;

/** What became of an update in truth. `taken_back`: approved, and a person withdrew the approval. */
export const BacktestFate = Type.Enum(['approved', 'taken_back', 'not_approved']);
export type BacktestFate = Static<typeof BacktestFate>;

const Fates = strict({ approved: Count, taken_back: Count, not_approved: Count });

const BacktestUpdate = strict({
  ...UpdateOfHost.properties,
  /** Of the first decision at which the policy would have approved it, or else of the newest. */
  decided_at: Timestamp,
  /** Why the policy would have left it to people; null for what it would have approved. */
  reason: nullable(Type.String()),
  fate: BacktestFate,
});
export type BacktestUpdate = Static<typeof BacktestUpdate>;

/**
 * What a policy would have decided, from the decisions that were recorded: the gate judges each of them again, on the
 * facts of then, with the policy's terms. It knows nothing of updates about which nobody asked. Hosts are those that are
 * in the scope now; windows and blackouts are left out: they say when, not whether.
 */
export const PolicyBacktest = strict({
  since: Timestamp,
  until: Timestamp,
  /** Decisions that were judged again. */
  decisions: Count,
  /** More were recorded than are judged: `since` is the time of the oldest that was. */
  cut: Type.Boolean(),
  /** Decisions that somebody changed in the database: nothing is concluded from them. */
  unreadable: Count,
  /** Updates that it would have approved, by what became of them. */
  approves: Fates,
  /** Updates that it would have left to people, by what became of them. */
  leaves: Fates,
  reasons: Type.Array(strict({ reason: Type.String(), count: Count })),
  /** What differs from the truth comes first. */
  updates: Type.Array(BacktestUpdate, { maxItems: BACKTEST_UPDATES_SHOWN }),
});
export type PolicyBacktest = Static<typeof PolicyBacktest>;
