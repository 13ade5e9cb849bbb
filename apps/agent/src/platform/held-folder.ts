import { closeSync, constants, openSync } from 'node:fs';
import { join } from 'node:path';
import { errorCode } from './file-layer.ts';

/** O_NONBLOCK: a FIFO in the place of the folder would block the open before it is refused. */
const OPEN_FOLDER =
  constants.O_RDONLY |
  (constants.O_DIRECTORY ?? 0) |
  (constants.O_NOFOLLOW ?? 0) |
  (constants.O_NONBLOCK ?? 0);

/** A folder by descriptor: others who can write its parents cannot replace it while it is used. */
export interface HeldFolder {
  readonly fd: number;
  /** The folder itself by its descriptor. Where the system has no such paths (macOS), the path it was opened by. */
  readonly here: string;
  at(name: string): string;
  close(): void;
}

export type HoldOutcome = { ok: true; folder: HeldFolder } | { ok: false; code: string };

/** Opens a folder, not through a link. The caller closes it. */
export function holdFolder(path: string): HoldOutcome {
  try {
    const fd = openSync(path, OPEN_FOLDER);
    const here = process.platform === 'linux' ? `/proc/self/fd/${fd}` : path;
    return {
      ok: true,
      folder: { fd, here, at: (name) => join(here, name), close: () => closeSync(fd) },
    };
  } catch (error) {
    return { ok: false, code: errorCode(error) };
  }
}
