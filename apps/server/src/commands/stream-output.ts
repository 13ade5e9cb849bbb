import { setTimeout as pause } from 'node:timers/promises';
import { CommandStatus } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import type { Database } from '../platform/db/engine.ts';
import { isFinished } from './command-rules.ts';
import { readOutput } from './output.ts';
import { findCommand } from './store.ts';

/** Poll interval of a viewer, in milliseconds. */
const LOOK_EVERY_MS = 1_000;
/** The session of the viewer is looked at once in so many looks. */
const LIVE_LOOKS = 10;
/** Maximum lifetime of a stream; the browser reconnects automatically, from where it stopped. */
const STREAM_LOOKS = 600;

/**
 * Streams a command's output as server-sent events until the command has ended; `end` has its outcome. Ends without one
 * when the viewer's session does.
 */
export async function* streamOutput(
  database: Database,
  args: {
    commandId: string;
    afterSeq: number;
    signal: AbortSignal;
    isLive: () => Promise<boolean>;
    /** LOOK_EVERY_MS unless a test says otherwise. */
    lookEveryMs?: number | undefined;
  },
): AsyncGenerator<string> {
  const { commandId, signal, isLive, lookEveryMs = LOOK_EVERY_MS } = args;
  let { afterSeq } = args;
  for (let look = 0; look < STREAM_LOOKS && !signal.aborted; look++) {
    if (look % LIVE_LOOKS === LIVE_LOOKS - 1 && !(await isLive())) return;
    // The status first: the output of a finished command is complete when it is read afterwards.
    const command = await findCommand(database.read, commandId);
    if (!command) return;
    const pieces = await readOutput(database.read, { commandId, afterSeq });
    for (const piece of pieces) {
      afterSeq = piece.seq;
      yield `id: ${piece.seq}\nevent: output\ndata: ${JSON.stringify(piece)}\n\n`;
    }
    if (pieces.length > 0) continue;
    if (isFinished(Value.Parse(CommandStatus, command.status))) {
      yield `event: end\ndata: ${JSON.stringify({ status: command.status })}\n\n`;
      return;
    }
    yield ': waiting\n\n';
    await pause(lookEveryMs, undefined, { signal }).catch(() => {});
  }
}
