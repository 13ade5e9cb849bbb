import {
  BACKTEST_UPDATES_SHOWN,
  type BacktestFate,
  type BacktestUpdate,
  type PolicyBacktest,
} from '@tidegate/protocol/backtest-api';
import type { RecordedDecision } from '@tidegate/protocol/decisions-api';
import { rfc3339 } from '../platform/clock.ts';

type Sums = Pick<PolicyBacktest, 'decisions' | 'unreadable' | 'approves' | 'leaves' | 'reasons' | 'updates'>;

interface Entry {
  readonly shown: Omit<BacktestUpdate, 'decided_at' | 'reason' | 'fate'>;
  atMs: number;
  reason: string | null;
  isMinted: boolean;
  readonly isTakenBack: boolean;
}

/** Counts updates, each of which may have had many decisions. They are added the newest first. */
export function createBacktestSum() {
  const entries = new Map<string, Entry>();
  let [decisions, unreadable] = [0, 0];

  return {
    updates: () => entries.size,
    addUnreadable(): void {
      unreadable += 1;
    },
    /** `reason`: why the policy would have left the decision's updates to people. */
    add(
      record: RecordedDecision,
      given: {
        hostname: string;
        decidedAtMs: number;
        reason: string | null;
        isTakenBack: (id: string) => boolean;
      },
    ): void {
      decisions += 1;
      const { hostname, decidedAtMs: atMs, reason, isTakenBack } = given;
      const isMinted = record.outcome === 'minted';
      for (const { id, name, to_version } of record.updates) {
        const entry = entries.get(id);
        if (!entry) {
          const shown = { update_id: id, agent_id: record.agent_id, hostname, name, to_version };
          const { ecosystem } = record.facts;
          entries.set(id, {
            ...{ shown: { ...shown, ecosystem }, atMs, reason, isMinted },
            isTakenBack: isTakenBack(id),
          });
          continue;
        }
        entry.isMinted ||= isMinted;
        // The first time that it would have approved ends the matter; before that, the newest word counts.
        if (reason === null) Object.assign(entry, { atMs, reason });
      }
    },
    result(): Sums {
      const approves = { approved: 0, taken_back: 0, not_approved: 0 };
      const leaves = { ...approves };
      const reasons = new Map<string, number>();
      const updates: BacktestUpdate[] = [];
      for (const entry of entries.values()) {
        const { shown, atMs, reason } = entry;
        const fate = fateOf(entry);
        (reason === null ? approves : leaves)[fate] += 1;
        if (reason !== null) reasons.set(reason, (reasons.get(reason) ?? 0) + 1);
        updates.push({ ...shown, decided_at: rfc3339(atMs), reason, fate });
      }
      return {
        ...{ decisions, unreadable, approves, leaves },
        reasons: [...reasons]
          .map(([reason, count]) => ({ reason, count }))
          .toSorted((a, b) => b.count - a.count || (a.reason < b.reason ? -1 : 1)),
        updates: updates.toSorted((a, b) => rankOf(a) - rankOf(b)).slice(0, BACKTEST_UPDATES_SHOWN),
      };
    },
  };
}

function fateOf({ isMinted, isTakenBack }: Entry): BacktestFate {
  if (!isMinted) return 'not_approved';
  return isTakenBack ? 'taken_back' : 'approved';
}

/** What people would be surprised by comes first: approved against their will, or left although they approved it. */
function rankOf({ reason, fate }: BacktestUpdate): number {
  if (reason === null) return fate === 'taken_back' ? 0 : fate === 'not_approved' ? 1 : 3;
  return fate === 'approved' ? 2 : 4;
}
