import { connect, type Socket } from 'node:net';

export interface LoadResult {
  requests: number;
  seconds: number;
  perSecond: number;
  p50Ms: number;
  p99Ms: number;
  /** Answers other than 200, by status: a run of refused requests must not look like a fast one. */
  refused: Record<string, number>;
}

export interface Load {
  url: string;
  connections: number;
  seconds: number;
  /** Complete HTTP/1.1 requests, sent in turn, or a function that returns the next one, null when there is none. */
  requests: readonly Buffer[] | (() => Turn | null);
  /** Stops after so many requests, or when the time is over. */
  maxRequests?: number;
}

/** One request, and optionally a function that reads its answer. */
export interface Turn {
  request: Buffer;
  /** The complete answer with its header. */
  onAnswer?: (answer: Buffer) => void;
}

/** Bytes of the answer before a connection was closed, for people: a refusal says why. */
const LAST_MAX = 600;

/** Sends requests over keep-alive connections, one at a time on each, as fast as the answers come. */
export async function runLoad(load: Load): Promise<LoadResult> {
  const { hostname, port } = new URL(load.url);
  const latenciesMs: number[] = [];
  const refused: Record<string, number> = {};
  const startMs = performance.now();
  const endMs = startMs + load.seconds * 1_000;
  let next = 0;
  const { requests: source } = load;
  const take = (): Turn | null => {
    if (next >= (load.maxRequests ?? Number.POSITIVE_INFINITY)) return null;
    const turn = next++;
    if (typeof source === 'function') return source();
    const request = source[turn % source.length];
    return request === undefined ? null : { request };
  };
  const isOver = () => performance.now() >= endMs;
  await Promise.all(
    Array.from({ length: load.connections }, () =>
      runConnection(connect({ host: hostname, port: Number(port), noDelay: true }), {
        take,
        isOver,
        onAnswer(status, ms) {
          latenciesMs.push(ms);
          if (status !== '200') refused[status] = (refused[status] ?? 0) + 1;
        },
      }),
    ),
  );
  const seconds = (performance.now() - startMs) / 1_000;
  const sorted = Float64Array.from(latenciesMs).sort();
  const at = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
  const requests = sorted.length;
  return { requests, seconds, perSecond: requests / seconds, p50Ms: at(0.5), p99Ms: at(0.99), refused };
}

interface Turns {
  take: () => Turn | null;
  isOver: () => boolean;
  onAnswer: (status: string, ms: number) => void;
}

function runConnection(socket: Socket, { take, isOver, onAnswer }: Turns): Promise<void> {
  return new Promise((resolve, reject) => {
    let sentMs = 0;
    let pending: Buffer | null = null;
    let isDone = false;
    let turn: Turn | null = null;
    let last: Buffer | null = null;
    function send(): void {
      turn = isOver() ? null : take();
      if (turn === null) {
        isDone = true;
        socket.destroy();
        return;
      }
      sentMs = performance.now();
      socket.write(turn.request);
    }
    socket.once('connect', send);
    socket.once('error', reject);
    socket.once('close', () => {
      const before = last === null ? 'without an answer' : `after "${last.toString('latin1', 0, LAST_MAX)}"`;
      if (isDone) resolve();
      else reject(new Error(`the server closed a connection ${before}`));
    });
    socket.on('data', (chunk: Buffer) => {
      const bytes = pending ? Buffer.concat([pending, chunk]) : chunk;
      const length = answerLength(bytes);
      if (length === null || bytes.length < length) {
        pending = bytes;
        return;
      }
      pending = null;
      last = bytes;
      onAnswer(bytes.toString('latin1', 9, 12), performance.now() - sentMs);
      turn?.onAnswer?.(bytes);
      send();
    });
  });
}

/** Length of the answer in bytes with its header; null while the header is not complete. */
export function answerLength(bytes: Buffer): number | null {
  const headerEnd = bytes.indexOf('\r\n\r\n');
  if (headerEnd < 0) return null;
  const header = bytes.toString('latin1', 0, headerEnd).toLowerCase();
  const at = header.indexOf('content-length: ');
  if (at < 0) throw new Error(`an answer without a length: ${header.slice(0, 200)}`);
  return headerEnd + 4 + Number.parseInt(header.slice(at + 16), 10);
}
