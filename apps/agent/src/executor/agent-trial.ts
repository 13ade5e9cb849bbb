import type { OwnPlaces } from '../ecosystems/ecosystem.ts';
import { AGENT_PACKAGE, targetOf, withFailure } from '../ecosystems/tidegate/release-rules.ts';
import { FAILURES_MAX, readTrials, type Trial, type Trials } from '../ecosystems/tidegate/trial-record.ts';
import type { AgentProof } from '../jobs/job-folder.ts';
import { timestamp } from '../platform/clock.ts';
import { writeDurably } from '../platform/file-layer.ts';
import { plainStart } from '../platform/plain-text.ts';
import { secureFolder } from '../platform/root-folder.ts';
import type { HostControl } from '../reboots/host-control.ts';
import { hasVersion, pruneVersions, switchLink } from './agent-versions.ts';
import { ended, type JobEnd } from './job-result.ts';

export const AGENT_UNIT = 'tidegate-agent.service';
/** How long a new version has to prove itself. */
export const WATCH_MS = 10 * 60_000;
const LOOK_EVERY_MS = 5_000;
/** Executors that may begin to watch one trial: a host that restarts all the time does not prove a version. */
const WATCHES_MAX = 3;

/** What the agent leaves in the job that it was started by. */
export interface AgentWitness {
  proof: () => AgentProof | null;
  /** The time of the signed state in the job, verified; null where it is none. */
  stateTime: () => string | null;
}

export interface TrialMeans {
  places: OwnPlaces;
  host: Pick<HostControl, 'startAgain' | 'showUnit'>;
  witness: AgentWitness;
  nowMs: () => number;
  pause: (ms: number) => Promise<unknown>;
  tell: (line: string) => void;
}

export type TrialOutcome = { ok: true } | { ok: false; detail: string };

type NewTrial = Pick<Trial, 'command_id' | 'update_ids' | 'from' | 'to'>;

/** Lets the agent's unit run another version, and keeps that one only if it proves itself. */
export async function tryVersion(trial: NewTrial, means: TrialMeans): Promise<TrialOutcome> {
  const { nowMs, witness } = means;
  return conclude(
    note(means, {
      ...trial,
      began_at: new Date(nowMs()).toISOString(),
      watches: 0,
      state_before: witness.stateTime(),
      phase: 'trying',
      detail: null,
    }),
    means,
  );
}

/** The trial of a command whose executor was ended; null where there is none. */
export function findTrial(places: OwnPlaces, commandId: string): Trial | null {
  const { last } = readTrials(places);
  return last?.command_id === commandId ? last : null;
}

/** The result of a trial that another executor began. */
export async function endTrial(trial: Trial, means: TrialMeans): Promise<JobEnd> {
  const outcome = await conclude(trial, means);
  const { update_ids, to: version, began_at } = trial;
  const updates = update_ids.map((update_id) => ({
    ...{ update_id, outcome: outcome.ok ? ('installed' as const) : ('failed' as const) },
  }));
  const arch = targetOf(process);
  const installed = [{ name: AGENT_PACKAGE, version, ...(arch !== null && { arch }) }];
  return ended(
    outcome.ok
      ? { ok: true, installed, output: '' }
      : { ok: false, reason: 'install_failed', detail: outcome.detail, exitCode: null, output: '' },
    { updates, startedAt: timestamp(Date.parse(began_at)), finishedAt: timestamp(means.nowMs()) },
  );
}

/**
 * Brings a trial to its end, from wherever it was interrupted: each step can be made again. The record says what was
 * decided before the links follow it.
 */
async function conclude(trial: Trial, means: TrialMeans): Promise<TrialOutcome> {
  const secured = secureFolder(means.places.folder, { mode: null, isGivenAway: false });
  if (!secured.ok) return secured;
  const judged = trial.phase === 'trying' ? await watch(trial, means) : trial;
  if (judged.phase === 'proven') {
    switchLink(means.places.folder, 'proven', judged.to);
    pruneVersions(means.places.folder, judged.from);
    return { ok: true };
  }
  return takeBack(judged, means);
}

async function watch(trial: Trial, means: TrialMeans): Promise<Trial> {
  const { places, host, tell } = means;
  if (trial.watches >= WATCHES_MAX) {
    return fail(trial, means, `the executor was interrupted ${trial.watches} times while it watched it`);
  }
  if (!hasVersion(places.folder, trial.to)) return fail(trial, means, 'its program is gone');
  const begun = note(means, { ...trial, watches: trial.watches + 1 });
  switchLink(places.folder, 'agent', trial.to);
  tell(`Version ${trial.to} is started and watched for up to ${WATCH_MS / 60_000} minutes.`);
  const started = await host.startAgain(AGENT_UNIT);
  if (!started.ok) return fail(begun, means, `systemd could not start it: ${started.detail}`);
  const fault = await awaitProof(begun, means);
  return fault === null ? note(means, { ...begun, phase: 'proven' }) : fail(begun, means, fault);
}

/** Null when the new version has checked in, read the state of the fleet and found no fault with itself. */
async function awaitProof(trial: Trial, { host, witness, nowMs, pause }: TrialMeans): Promise<string | null> {
  const endMs = nowMs() + WATCH_MS;
  let missing = 'it did not check in';
  while (nowMs() < endMs) {
    const unit = await host.showUnit(AGENT_UNIT);
    // Also after an exit that its unit does not repeat.
    if (unit?.active === 'failed' || unit?.active === 'inactive') return 'it ended';
    const proof = witness.proof();
    if (proof?.version === trial.to) {
      missing =
        proof.failing.length > 0
          ? `it found faults: ${proof.failing.join(', ')}`
          : 'it brought no newer state that the server signed';
      if (proof.failing.length === 0 && isLater(witness.stateTime(), trial.state_before)) return null;
    }
    await pause(LOOK_EVERY_MS);
  }
  return `${missing} within ${WATCH_MS / 60_000} minutes`;
}

function isLater(time: string | null, than: string | null): boolean {
  return time !== null && (than === null || Date.parse(time) > Date.parse(than));
}

async function takeBack(trial: Trial, { places, host, tell }: TrialMeans): Promise<TrialOutcome> {
  const { from, to, detail } = trial;
  switchLink(places.folder, 'agent', from);
  tell(`Version ${to} failed: ${detail}. Version ${from} is started again.`);
  const started = await host.startAgain(AGENT_UNIT);
  const rest = started.ok ? '' : `, which systemd could not start: ${started.detail}`;
  return { ok: false, detail: `version ${to} failed: ${detail}; this host is back at ${from}${rest}` };
}

function fail(trial: Trial, means: TrialMeans, why: string): Trial {
  const { places, nowMs } = means;
  const failed: Trial = { ...trial, phase: 'failed', detail: plainStart(why, 1_000) };
  const { failures } = readTrials(places);
  const now = withFailure(failures, { version: trial.to, atMs: nowMs(), max: FAILURES_MAX });
  write(places, { v: 1, last: failed, failures: now });
  return failed;
}

function note({ places }: TrialMeans, trial: Trial): Trial {
  write(places, { ...readTrials(places), last: trial });
  return trial;
}

/** Readable for the agent, which offers nothing that failed. */
function write({ trials }: OwnPlaces, record: Trials): void {
  writeDurably(trials, new TextEncoder().encode(JSON.stringify(record)), { mode: 0o644 });
}
