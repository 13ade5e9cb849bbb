import type { EvidenceManifest } from '@tidegate/protocol/evidence-api';
import { type CheckpointRow, type EventRow, newestAnchor, pageOfEvents, readHead } from '../events/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { takeTurn } from '../platform/turns.ts';
import type { Collecting, Lines } from './collect-lines.ts';
import { checkpointsFrom, checkpointTimesBefore, eventsOfHost, PAGE_ROWS } from './store.ts';
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
  const start = { position: begin?.position ?? 0, hash: begin?.hash ?? null };
  if (begin !== null) yield { checkpoint: JSON.parse(begin.envelope) };
  let end = start;
  async function* eventsUpTo(until: number): Lines {
    for (;;) {
      await takeTurn();
      const page = await pageOfEvents(db, { after: end.position, until, limit: PAGE_ROWS });
      for (const event of page) {
        yield isShown(of, event) ? { event } : { withheld: withholdEvent(event) };
        end = { position: event.position, hash: event.hash };
      }
      if (page.length < PAGE_ROWS) return;
    }
  }
  let signed = start.position;
  let isBehind = false;
  for await (const checkpoint of checkpointsAfter(db, start.position)) {
    yield* eventsUpTo(checkpoint.position);
    yield { checkpoint: JSON.parse(checkpoint.envelope) };
    signed = checkpoint.position;
    isBehind = checkpoint.created_at > span.untilMs;
    if (isBehind) break;
  }
  if (!isBehind) yield* eventsUpTo(head?.position ?? 0);
  if (signed < end.position)
    note(
      `The events from position ${signed + 1} to ${end.position} are chained, but no checkpoint signs them.`,
    );
  done({ start, end });
}

/** The newest checkpoint at or before a time, after which the events of a span begin. */
async function checkpointBefore(db: Db, ms: number): Promise<CheckpointRow | null> {
  for (let before: number | null = null; ; ) {
    await takeTurn();
    const page = await checkpointTimesBefore(db, before);
    const found = page.find(({ created_at: at }) => at <= ms);
    if (found) return (await checkpointsFrom(db, { from: found.position, limit: 1 }))[0] ?? null;
    if (page.length < PAGE_ROWS) return null;
    before = page.at(-1)?.position ?? 0;
  }
}

async function* checkpointsAfter(db: Db, position: number): AsyncGenerator<CheckpointRow> {
  for (let from = position + 1; ; ) {
    await takeTurn();
    const page = await checkpointsFrom(db, { from, limit: PAGE_ROWS });
    yield* page;
    if (page.length < PAGE_ROWS) return;
    from = (page.at(-1)?.position ?? from) + 1;
  }
}

function isShown({ scope, span, hosts, bulkIds }: Collecting, event: EventRow): boolean {
  if (event.created_at < span.sinceMs || event.created_at >= span.untilMs) return false;
  if (scope.kind === 'fleet') return true;
  if (event.agent_id !== null) return hosts.has(event.agent_id);
  return GENERAL.test(event.type) || (event.type === 'bulk_approval_asked' && bulkIds.has(event.id));
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
