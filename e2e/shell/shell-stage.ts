import { globSync, readdirSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { type Acl, parseCapabilityFile, resolve } from '@tidegate/capability';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, onTestFinished } from 'vitest';
import type { ServedFile } from '../../apps/shell/src/backend.ts';
import type { ServerAnswer, ServerConnection } from '../../apps/shell/src/console/server-connection.ts';
import type { Shell } from '../../apps/shell/src/core/create-shell.ts';
import { createLog } from '../../apps/shell/src/log.ts';
import { openConsoleShell } from '../../apps/shell/src/open-console.ts';
import type { Screen } from './screen.ts';

export type BackendName = 'webview' | 'chromium';

/** A report of a page: the query of `/report?…`. */
export type Report = Readonly<Record<string, string>>;

export interface ShellStage {
  readonly shell: Shell;
  readonly log: readonly string[];
  /** Every requested path. */
  readonly served: readonly string[];
  /** The requests that reached the fake server. */
  readonly requests: readonly string[];
  /** The folder where pages save files. */
  readonly downloads: string;
  /** Waits for the first report with these values; it may have arrived already. */
  report(wanted: Report): Promise<Report>;
  readonly reports: readonly Report[];
  openMain(path: string): Promise<void>;
}

/** A secret in the shell's environment that must not appear anywhere else. */
export const SECRET = 'a-token-of-somebody';

/** Says which package the webview needs; null if all are installed. */
export function webviewMissing(): string | null {
  try {
    createRequire(import.meta.url).resolve('@webviewjs/webview-linux-x64-gnu');
  } catch {
    return 'the native part of @webviewjs/webview is not installed (npm run test:e2e installs it)';
  }
  const lacking = LIBRARIES.find(([file]) => globSync(file).length === 0);
  return lacking ? `the webview lacks a library (Debian package ${lacking[1]})` : null;
}

const LIBRARIES = [
  ['/usr/lib/*/libwebkit2gtk-4.1.so.0', 'libwebkit2gtk-4.1-0'],
  ['/usr/lib/*/libxdo.so.3', 'libxdo3'],
] as const;

/** The backends of the stories. */
export const STORY_BACKENDS: readonly BackendName[] = ['webview', 'chromium'];

/** The capabilities of `main`, which every story has, and of a window with more rights. */
const CAPABILITIES = [
  {
    identifier: 'main',
    windows: ['main'],
    permissions: [
      ...['core:event:default', 'core:app:allow-version', 'core:window:allow-title', 'core:menu:default'],
      ...[
        'allow-api-request',
        'allow-file-save',
        'core:window:allow-outer-size',
        'core:webview:allow-create-webview',
        'core:window:allow-set-title',
      ],
    ],
  },
  { identifier: 'side', webviews: ['side'], permissions: ['core:app:allow-name'] },
  {
    identifier: 'admin',
    windows: ['admin'],
    permissions: ['core:app:allow-identifier', 'core:app:allow-version'],
  },
];

/** Starts the shell in this process, with windows on the screen and pages that send reports. */
export async function openShellStage(
  screen: Screen,
  backend: BackendName,
  pages: Readonly<Record<string, string>>,
  headers: Record<string, string> = {},
): Promise<ShellStage> {
  const folder = tmpDir('tidegate-shell-');
  const lines: string[] = [];
  const [served, requests]: [string[], string[]] = [[], []];
  const reports: Report[] = [];
  const downloads = join(folder.path, 'downloads');
  const ending = new AbortController();
  const connection: ServerConnection = {
    async request({ method, path }): Promise<ServerAnswer> {
      requests.push(`${method} ${path}`);
      return { status: 200, headers: {}, body: '' };
    },
    open: () => Promise.reject(new Error('no stream in this story')),
  };
  const created = await openConsoleShell({
    acl: aclOf(CAPABILITIES),
    log: createLog((line) => lines.push(line)),
    connection,
    serverName: 'story',
    ending: ending.signal,
    async serve(path): Promise<ServedFile> {
      served.push(path);
      const { pathname, searchParams } = new URL(path, 'https://story.invalid');
      if (pathname === '/report') reports.push(Object.fromEntries(searchParams));
      const page = pages[pathname];
      const type = { 'content-type': 'text/html; charset=utf-8', ...headers };
      return { status: page === undefined ? 404 : 200, headers: type, body: Buffer.from(page ?? '') };
    },
    backend: {
      choice: backend,
      noSandbox: process.getuid?.() === 0,
      env: { ...process.env, DISPLAY: screen.display, TIDEGATE_SECRET: SECRET, XDG_DOWNLOAD_DIR: downloads },
      cacheFolder: join(folder.path, 'cache'),
      dataFolder: join(folder.path, 'data'),
      now: () => performance.now(),
    },
  });
  if (!created.ok) throw new Error(created.detail);
  const { shell } = created;
  onTestFinished(async () => {
    ending.abort();
    await shell.close();
    folder[Symbol.dispose]();
  });
  return {
    ...{ shell, log: lines, served, requests, reports, downloads },
    async report(wanted) {
      const find = () => reports.find((report) => Object.entries(wanted).every(([k, v]) => report[k] === v));
      await expect
        .poll(find, { message: `${JSON.stringify(wanted)} in ${JSON.stringify(reports)}\n${lines.join('')}` })
        .toBeDefined();
      return find() ?? {};
    },
    async openMain(path) {
      const opened = await shell.openWindow('main', { title: 'Story', width: 900, height: 600, path });
      expect(opened).toEqual({ kind: 'done', value: null });
    },
  };
}

/** The rules of a capability file on Linux. */
export function aclOf(file: unknown): Acl {
  const read = parseCapabilityFile(file);
  const resolved = 'errors' in read ? read : resolve(read.capabilities, { platform: 'linux' });
  if ('errors' in resolved) throw new Error(JSON.stringify(resolved.errors));
  return resolved.acl;
}

/** The descendants of this process whose command line contains the text. */
export function descendants(text: string, of = process.pid): number[] {
  const parents = new Map<number, { parent: number; line: string }>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const [, parent = '0'] = /^\d+ \(.*\) \S (\d+)/s.exec(readFileSync(`/proc/${name}/stat`, 'utf8')) ?? [];
      parents.set(Number(name), {
        parent: Number(parent),
        line: readFileSync(`/proc/${name}/cmdline`, 'utf8'),
      });
    } catch {
      // It has ended meanwhile.
    }
  }
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid)?.parent;
    return parent !== undefined && parent !== 0 && (parent === of || isBelow(parent));
  };
  return [...parents].filter(([pid, { line }]) => line.includes(text) && isBelow(pid)).map(([pid]) => pid);
}
