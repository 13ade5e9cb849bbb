import { readFileSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import type { Server } from 'node:net';

/** Shares of the process's limit of open files: beyond the first, a connection ends with its answer; the second is the end. */
const KEPT_SHARE = 0.8;
const MOST_SHARE = 0.9;

export interface OpenConnections {
  /** Counts the connections of a server, which takes no more than fit. */
  watch(server: Server): void;
  /** Lets the connection end with this answer if the server stops soon, or has too many to keep idle ones. */
  endIfCrowded(response: ServerResponse): void;
}

/**
 * Bounds the connections that hosts keep between their check-ins, so that files and the database can always be opened.
 * `filesMax` null bounds nothing. `onCrowded` is told at each answer that ends a connection.
 */
export function createOpenConnections(options: {
  filesMax: number | null;
  onCrowded: (open: number) => void;
  /** Whether each connection is to end with its answer; absent: none is. */
  isDraining?: () => boolean;
}): OpenConnections {
  const filesMax = options.filesMax ?? Number.POSITIVE_INFINITY;
  const keptMax = Math.floor(filesMax * KEPT_SHARE);
  let open = 0;
  return {
    watch(server) {
      if (filesMax !== Number.POSITIVE_INFINITY) server.maxConnections = Math.floor(filesMax * MOST_SHARE);
      server.on('connection', (socket) => {
        open++;
        socket.once('close', () => {
          open--;
        });
      });
    },
    endIfCrowded(response) {
      if (options.isDraining?.()) response.shouldKeepAlive = false;
      if (open <= keptMax) return;
      response.shouldKeepAlive = false;
      options.onCrowded(open);
    },
  };
}

/** The limit of open files of this process; null where the system does not tell. */
export function openFilesMax(): number | null {
  try {
    const soft = /^Max open files\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1];
    return soft === undefined ? null : Number(soft);
  } catch {
    return null;
  }
}
