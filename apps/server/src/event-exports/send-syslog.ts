import { type ConnectionOptions, connect, type TLSSocket } from 'node:tls';
import type { EventRow } from '../events/store.ts';
import type { ExportTargets } from './read-targets.ts';
import type { Sent } from './run-exporter.ts';
import { framed, type SyslogSource, syslogMessage } from './syslog-rules.ts';

/** Longest time for a batch, from the connection to the receiver's end of it, in milliseconds. */
const SEND_TIMEOUT_MS = 30_000;

/**
 * Sends a batch over a TLS connection of its own (RFC 5425). Syslog has no acknowledgement: the batch counts as sent once
 * the receiver has ended the connection after us without an error, which it does when it has read everything.
 */
export function createSyslogSender(target: NonNullable<ExportTargets['syslog']>, source: SyslogSource) {
  const options: ConnectionOptions = {
    host: target.host,
    port: target.port,
    minVersion: 'TLSv1.2',
    ...(target.ca !== null && { ca: target.ca }),
    ...(target.client ?? {}),
  };
  return async (events: readonly EventRow[], signal: AbortSignal): Promise<Sent> => {
    const { promise, resolve } = Promise.withResolvers<Sent>();
    const fail = (reason: string) => resolve({ kind: 'failed', reason });
    const socket: TLSSocket = connect(options);
    const stop = () => socket.destroy(new Error('the server stops'));
    signal.addEventListener('abort', stop);
    let isEnded = false;
    socket.setTimeout(SEND_TIMEOUT_MS, () => socket.destroy(new Error('the receiver does not answer')));
    socket.once('secureConnect', () => {
      socket.end(events.map((event) => framed(syslogMessage(event, source))).join(''));
    });
    // Receivers send nothing; what one sends all the same must not keep its end from being seen.
    socket.on('data', () => {});
    socket.once('end', () => {
      isEnded = socket.writableFinished;
    });
    socket.once('error', (error) => fail(reasonOf(error)));
    socket.once('close', () => {
      if (isEnded) resolve({ kind: 'sent' });
      else fail('the receiver closed the connection before it had read everything');
    });
    try {
      return await promise;
    } finally {
      signal.removeEventListener('abort', stop);
      socket.destroy();
    }
  };
}

function reasonOf(error: Error): string {
  const code = 'code' in error && typeof error.code === 'string' ? `${error.code}: ` : '';
  return `${code}${error.message}`;
}
