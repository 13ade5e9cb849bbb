import type { SaveOutcome } from '../identity/config-file.ts';
import { agentEvent } from './events.ts';
import type { Journal } from './journal.ts';

/**
 * T3: if another machine last used config.json and journal, they were copied here or this machine's id has
 * changed. The server refuses the agent until an operator rebinds it; the event tells the operator the cause.
 */
export function detectMachineChange(
  journal: Pick<Journal, 'recordMachine' | 'queueEvent'>,
  { sha256, nowMs }: { sha256: string; nowMs: number },
): SaveOutcome {
  const { before, saved } = journal.recordMachine(sha256);
  if (!saved.ok || before === null || before === sha256) return saved;
  const text =
    'The files of this agent were last used on another machine, or the id of this machine has changed since.';
  const details = { check: 'machine_changed', machine_sha256: sha256, last_machine_sha256: before };
  return journal.queueEvent(agentEvent('CLONE_SUSPECTED', text, { nowMs, details }));
}
