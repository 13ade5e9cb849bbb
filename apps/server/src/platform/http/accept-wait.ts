import { connect, type Server, type Socket } from 'node:net';

/** How long new connections wait in the kernel's queue, before this process knows of them. */
export interface AcceptWait {
  watch(server: Server): void;
  /** Whether they wait too long; where that is not known yet, it begins to measure. */
  isLong(): boolean;
}

/** With a wait of this, and the time for the answer on top, a page still opens within half a second. */
export const LONG_WAIT_MS = 250;
/** A long wait counts for so long. */
export const HELD_MS = 1_000;
const PAUSE_MS = 100;

/**
 * Measures the wait with a connection to its own server, one at a time: nothing else tells how many connections are queued.
 */
export function createAcceptWait(elapsedMs: () => number): AcceptWait {
  let target: Server | null = null;
  let probe: { socket: Socket; sinceMs: number } | null = null;
  let longUntilMs = Number.NEGATIVE_INFINITY;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;

  function begin(): void {
    const address = target?.address();
    if (!address || typeof address === 'string') return;
    const socket = connect({ port: address.port, host: reachable(address.address) });
    probe = { socket, sinceMs: elapsedMs() };
    // Refused, or dropped at the bound of connections: that says nothing about the queue.
    socket.on('error', () => {});
    socket.once('close', () => {
      if (probe?.socket === socket) end();
    });
  }

  function end(): void {
    probe?.socket.destroy();
    probe = null;
    pausedUntilMs = elapsedMs() + PAUSE_MS;
  }

  return {
    watch(server) {
      target = server;
      server.on('connection', (accepted: Socket) => {
        if (probe === null || accepted.remotePort !== probe.socket.localPort) return;
        const nowMs = elapsedMs();
        if (nowMs - probe.sinceMs > LONG_WAIT_MS) longUntilMs = nowMs + HELD_MS;
        end();
      });
    },
    isLong() {
      const nowMs = elapsedMs();
      if (probe === null && nowMs >= pausedUntilMs) begin();
      return nowMs < longUntilMs || (probe !== null && nowMs - probe.sinceMs > LONG_WAIT_MS);
    },
  };
}

function reachable(host: string): string {
  if (host === '0.0.0.0') return '127.0.0.1';
  return host === '::' ? '::1' : host;
}
