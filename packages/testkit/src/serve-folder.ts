import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { type Loopback, listenOnLoopback } from './loopback.ts';

/**
 * Serves the files below `folder` over loopback http and notes each path that was asked for in `fetched`. A file is
 * sent once `untilSent` has ended.
 */
export function serveFolder(
  folder: string,
  fetched: string[],
  untilSent: (path: string) => Promise<void> = async () => {},
): Promise<Loopback> {
  return listenOnLoopback((request, response) => {
    // Parsing the address resolves `..`, also in its encoded form, so that nothing above the folder can be named.
    const path = decodeURIComponent(new URL(request.url ?? '/', 'http://loopback').pathname);
    fetched.push(path);
    untilSent(path)
      .then(() => sendFile(join(folder, path), response))
      .catch(() => response.destroy());
  });
}

async function sendFile(file: string, response: ServerResponse): Promise<void> {
  const found = await stat(file).catch(() => null);
  if (found === null || !found.isFile()) {
    response.writeHead(404).end();
    return;
  }
  response.writeHead(200, { 'content-length': found.size, 'last-modified': found.mtime.toUTCString() });
  await pipeline(createReadStream(file), response);
}
