import { readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';
import type { Serve, ServedFile } from '../backend.ts';

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** The server's policy without any frames, in which foreign content could appear. */
export const CONTENT_SECURITY_POLICY = [
  "default-src 'self'",
  "script-src 'self'",
  "img-src 'self' data:",
  ...["object-src 'none'", "frame-src 'none'", "child-src 'none'", "worker-src 'none'"],
  ...["base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'"],
].join('; ');

const HEADERS = {
  'content-security-policy': CONTENT_SECURITY_POLICY,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-opener-policy': 'same-origin',
  'cache-control': 'no-store',
};

export type Console = { ok: true; serve: Serve } | { ok: false; detail: string };

/** Serves the built console from memory: no path that a page requests reaches the disk. */
export function readConsole(folder: string): Console {
  const files = readFiles(folder);
  const document = files.get('/index.html');
  if (document === undefined)
    return {
      ok: false,
      detail: `The console is not built: there is no ${join(folder, 'index.html')}. Run "npm run build".`,
    };
  return {
    ok: true,
    async serve(pathAndQuery) {
      const { pathname } = new URL(pathAndQuery, 'https://shell.invalid');
      const file = files.get(pathname);
      if (file) return file;
      // All pages of the console are one document, which shows the page of its address.
      const isPage = !pathname.startsWith('/api/') && extname(pathname) === '';
      return isPage
        ? document
        : answer(404, '.html', Buffer.from('<!doctype html><title>Not here</title>Not here.'));
    },
  };
}

function readFiles(folder: string): Map<string, ServedFile> {
  const files = new Map<string, ServedFile>();
  for (const entry of listOf(folder)) {
    const extension = extname(entry.name);
    if (!entry.isFile() || !Object.hasOwn(TYPES, extension)) continue;
    const file = join(entry.parentPath, entry.name);
    files.set(`/${relative(folder, file).split(sep).join('/')}`, answer(200, extension, readFileSync(file)));
  }
  return files;
}

function listOf(folder: string) {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true });
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return [];
    throw error;
  }
}

function answer(status: number, extension: string, body: Uint8Array): ServedFile {
  return { status, headers: { ...HEADERS, 'content-type': TYPES[extension] ?? 'text/plain' }, body };
}
