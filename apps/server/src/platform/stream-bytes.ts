import { type Dispatcher, request } from 'undici';

export interface ByteStream {
  readonly url: string;
  readonly accept: string;
  /** Largest answer, in bytes: reading stops there and the answer counts as garbage. */
  readonly maxBytes: number;
  /** For the whole answer, and for the pause between two pieces, in milliseconds. */
  readonly timeoutMs: number;
  readonly silenceMs: number;
  readonly dispatcher: Dispatcher;
  readonly signal: AbortSignal;
  /** Called once, before the first piece: the declared length of the answer; null without one. */
  readonly onLength?: (bytes: number | null) => void;
  /** Gets the answer piece by piece; returns false to stop. The next piece waits for it. */
  readonly take: (piece: Buffer) => boolean | Promise<boolean>;
}

export type ByteOutcome =
  | { readonly kind: 'read' | 'stopped' | 'absent' }
  | { readonly kind: 'unreachable' | 'garbage'; readonly cause: string };

/**
 * A GET for an answer that is too large to hold. Redirects are not followed, nothing is retried, and an
 * answer compressed in transit or shorter than declared is rejected. Errors of `take` go to the caller.
 */
export async function streamBytes(call: ByteStream): Promise<ByteOutcome> {
  const timeout = AbortSignal.timeout(call.timeoutMs);
  const pieces = await open(call, timeout);
  if ('kind' in pieces) return pieces;
  let bytes = 0;
  for (;;) {
    const next = await pieces.next();
    if ('kind' in next) return next;
    if (next.piece === null) return { kind: 'read' };
    bytes += next.piece.length;
    if (bytes > call.maxBytes) {
      await pieces.leave();
      return { kind: 'garbage', cause: `more than ${call.maxBytes} bytes` };
    }
    if (!(await call.take(next.piece))) {
      await pieces.leave();
      return { kind: 'stopped' };
    }
  }
}

type Fault = Extract<ByteOutcome, { cause: string }> | { readonly kind: 'absent' };

interface Pieces {
  next(): Promise<{ piece: Buffer | null } | Fault>;
  leave(): Promise<void>;
}

async function open(call: ByteStream, timeout: AbortSignal): Promise<Pieces | Fault> {
  try {
    const { statusCode, headers, body } = await request(call.url, {
      headers: { accept: call.accept, 'accept-encoding': 'identity' },
      dispatcher: call.dispatcher,
      signal: AbortSignal.any([timeout, call.signal]),
      headersTimeout: call.silenceMs,
      bodyTimeout: call.silenceMs,
    });
    const isCompressed = (headers['content-encoding'] ?? 'identity') !== 'identity';
    if (statusCode !== 200 || isCompressed) {
      body.on('error', () => {}).destroy();
      return isCompressed ? { kind: 'garbage', cause: 'compressed' } : refusal(statusCode);
    }
    const length = headers['content-length'];
    call.onLength?.(typeof length === 'string' && /^\d{1,15}$/.test(length) ? Number(length) : null);
    const iterator = body[Symbol.asyncIterator]();
    return {
      async next() {
        try {
          const { done, value } = await iterator.next();
          return { piece: done ? null : value };
        } catch (error) {
          return faultOf(error, timeout);
        }
      },
      leave: async () => void (await iterator.return?.()),
    };
  } catch (error) {
    return faultOf(error, timeout);
  }
}

function refusal(statusCode: number): Fault {
  if (statusCode === 404) return { kind: 'absent' };
  const cause = `status ${statusCode}`;
  return { kind: statusCode === 429 || statusCode >= 500 ? 'unreachable' : 'garbage', cause };
}

function faultOf(error: unknown, timeout: AbortSignal): Fault {
  if (timeout.aborted) return { kind: 'unreachable', cause: 'timeout' };
  if (!(error instanceof Error)) return { kind: 'unreachable', cause: String(error) };
  const cause = 'code' in error && typeof error.code === 'string' ? error.code : error.name;
  return { kind: 'unreachable', cause };
}
