import { type CommandOutput, OUTPUT_MAX_CHARS, OUTPUT_MAX_PIECES } from '@tidegate/protocol/agent-api';
import type { Db, Tx } from '../platform/db/engine.ts';

/** Pieces that a viewer reads at a time. */
const READ_PIECES = 200;

export interface OutputPiece {
  seq: number;
  stream: string;
  data: string;
}

/** Stores a piece of output; ignores a repeated `seq` and everything past the limits. */
export async function keepOutput(
  tx: Tx,
  { commandId, output, nowMs }: { commandId: string; output: CommandOutput; nowMs: number },
): Promise<void> {
  const kept = await tx
    .selectFrom('command_output')
    .select(({ fn }) => [
      fn.countAll<number>().as('pieces'),
      fn.sum<number | null>(fn<number>('length', ['data'])).as('chars'),
    ])
    .where('command_id', '=', commandId)
    .executeTakeFirstOrThrow();
  if (Number(kept.pieces) >= OUTPUT_MAX_PIECES) return;
  if (Number(kept.chars ?? 0) + output.data.length > OUTPUT_MAX_CHARS) return;
  await tx
    .insertInto('command_output')
    .values({ command_id: commandId, ...output, received_at: nowMs })
    .onConflict((conflict) => conflict.columns(['command_id', 'seq']).doNothing())
    .execute();
}

export async function readOutput(
  db: Db,
  { commandId, afterSeq }: { commandId: string; afterSeq: number },
): Promise<OutputPiece[]> {
  return db
    .selectFrom('command_output')
    .select(['seq', 'stream', 'data'])
    .where('command_id', '=', commandId)
    .where('seq', '>', afterSeq)
    .orderBy('seq')
    .limit(READ_PIECES)
    .execute();
}
