import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { Check } from 'typebox/value';
import type { Backend, BackendOptions, Outcome, WebviewSpec, WindowSpec } from '../backend.ts';
import { windowEnvironment } from '../window-environment.ts';
import { type FromChild, FromChild as FromChildSchema, type ToChild } from './child-messages.ts';
import { findNativeLibrary } from './native-library.ts';
import { ORIGIN } from './webview-page.ts';

const CHILD = fileURLToPath(new URL('child-main.ts', import.meta.url));
/** After this many crashes in this time the process is not restarted: a page crashes it each time. */
const RESTARTS_MAX = 3;
const RESTARTS_WITHIN_MS = 60_000;
const START_MAX_MS = 30_000;
/** How long the process may take to exit by itself. */
const END_MAX_MS = 5_000;
/** The output of a crash is long; its first lines name the cause. */
const NOTED_LINES_MAX = 20;

export interface WebviewSettings {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cacheFolder: string;
  readonly dataFolder: string;
  readonly glibc: string | null;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
}

export type Opened =
  | { ok: true; backend: Backend; childPid(): number | undefined }
  | { ok: false; detail: string };

/** The system's webview, in a separate process that is restarted when it crashes. */
export async function openWebviewBackend(
  settings: WebviewSettings,
  options: BackendOptions,
): Promise<Opened> {
  const { env, now } = settings;
  const { events } = options;
  if (!env.DISPLAY && !env.WAYLAND_DISPLAY && process.platform === 'linux')
    return { ok: false, detail: 'There is no display: DISPLAY and WAYLAND_DISPLAY are not set.' };
  const library = findNativeLibrary({ platform: process.platform, arch: process.arch, ...settings });
  if (library.kind === 'unknown') return { ok: false, detail: library.detail };
  const childEnv = {
    ...windowEnvironment(env),
    ...(library.kind === 'copy' ? { NAPI_RS_NATIVE_LIBRARY_PATH: library.path } : {}),
  };

  const windows = new Map<string, WindowSpec>();
  const webviews = new Map<string, WebviewSpec>();
  const pending = new Map<number, (outcome: Outcome) => void>();
  const ends: number[] = [];
  let lastId = 0;
  let isClosing = false;
  const held: { child: ChildProcess | null } = { child: null };

  const tell = (message: ToChild): void => {
    // If it has ended meanwhile, its exit event reports that.
    if (held.child?.connected) held.child.send(message, () => {});
  };

  function ask(message: (id: number) => ToChild): Promise<Outcome> {
    const { promise, resolve } = Promise.withResolvers<Outcome>();
    const id = ++lastId;
    pending.set(id, resolve);
    tell(message(id));
    return promise;
  }

  /** Null once windows can be created; otherwise why they cannot. */
  async function start(): Promise<string | null> {
    const started = fork(CHILD, [], {
      env: childEnv,
      execArgv: [],
      serialization: 'advanced',
      stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
    });
    held.child = started;
    if (started.stderr) noteLines(started.stderr, events.noted);
    const { promise, resolve } = Promise.withResolvers<string | null>();
    const timer = setTimeout(() => resolve('The windows did not start in time.'), START_MAX_MS);
    started.on('message', (message: unknown) => {
      if (!Check(FromChildSchema, message)) return;
      if (message.kind === 'ready') resolve(null);
      else if (message.kind === 'cannot') resolve(message.detail);
      else take(message);
    });
    started.once('exit', (code, signal) => {
      resolve(`The process of the windows ended at once (${signal ?? code}).`);
      if (held.child === started) end(String(signal ?? code));
    });
    tell({ kind: 'start', pageScript: options.pageScript, dataFolder: settings.dataFolder });
    const fault = await promise;
    clearTimeout(timer);
    return fault;
  }

  function take(message: FromChild): void {
    switch (message.kind) {
      case 'message': {
        const { webview, document, body } = message;
        const window = webviews.get(webview)?.window ?? webview;
        events.message({ window, webview, document, origin: 'local' }, body);
        break;
      }
      case 'dropped':
        events.dropped(message.webview, message.cause);
        break;
      case 'blocked':
        events.blocked(message.webview, message.url);
        break;
      case 'recovered':
        events.recovered(message.webview, message.cause);
        break;
      case 'title':
        // A window has the label of its first webview.
        if (windows.has(message.webview)) events.titleChanged(message.webview, message.title);
        break;
      case 'closed':
        windows.delete(message.window);
        for (const [label, { window }] of webviews) if (window === message.window) webviews.delete(label);
        events.windowClosed(message.window);
        break;
      case 'serve':
        void serveFile(message);
        break;
      case 'outcome':
        pending.get(message.id)?.(message.outcome);
        pending.delete(message.id);
        break;
      case 'ready':
      case 'cannot':
        break;
    }
  }

  async function serveFile({ id, path }: { id: number; path: string }): Promise<void> {
    tell({ kind: 'file', id, ...(await options.serve(path)) });
  }

  function end(how: string): void {
    for (const resolve of pending.values())
      resolve({ kind: 'failed', detail: 'the process of the windows ended' });
    pending.clear();
    if (isClosing) return;
    ends.push(now());
    const recent = ends.filter((at) => now() - at < RESTARTS_WITHIN_MS);
    if (recent.length <= RESTARTS_MAX) void restart(how);
    else events.ended(`the process of the windows ended ${recent.length} times (${how})`);
  }

  async function restart(how: string): Promise<void> {
    const fault = await start();
    if (fault !== null) return events.ended(fault);
    for (const [label, spec] of windows) await ask((id) => ({ kind: 'window', id, label, spec }));
    for (const [label, spec] of webviews) await ask((id) => ({ kind: 'webview', id, label, spec }));
    for (const label of windows.keys()) events.recovered(label, `the process of the windows ended (${how})`);
  }

  const fault = await start();
  if (fault !== null) {
    isClosing = true;
    held.child?.kill();
    return { ok: false, detail: fault };
  }
  return {
    ok: true,
    childPid: () => held.child?.pid,
    backend: {
      name: 'webview',
      origin: ORIGIN,
      async createWindow(label, spec) {
        const outcome = await ask((id) => ({ kind: 'window', id, label, spec }));
        if (outcome.kind === 'done') windows.set(label, spec);
        return outcome;
      },
      async createWebview(label, spec) {
        const outcome = await ask((id) => ({ kind: 'webview', id, label, spec }));
        if (outcome.kind === 'done') webviews.set(label, spec);
        return outcome;
      },
      async perform({ command, target, args }) {
        const outcome = await ask((id) => ({ kind: 'perform', id, command, target, value: args }));
        if (command === 'core:webview:webview-close' && outcome.kind === 'done') webviews.delete(target);
        return outcome;
      },
      deliver: ({ webview, document }, text) => tell({ kind: 'deliver', webview, document, text }),
      async close() {
        isClosing = true;
        const { child } = held;
        if (child === null || child.exitCode !== null || child.signalCode !== null) return;
        const gone = once(child, 'exit');
        const timer = setTimeout(() => child.kill('SIGKILL'), END_MAX_MS);
        if (child.connected) child.disconnect(); // it may be ending on its own
        await gone;
        clearTimeout(timer);
      },
    },
  };
}

function noteLines(stream: Readable, note: (line: string) => void): void {
  let count = 0;
  createInterface({ input: stream }).on('line', (line) => {
    if (++count <= NOTED_LINES_MAX && line.trim() !== '') note(line);
  });
}
