import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import type { Envelope, StatePayload } from '@tidegate/protocol/documents';
import { ECOSYSTEMS, type Ecosystem, strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Runtime } from '../commands/runtime.ts';
import type { SaveOutcome } from '../identity/config-file.ts';
import type { Inventory } from '../inventory/inventory.ts';
import { agentEvent } from '../journal/events.ts';
import { noteSecondStart } from '../journal/second-start.ts';
import { type Failure, type Outcome, retryable } from '../platform/failures.ts';
import { AGENT_VERSION } from '../platform/version.ts';
import { callAgent } from '../session/call-agent.ts';
import { staleAfterMs } from '../session/freshness.ts';
import { refreshKeys } from '../session/refresh-keys.ts';
import { verifyState } from '../trust/verify-state.ts';

/** Most commands that one answer may hold. */
const COMMANDS_MAX = 200;
/** Most ids that one check-in acknowledges (the server's limit). */
const RECEIVED_MAX = 200;

const UNTRUSTED_STATE = "No key that this host trusts signed the server's state document.";

/** A bad command must not hide the good ones, so each is judged by itself. */
const LenientAnswer = strict({
  ...CheckInAnswer.properties,
  commands: Type.Array(Type.Unknown(), { maxItems: COMMANDS_MAX }),
});

export interface CheckedIn {
  /** Unverified. Empty when a newer key set could not be fetched: one of its keys may be revoked by now. */
  commands: unknown[];
  report: Ecosystem[];
  nextMs: number;
}

/** Reports that the agent is alive and returns its commands. */
export async function checkIn(runtime: Runtime): Promise<Outcome<CheckedIn>> {
  const { config, journal, inventory } = runtime;
  const noted = noteSecondStart(runtime);
  if (!noted.ok) return storage(noted.detail);
  const received = journal.unacknowledged().slice(0, RECEIVED_MAX);
  const load = runtime.loadAverage();
  const digests = inventory.digests();
  const answer = await callAgent(runtime, {
    method: 'POST',
    path: '/check-in',
    body: {
      agent_version: AGENT_VERSION,
      boot_id: runtime.bootId,
      uptime_seconds: runtime.uptimeSeconds(),
      ...(load.length === 0 ? {} : { load }),
      received,
      key_set_version: config.current().trusted_keys.version,
      inventory_digest: digests,
    },
  });
  if (!answer.ok) return answer;
  const { body } = answer.value;
  if (!Check(LenientAnswer, body)) return retryable('check-in: an answer in an unknown format');
  noteReports(runtime, { digests, report: body.report });
  const acknowledged = journal.acknowledge(received);
  if (!acknowledged.ok) return storage(acknowledged.detail);
  const fresh = await judgeState(runtime, body.state);
  if (!fresh.ok) return fresh;
  runtime.checkIns.made += 1;
  return {
    ok: true,
    value: {
      commands: fresh.value ? body.commands : [],
      report: body.report,
      nextMs: body.next_check_in_seconds * 1_000,
    },
  };
}

/** What the server does not ask for it has, even if its answer to a report was lost. */
function noteReports(
  { inventory }: Runtime,
  { digests, report }: { digests: ReturnType<Inventory['digests']>; report: readonly Ecosystem[] },
): void {
  for (const ecosystem of ECOSYSTEMS) {
    const sha256 = digests[ecosystem];
    if (sha256 !== undefined && !report.includes(ecosystem)) inventory.acknowledged(ecosystem, sha256);
  }
}

/** T12: fetches a newer key set named by the signed state before any command is judged. False: commands must wait. */
async function judgeState(runtime: Runtime, envelope: Envelope): Promise<Outcome<boolean>> {
  const { config, log } = runtime;
  let state = verifyState(envelope, config.current().trusted_keys);
  if (state === null || state.key_set_version > config.current().trusted_keys.version) {
    const refreshed = await refreshKeys(runtime);
    if (!refreshed.ok && refreshed.failure.kind !== 'retryable') return refreshed;
    state = verifyState(envelope, config.current().trusted_keys);
  }
  if (state === null) {
    log.error("no trusted key signed the server's state document");
    return noteFault(runtime, UNTRUSTED_STATE);
  }
  runtime.standingFaults.delete(UNTRUSTED_STATE);
  const noted = noteState(runtime, state);
  if (!noted.ok) return storage(noted.detail);
  warnIfStale(runtime, state);
  const kept = noteHead(runtime, state);
  if (!kept.ok) return kept;
  if (state.key_set_version > config.current().trusted_keys.version) {
    log.warn('commands wait for a newer key set', { key_set_version: state.key_set_version });
    return { ok: true, value: false };
  }
  return { ok: true, value: true };
}

/** T6: hosts remember the head of the server's event log, so that truncation is detected. */
function noteHead({ eventsHead, journal, log, nowMs }: Runtime, state: StatePayload): Outcome<null> {
  const noted = eventsHead.note(state);
  if (!noted.ok) return storage(noted.detail);
  if (noted.rollback === null) return { ok: true, value: null };
  const { kept, seen, server_time } = noted.rollback;
  const text =
    "The server's event log was rolled back: an event that its signed state named is missing or different.";
  const details = {
    check: 'events_rolled_back',
    epoch: kept.epoch,
    kept_position: kept.position,
    kept_hash: kept.hash,
    kept_at: kept.server_time,
    position: seen?.position ?? 0,
    hash: seen?.hash ?? null,
    server_time,
  };
  log.error("the server's event log was rolled back", details);
  const queued = journal.queueEvent(agentEvent('AGENT_ERROR', text, { nowMs: nowMs(), details }));
  return queued.ok ? { ok: true, value: null } : storage(queued.detail);
}

/** Stores the newest server time and reports the end of a gap without contact. */
function noteState(runtime: Runtime, state: StatePayload): SaveOutcome {
  const { config, journal, freshness, nowMs, timeliness } = runtime;
  timeliness.heard(state.server_time);
  const clock = { lastServerTime: journal.serverTime(), nowMs: nowMs() };
  const ended = freshness.take(state.server_time, clock);
  // Written once an interval, so that `status` and `doctor` can say how old the newest is.
  const noted = journal.noteState(state, config.current().polling.check_in_seconds * 1_000);
  return noted.ok && ended !== null ? journal.queueEvent(ended) : noted;
}

function noteFault(runtime: Runtime, message: string): Outcome<boolean> {
  const { journal, nowMs, standingFaults } = runtime;
  if (standingFaults.has(message)) return { ok: true, value: false };
  standingFaults.add(message);
  const queued = journal.queueEvent(
    agentEvent('AGENT_ERROR', message, { nowMs: nowMs(), details: { check: 'untrusted_state' } }),
  );
  return queued.ok ? { ok: true, value: false } : storage(queued.detail);
}

function warnIfStale({ config, nowMs, log }: Runtime, state: StatePayload): void {
  const ageMs = nowMs() - Date.parse(state.server_time);
  if (ageMs > staleAfterMs(config.current().polling.check_in_seconds * 1_000)) {
    log.warn('the signed state of the fleet is old: it was replayed, or clocks differ', {
      age_seconds: Math.round(ageMs / 1_000),
    });
  }
}

function storage(detail: string): { ok: false; failure: Failure } {
  return { ok: false, failure: { kind: 'storage', detail } };
}
