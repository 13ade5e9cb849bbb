import { createReadStream, existsSync, statSync } from 'node:fs';
import { type IncomingMessage, request, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { type Loopback, listenOnLoopback } from '@tidegate/testkit/loopback';

/** The address of a server in front of which a folder of agents is served below /agents/. */
export function startAgentsDoor(serverUrl: string, folder: string): Promise<Loopback> {
  return listenOnLoopback((asked, response) => {
    const { pathname } = new URL(asked.url ?? '/', 'http://loopback');
    if (pathname.startsWith('/agents/')) sendFile(join(folder, pathname.slice('/agents/'.length)), response);
    else forward(serverUrl, asked, response);
  });
}

function sendFile(path: string, response: ServerResponse): void {
  if (!existsSync(path)) {
    response.writeHead(404).end();
    return;
  }
  const { size } = statSync(path);
  response.writeHead(200, { 'content-length': size });
  createReadStream(path)
    .on('error', () => response.destroy())
    .pipe(response);
}

function forward(serverUrl: string, asked: IncomingMessage, response: ServerResponse): void {
  const { method, headers, url = '/' } = asked;
  const sent = request(`${serverUrl}${url}`, { method, headers, agent: false }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  sent.on('error', () => response.destroy());
  asked.pipe(sent);
}
