import { PROBLEM_MEDIA_TYPE, PROBLEM_STATUS, type ProblemCode } from '@tidegate/protocol/problems';
import { type Loopback, listenOnLoopback, readBody } from '@tidegate/testkit/loopback';

export interface Seen {
  method: string;
  path: string;
  headers: Readonly<Record<string, string | string[] | undefined>>;
  body: string;
}

export interface Reply {
  status: number;
  headers?: Record<string, string>;
  body: string;
}

/** A server that says what a test tells it to; 'hang up' ends the connection without an answer. */
export interface ScriptedServer extends Loopback {
  readonly seen: Seen[];
}

export async function startServer(
  answer: (request: Seen) => Reply | 'hang up' | Promise<Reply | 'hang up'>,
): Promise<ScriptedServer> {
  const seen: Seen[] = [];
  const loopback = await listenOnLoopback(async (request, response) => {
    const body = (await readBody(request, 16 * 1024 * 1024)) ?? '';
    const call = { method: request.method ?? '', path: request.url ?? '', headers: request.headers, body };
    seen.push(call);
    const reply = await answer(call);
    if (reply === 'hang up') request.socket.destroy();
    else response.writeHead(reply.status, reply.headers).end(reply.body);
  });
  return { ...loopback, seen };
}

export function json(body: unknown, status = 200): Reply {
  return {
    status,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: JSON.stringify(body),
  };
}

export function problem(code: ProblemCode, headers: Record<string, string> = {}): Reply {
  const status = PROBLEM_STATUS[code];
  const body = {
    type: 'about:blank',
    title: code,
    status,
    code,
    detail: `detail of ${code}`,
    request_id: 'r',
  };
  return { status, headers: { 'content-type': PROBLEM_MEDIA_TYPE, ...headers }, body: JSON.stringify(body) };
}

/** What a captive portal or a proxy says. */
export function html(status: number): Reply {
  return { status, headers: { 'content-type': 'text/html' }, body: '<html>Please log in</html>' };
}
