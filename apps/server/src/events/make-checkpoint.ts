import { CHECKPOINT_TYPE, type CheckpointPayload, type Envelope } from '@tidegate/protocol/documents';
import { rfc3339Seconds } from '../platform/clock.ts';
import type { Platform } from '../platform/platform.ts';
import type { CheckpointFile } from './checkpoint-file.ts';
import { checkpointIsDue } from './checkpoint-rules.ts';
import { type CheckpointRow, insertCheckpoint, newestCheckpoint, readHead } from './store.ts';

/** Signs checkpoints: the part of the key ring that this slice uses. */
export interface CheckpointSigner {
  readonly fleetId: string;
  epoch(): number;
  signer(): { sign(payloadType: string, bytes: Uint8Array): Envelope };
}

export interface CheckpointDeps {
  platform: Platform;
  signer: CheckpointSigner;
  file: CheckpointFile;
}

export type CheckpointOutcome =
  | { kind: 'made'; row: CheckpointRow }
  | { kind: 'not_due' }
  /** The log ends before its own newest checkpoint. */
  | { kind: 'truncated'; head: number; checkpoint: number };

/** Signs the head of the log when due, or `always` if no checkpoint names it; file first, then table. */
export async function makeCheckpoint(
  { platform, signer, file }: CheckpointDeps,
  when: 'due' | 'always',
): Promise<CheckpointOutcome> {
  const { database } = platform;
  const newest = await newestCheckpoint(database.read);
  const head = await readHead(database.read);
  const epoch = signer.epoch();
  if (newest && newest.position > (head?.position ?? 0)) {
    return { kind: 'truncated', head: head?.position ?? 0, checkpoint: newest.position };
  }
  if (head === null || head.position === newest?.position) return { kind: 'not_due' };
  const now = platform.now();
  if (when === 'due' && !checkpointIsDue({ head, newest, epoch, nowMs: now })) return { kind: 'not_due' };
  const payload: CheckpointPayload = {
    v: 1,
    fleet_id: signer.fleetId,
    epoch,
    position: head.position,
    hash: head.hash,
    created_at: rfc3339Seconds(now),
  };
  const signed = signer.signer().sign(CHECKPOINT_TYPE, Buffer.from(JSON.stringify(payload)));
  const row: CheckpointRow = { ...head, epoch, envelope: JSON.stringify(signed), created_at: now };
  file.append(row.envelope);
  await database.transact((tx) => insertCheckpoint(tx, row));
  return { kind: 'made', row };
}
