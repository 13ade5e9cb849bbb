import type { EvidenceManifest } from '@tidegate/protocol/evidence-api';
import { type EventRow, newestAnchor, pageOfEvents, readHead } from '../events/store.ts';
import { takeTurn } from '../platform/turns.ts';
import type { Collecting, Lines } from './collect-lines.ts';
import { checkpointAfter, checkpointBefore, checkpointsFrom, eventsOfHost, PAGE_ROWS } from './store.ts';
import { withholdEvent } from './withheld-rules.ts';

type Chain = NonNullable<EvidenceManifest['chain']>;

/** Events without a host that everybody's evidence rests on: rules, keys, sources and restores. */
const GENERAL =
  /^(vex_|hold_|blackout_|origin_|age_exception_|policy_|rollout_|vulnerability_policy_|advisories_|fix_appeared|mitigation_noted|events_pruned|SIGNING_|RESTORE_DETECTED|ARTIFACT_DIVERGENCE)/;

/**
 * The log from the checkpoint before the span to the one after it. Events of other hosts and times are withheld: each
 * still proves which event it follows, so that the whole part verifies.
 */
export async function* chainLines(of: Collecting, done: (chain: Chain) => void): Lines {
  const { db, span, note } = of;
  const anchor = await newestAnchor(db);
  const before = await checkpointBefore(db, span.sinceMs);
  const begin = before !== null && before.position > (anchor?.position ?? 0) ? before : anchor;
  if (anchor !== null && begin === anchor && (before === null || before.position < anchor.position))
    note(`Events up to position ${anchor.position} were pruned and are not in the bundle.`);
  const head = await readHead(db);
  const after = await checkpointAfter(db, span.untilMs);
  const until = after?.position ?? head?.position ?? 0;
  const start = { position: begin?.position ?? 0, hash: begin?.hash ?? null };
  const covering = await checkpointsFrom(db, { from: start.position, until });
  if (begin !== null) yield { checkpoint: JSON.parse(begin.envelope) };
  let end = start;
  let next = covering.findIndex(({ position }) => position > start.position);
  for (;;) {
    await takeTurn();
    const page = await pageOfEvents(db, { after: end.position, until, limit: PAGE_ROWS });
    for (const [i, event] of page.entries()) {
      if (i % 50 === 0) await takeTurn();
      yield isShown(of, event) ? { event } : { withheld: withholdEvent(event) };
      end = { position: event.position, hash: event.hash };
      const checkpoint = next === -1 ? undefined : covering[next];
      if (checkpoint?.position !== event.position) continue;
      yield { checkpoint: JSON.parse(checkpoint.envelope) };
      next++;
    }
    if (page.length < PAGE_ROWS) break;
  }
  const signed = covering.at(-1)?.position ?? start.position;
  if (signed < end.position)
    note(
      `The events from position ${signed + 1} to ${end.position} are chained, but no checkpoint signs them.`,
    );
  done({ start, end });
}

function isShown({ scope, span, hosts }: Collecting, event: EventRow): boolean {
  if (event.created_at < span.sinceMs || event.created_at >= span.untilMs) return false;
  if (scope.kind === 'fleet') return true;
  return event.agent_id === null ? GENERAL.test(event.type) : hosts.has(event.agent_id);
}

/** The events of the hosts alone: positions would tell how much happens on the hosts of others. */
export async function* unchainedLines({ db, span, hosts }: Collecting): Lines {
  for (const agentId of hosts.keys()) {
    for (let after = 0; ; ) {
      await takeTurn();
      const page = await eventsOfHost(db, { agentId, span, after });
      for (const { position: _, ...event } of page) yield { event };
      after = page.at(-1)?.position ?? after;
      if (page.length < PAGE_ROWS) break;
    }
  }
}
