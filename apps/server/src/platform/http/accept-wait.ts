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
/** Connections for each process on the port: the kernel gives each of them to any process, and all but never none to this one. */
const PROBES_PER_PROCESS = 4;

/**
 * Measures the wait with a connection to its own server, one at a time: nothing else tells how many connections are queued.
 * With other processes on the port it opens several.
 */
export function createAcceptWait(elapsedMs: () => number, processes = 1): AcceptWait {
  const probes = processes === 1 ? 1 : processes * PROBES_PER_PROCESS;
  let target: Server | null = null;
  let probe: { sockets: readonly Socket[]; sinceMs: number } | null = null;
  let longUntilMs = Number.NEGATIVE_INFINITY;
  let pausedUntilMs = Number.NEGATIVE_INFINITY;

  function begin(): void {
    const address = target?.address();
    if (!address || typeof address === 'string') return;
    const at = { port: address.port, host: reachable(address.address) };
    const sockets = Array.from({ length: probes }, () => connect(at));
    probe = { sockets, sinceMs: elapsedMs() };
    let closed = 0;
    for (const socket of sockets) {
      // Refused, or dropped at the bound of connections: that says nothing about the queue.
      socket.on('error', () => {});
      socket.once('close', () => {
        closed++;
        if (probe?.sockets === sockets && closed === probes) end();
      });
    }
  }

  function end(): void {
    const ended = probe;
    probe = null;
    for (const socket of ended?.sockets ?? []) socket.destroy();
    pausedUntilMs = elapsedMs() + PAUSE_MS;
  }

  return {
    watch(server) {
      target = server;
      server.on('connection', (accepted: Socket) => {
        if (!probe?.sockets.some(({ localPort }) => localPort === accepted.remotePort)) return;
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
