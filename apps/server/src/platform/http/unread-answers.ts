import type { Socket } from 'node:net';

/** A client that takes nothing of what was written for it for so long is disconnected, in milliseconds. */
const STALL_MS = 30_000;
/** What is written in one piece counts as taken when all of it is: it may take as long as at this rate besides. */
const SLOWEST_BYTES_PER_MS = 4;
/** Between two looks, in milliseconds. */
export const LOOK_EVERY_MS = 5_000;

/** What a client with unread bytes had taken, and for how many looks. Looks and not time: the server may have stood still. */
export interface Unread {
  readonly takenBytes: number;
  readonly looks: number;
}

/** What a look finds: `null` nothing is unread, `stalled` the client has taken nothing for too long. */
export function unreadBy(
  before: Unread | null,
  { bytesWritten, writableLength: unreadBytes }: Pick<Socket, 'bytesWritten' | 'writableLength'>,
): Unread | 'stalled' | null {
  if (unreadBytes === 0) return null;
  const takenBytes = bytesWritten - unreadBytes;
  const looks = before?.takenBytes === takenBytes ? before.looks + 1 : 0;
  return looks * LOOK_EVERY_MS > STALL_MS + unreadBytes / SLOWEST_BYTES_PER_MS
    ? 'stalled'
    : { takenBytes, looks };
}
