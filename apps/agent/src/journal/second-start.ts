import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ConfigFile, SaveOutcome } from '../identity/config-file.ts';
import { errorCode } from '../platform/file-layer.ts';
import { agentEvent } from './events.ts';
import type { Journal } from './journal.ts';

const MARK = 'second-start';

/**
 * Leaves word for the process that holds the lock of this folder. The one that found it held must not speak to the
 * server: it would use, and with a renewal spend, the tokens of the other (section 5). Returns whether it was left.
 */
export function leaveSecondStartMark(folder: string): boolean {
  try {
    writeFileSync(join(folder, MARK), '', { mode: 0o600, flag: 'wx' });
    return true;
  } catch (error) {
    return errorCode(error) === 'EEXIST';
  }
}

/** Turns the mark into an event, once for however many starts there were since the last one. */
export function noteSecondStart({
  config,
  journal,
  nowMs,
}: {
  config: ConfigFile;
  journal: Pick<Journal, 'queueEvent'>;
  nowMs: () => number;
}): SaveOutcome {
  try {
    rmSync(join(dirname(config.path), MARK));
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { ok: true };
    return { ok: false, detail: `the mark of a second start cannot be removed (${errorCode(error)})` };
  }
  const text = 'A second agent process was started on this configuration; it ended without doing anything.';
  const details = { check: 'second_process' };
  return journal.queueEvent(agentEvent('AGENT_ERROR', text, { nowMs: nowMs(), details }));
}
