import { POLICIES_MAX, type PolicyPreview } from '@tidegate/protocol/policies-api';
import type { ApprovalDeps } from '../approvals/deps.ts';
import { appendEvent } from '../events/append-event.ts';
import { rfc3339 } from '../platform/clock.ts';
import { isWaiting } from '../platform/due.ts';
import { aboutPolicy } from '../policies/end-policies.ts';
import { payloadOf } from '../policies/policy-view.ts';
import { nextWindows, type PolicyOpening } from '../policies/policy-windows.ts';
import { announcedOpenings, markAnnounced, type PolicyRow, policiesInForce } from '../policies/store.ts';
import { previewPolicy } from './preview-policy.ts';

/** How long before a window opens it is announced, in milliseconds. */
export const AHEAD_MS = 24 * 3_600_000;
/**
 * An announced opening that is further away was announced by a clock that was set back since. Twice as long as one is
 * announced ahead, so that a clock that is set back by some hours announces nothing twice.
 */
const ANNOUNCED_MAX_MS = 2 * AHEAD_MS;
/** A policy without a next window is looked at again after this time, in milliseconds. */
const AGAIN_MS = 3_600_000;
/** Windows that one pass announces: judging for one takes seconds, and the policies wait meanwhile. */
const PASS_MAX = 3;
/** Reasons that an event names. */
const REASONS_NAMED = 5;

/** When each version of a policy was looked at, and is looked at next, by digest. */
export type Looks = Map<string, { atMs: number; nextMs: number }>;

/**
 * Tells a day ahead what each policy would approve in its next window for installing, and what not, as far as is known by then: one event
 * for each opening, however many servers there are.
 */
export async function announceWindows(
  deps: ApprovalDeps,
  looks: Looks,
  isStopped: () => boolean = () => false,
): Promise<void> {
  const { platform } = deps;
  const db = platform.database.read;
  const nowMs = platform.now();
  const rows = await policiesInForce(db, { nowMs, limit: POLICIES_MAX });
  const digests = new Set(rows.map(({ sha256 }) => sha256));
  for (const sha256 of looks.keys()) if (!digests.has(sha256)) looks.delete(sha256);
  // A clock that was set back keeps no policy from being looked at.
  const due = rows.filter(({ sha256 }) => {
    const look = looks.get(sha256);
    return !look || look.nextMs <= nowMs || look.atMs > nowMs;
  });
  if (due.length === 0) return;
  const announced = await announcedOpenings(
    db,
    due.map(({ policy_id: id }) => id),
  );
  let left = PASS_MAX;
  for (const row of due) {
    if (isStopped()) return;
    const known = announced.get(row.policy_id) ?? 0;
    const fromMs = isWaiting(known, { nowMs, longestMs: ANNOUNCED_MAX_MS }) ? known : nowMs;
    const opening = nextWindows(payloadOf(row), fromMs, 'install')[0];
    const isNear = opening !== undefined && opening.startMs - nowMs <= AHEAD_MS;
    if (!isNear) {
      looks.set(row.sha256, { atMs: nowMs, nextMs: opening ? opening.startMs - AHEAD_MS : nowMs + AGAIN_MS });
      continue;
    }
    if (left === 0) return;
    left -= 1;
    await announce(deps, row, { opening, nowMs });
  }
}

async function announce(
  deps: ApprovalDeps,
  row: PolicyRow,
  { opening, nowMs }: { opening: PolicyOpening; nowMs: number },
): Promise<void> {
  const { platform } = deps;
  const preview = await previewPolicy(deps, payloadOf(row));
  await platform.database.transact(async (tx) => {
    const { startMs: opensAtMs } = opening;
    const mark = { policyId: row.policy_id, opensAtMs, nowMs, longestMs: ANNOUNCED_MAX_MS };
    if (!(await markAnnounced(tx, mark))) return;
    await appendEvent(tx, platform, {
      ...{ kind: 'system', type: 'policy_window_ahead', severity: 'info', component: 'security' },
      ...{ actor: 'server', content: { ...aboutPolicy(row), ...timesOf(opening), ...sumsOf(preview) } },
    });
  });
}

function timesOf({ startMs, endMs, actions }: PolicyOpening) {
  return { opens_at: rfc3339(startMs), closes_at: rfc3339(endMs), actions };
}

function sumsOf({ hosts, approves, unplanned, leaves, reasons }: PolicyPreview) {
  const most = reasons.toSorted((a, b) => b.count - a.count).slice(0, REASONS_NAMED);
  return { hosts, approves, unplanned, leaves, reasons: most };
}
