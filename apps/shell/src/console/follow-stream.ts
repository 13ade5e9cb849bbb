import { setTimeout as pause } from 'node:timers/promises';
import type { ApiPath } from './api-path.ts';
import { createStreamReader, type StreamMessage } from './event-stream.ts';
import type { ServerConnection } from './server-connection.ts';

const RETRY_MS = 3_000;
const RETRY_MAX_MS = 60_000;

export interface StreamListener {
  open(): void;
  message(message: StreamMessage): void;
  /** The stream broke and will be reopened. */
  lost(): void;
  /** The response was not a stream, so it is not reopened. */
  closed(status: number): void;
}

/** Follows a stream of the server until the signal aborts; after a break it resumes where it left off. */
export async function followStream(
  connection: Pick<ServerConnection, 'open'>,
  path: ApiPath,
  listener: StreamListener,
  signal: AbortSignal,
): Promise<void> {
  const reader = createStreamReader();
  while (!signal.aborted) {
    try {
      const id = reader.lastId();
      const headers = { accept: 'text/event-stream', ...(id === '' ? {} : { 'last-event-id': id }) };
      const response = await connection.open(path, headers, signal);
      const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true;
      if (!response.ok || !isStream) {
        await response.body?.cancel();
        return listener.closed(response.status);
      }
      listener.open();
      const decoder = new TextDecoder();
      for await (const chunk of response.body ?? [])
        for (const message of reader.take(decoder.decode(chunk, { stream: true }))) listener.message(message);
    } catch {
      // A stream that is lost for any reason is reopened, unless the caller has ended it.
    }
    if (signal.aborted) return;
    listener.lost();
    await pause(Math.min(reader.retryMs() ?? RETRY_MS, RETRY_MAX_MS), undefined, { signal }).catch(() => {});
  }
}
