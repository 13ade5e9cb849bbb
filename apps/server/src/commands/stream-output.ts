import { setTimeout as pause } from 'node:timers/promises';
import { CommandStatus } from '@tidegate/protocol/states';
import { Value } from 'typebox/value';
import type { Database } from '../platform/db/engine.ts';
import { isFinished } from './command-rules.ts';
import { readOutput } from './output.ts';
import { findCommand } from './store.ts';

/** Poll interval of a viewer, in milliseconds. */
const LOOK_EVERY_MS = 1_000;
/** Maximum lifetime of a stream; the browser reconnects automatically, from where it stopped. */
const STREAM_LOOKS = 600;

/** Streams a command's output as server-sent events until the command has ended; `end` has its outcome. */
export async function* streamOutput(
  database: Database,
  args: { commandId: string; afterSeq: number; signal: AbortSignal },
): AsyncGenerator<string> {
  const { commandId, signal } = args;
  let { afterSeq } = args;
  for (let look = 0; look < STREAM_LOOKS && !signal.aborted; look++) {
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
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => {});
  }
}
