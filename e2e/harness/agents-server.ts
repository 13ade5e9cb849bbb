import { request as forward } from 'node:http';
import { type Loopback, listenOnLoopback } from '@tidegate/testkit/loopback';

/** A server with `/agents` of its own in front of another, which has everything else. */
export function serveAgentsBefore(server: string, agents: string): Promise<Loopback> {
  return listenOnLoopback((request, response) => {
    const { pathname, search } = new URL(request.url ?? '/', 'http://loopback');
    const base = pathname.startsWith('/agents/') ? agents : server;
    const { method, headers } = request;
    const onward = forward(`${base}${pathname}${search}`, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    request.pipe(onward);
  });
}
