import type { AgentEvent, CommandResult } from '@tidegate/protocol/agent-api';
import { agentEvent } from '../journal/events.ts';
import { timestamp } from '../platform/clock.ts';
import type { Failure } from '../platform/failures.ts';
import { plainStart } from '../platform/plain-text.ts';
import type { Runtime } from './runtime.ts';

/** The outcome of a command: the result to report, and the terminal failure if there was one. */
export interface CommandEnd {
  result: CommandResult;
  events: AgentEvent[];
  failure: Failure | null;
}

/** Nothing was started; the event says why. `named` is how the reason begins. */
export function refuse(
  { nowMs }: Pick<Runtime, 'nowMs'>,
  check: string,
  detail: string,
  named: string = check,
): CommandEnd {
  const event = agentEvent('COMMAND_REFUSED', detail, { nowMs: nowMs(), details: { check } });
  return { result: { status: 'refused', reason: `${named}: ${detail}` }, events: [event], failure: null };
}

/** It was tried, and could not be carried out. */
export function fail({ nowMs }: Pick<Runtime, 'nowMs'>, reason: string, failure: Failure | null): CommandEnd {
  const at = timestamp(nowMs());
  const isTerminal = failure?.kind === 'terminal' || failure?.kind === 'storage';
  return {
    result: { status: 'failed', reason: plainStart(reason, 4_000), started_at: at, finished_at: at },
    events: [],
    failure: isTerminal ? failure : null,
  };
}
