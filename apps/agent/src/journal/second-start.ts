import { rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { ConfigFile, SaveOutcome } from '../identity/config-file.ts';
import { errorCode } from '../platform/file-layer.ts';
import { agentEvent } from './events.ts';
import type { Journal } from './journal.ts';

const MARK = 'second-start';

/**
 * Leaves a mark for the process that holds the lock of this folder. A second process must not contact the server:
 * it would use, and on renewal spend, the first one's tokens (section 5). Returns whether the mark was written.
 */
export function leaveSecondStartMark(folder: string): boolean {
  try {
    writeFileSync(join(folder, MARK), '', { mode: 0o600, flag: 'wx' });
    return true;
  } catch (error) {
    return errorCode(error) === 'EEXIST';
  }
}

/** Turns the mark into one event, however many second starts there were. */
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
