import type { CheckInRequest } from '@tidegate/protocol/agent-api';
import { ECOSYSTEMS } from '@tidegate/protocol/scalars';
import { CHECK_IN_INTERVAL_SECONDS } from '../agents/presence.ts';
import { rfc3339 } from '../platform/clock.ts';
import type { AgentFacts } from '../platform/http/access.ts';
import type { RandomBytes } from '../platform/ids.ts';

export interface Answers {
  /** Seconds between two check-ins of this agent. */
  intervalOf(agent: Pick<AgentFacts, 'pollingIntervalSeconds'>): number;
  /** The answer to an agent's facts, as JSON text. */
  text(said: {
    caller: AgentFacts;
    facts: CheckInRequest;
    nowMs: number;
    /** The signed state document as JSON text. */
    state: string;
    /** Envelopes as JSON texts. */
    commands: readonly string[];
  }): string;
}

/** Creates the answers to check-ins; the next one is due after the agent's interval, spread by JITTER. */
export function createAnswers(random: RandomBytes): Answers {
  const spread = createSpread(random);
  const intervalOf: Answers['intervalOf'] = (agent) =>
    agent.pollingIntervalSeconds ?? CHECK_IN_INTERVAL_SECONDS;
  return {
    intervalOf,
    text: ({ caller, facts, nowMs, state, commands }) =>
      answerText({
        nowMs,
        state,
        commands,
        report: staleSections(facts.inventory_digest, caller.digests),
        nextCheckInSeconds: spread(intervalOf(caller)),
      }),
  };
}

interface AnswerParts {
  nowMs: number;
  state: string;
  commands: readonly string[];
  /** Ecosystems whose report the server does not have. */
  report: readonly string[];
  nextCheckInSeconds: number;
}

/** Concatenated, because every part is JSON already or needs no escaping. */
export function answerText({ nowMs, state, commands, report, nextCheckInSeconds }: AnswerParts): string {
  const names = report.length === 0 ? '' : `"${report.join('","')}"`;
  return `{"server_time":"${timeText(nowMs)}","state":${state},"commands":[${commands.join(',')}],"report":[${names}],"next_check_in_seconds":${nextCheckInSeconds}}`;
}

let last = { ms: 0, text: rfc3339(0) };

/** Cached: many check-ins share a millisecond, and formatting it costs more than the rest of the answer. */
function timeText(ms: number): string {
  if (ms !== last.ms) last = { ms, text: rfc3339(ms) };
  return last.text;
}

/** Ecosystems whose digest differs from the stored one: the server requests their reports. */
export function staleSections(
  reported: CheckInRequest['inventory_digest'],
  stored: string,
): readonly string[] {
  let stale: string[] | null = null;
  for (const ecosystem of ECOSYSTEMS) {
    const digest = reported[ecosystem];
    if (digest === undefined || stored.includes(`"${ecosystem}":"${digest}"`)) continue;
    stale ??= [];
    stale.push(ecosystem);
  }
  return stale ?? NONE;
}

const NONE: readonly string[] = [];

/** Share of the interval by which check-ins move, so that a fleet never checks in at once. */
const JITTER = 0.1;
/** Random numbers drawn per batch. */
const POOL = 4_096;

/** Creates the source of the seconds until the next check-in: the interval, spread by JITTER. */
export function createSpread(random: RandomBytes): (intervalSeconds: number) => number {
  let pool = random(POOL);
  let next = 0;
  return (intervalSeconds) => {
    if (next + 2 > pool.length) {
      pool = random(POOL);
      next = 0;
    }
    const fraction = pool.readUInt16LE(next) / 0x1_0000;
    next += 2;
    const seconds = intervalSeconds * (1 - JITTER + 2 * JITTER * fraction);
    return Math.max(1, Math.round(seconds * 10) / 10);
  };
}
