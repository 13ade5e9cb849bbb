import type { RecordedDecision } from '@tidegate/protocol/decisions-api';
import { rfc3339 } from '../platform/clock.ts';
import type { Tables } from '../platform/db/tables.ts';
import { REPORT_SEVERITIES, type ReportSeverity, type WAITING_REASONS } from './figure-rules.ts';
import type { Span, UpdateRow } from './store.ts';

const DAY_MS = 86_400_000;

type Entry = Tables['update_history'];
type Reason = (typeof WAITING_REASONS)[number];

/** What a decision says of one of its updates. */
export interface Judged {
  readonly severity: ReportSeverity;
  /** Why the gate stopped it; null where it did not. */
  readonly stop: string | null;
}

/** What is known of an update at the end of a span; null if it had ended before the span. */
export function updateLine(
  row: UpdateRow,
  /** `judged` is null where nobody tried to approve it. */
  { span, history, judged }: { span: Span; history: readonly Entry[]; judged: Judged | null },
) {
  const stop = judged?.stop ?? null;
  const last = history.at(-1);
  const state = last?.to_state ?? 'pending';
  const isEnded = state === 'installed' || state === 'superseded';
  if (isEnded && (last?.at ?? 0) < span.sinceMs) return null;
  const outcome = state === 'installed' || state === 'superseded' ? state : 'waiting';
  const endMs = outcome === 'installed' ? (last?.at ?? span.untilMs) : span.untilMs;
  return {
    update_id: row.id,
    agent_id: row.agent_id,
    ecosystem: row.ecosystem,
    name: row.name,
    arch: row.arch,
    from_version: row.current_version === '' ? null : row.current_version,
    to_version: row.available_version,
    origin: row.origin,
    known_at: rfc3339(row.discovered_at),
    state,
    outcome,
    severity: judged?.severity ?? (row.fixes === 0 ? 'none' : 'unknown'),
    days: outcome === 'superseded' ? null : Math.max(0, Math.floor((endMs - row.discovered_at) / DAY_MS)),
    reason: outcome === 'waiting' ? reasonOf(state, stop) : null,
    stopped_by: outcome === 'waiting' ? stop : null,
    token_id: row.approval_id,
    history: history.map(({ at, from_state: from, to_state: to, reason, actor }) => ({
      ...{ at: rfc3339(at), from, to, reason, actor },
    })),
  };
}

export function judgedIn(decision: RecordedDecision, row: Pick<UpdateRow, 'name' | 'fixes'>): Judged {
  const { verdict } = decision;
  return {
    severity: severityOf(decision, row),
    stop: verdict.kind === 'blocked' ? verdict.stop.reason : null,
  };
}

/** The worst vulnerability that the update fixes, as the decision knew it. */
function severityOf(
  { facts, updates }: RecordedDecision,
  { name, fixes }: Pick<UpdateRow, 'name' | 'fixes'>,
): ReportSeverity {
  const closure = facts.judged?.closure ?? null;
  if (closure === null) return fixes === 0 ? 'none' : 'unknown';
  const isAlone = updates.length === 1;
  const fixed = closure.fixed.items.filter((fix) => isAlone || fix.package === name);
  if (fixed.length === 0) return closure.unchecked === null ? 'none' : 'unknown';
  const worst = new Set(fixed.map(({ severity }) => severity?.toLowerCase()));
  return REPORT_SEVERITIES.find((severity) => worst.has(severity)) ?? 'unknown';
}

function reasonOf(state: string, stop: string | null): Reason {
  if (state === 'rejected' || state === 'failed') return state;
  if (state !== 'pending') return 'under_way';
  if (stop === null) return 'not_asked';
  return stop === 'held' ? 'held' : 'stopped';
}
