import type { RequestListener } from 'node:http';
import { createServer } from 'node:https';
import type { TestPair } from './certificates.ts';
import { openOnLoopback } from './loopback.ts';

/** Listens on 127.0.0.1 with TLS. */
export function listenWithTls(pair: TestPair, listener: RequestListener) {
  return openOnLoopback(createServer(pair, listener));
}
