import type { IncomingMessage, ServerResponse } from 'node:http';

/**
 * The failure modes that every fake server supports.
 * - `down`: the connection is closed without an answer; `failing`: 503; `hang`: no answer ever
 * - `garbage`: 200 and a page that is none of its answers, as captive portals send
 */
const FAULTS = ['down', 'failing', 'hang', 'garbage'] as const;
export type Fault = (typeof FAULTS)[number];

export function isFault(mode: string): mode is Fault {
  return FAULTS.some((fault) => fault === mode);
}

/** Answers, or does not, as such a server does. */
export function answerFaultily(fault: Fault, request: IncomingMessage, response: ServerResponse): void {
  switch (fault) {
    case 'down':
      request.socket.destroy();
      return;
    case 'failing':
      response.writeHead(503).end();
      return;
    case 'hang':
      return;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html><title>Sign in</title></html>');
  }
}
