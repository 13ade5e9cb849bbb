import type { Application, BrowserWindow, WebContext } from '@webviewjs/webview';
import { Check } from 'typebox/value';
import type { Outcome } from '../backend.ts';
import { type FromChild, ToChild } from './child-messages.ts';
import { explainLoadFault, messagesOf } from './load-faults.ts';
import { createWebviewPage, type WebviewPage } from './webview-page.ts';
import { WEBVIEW_COMMANDS } from './window-commands.ts';

// The process that holds the windows. It has no secret and no connection to the server; if a page crashes it (the
// library aborts on some), the shell restarts it.

/** How often window events are processed, in milliseconds. */
const PUMP_EVERY_MS = 8;

interface OpenWindow {
  readonly window: BrowserWindow;
  readonly pages: Map<string, WebviewPage>;
}

const tell = (message: FromChild): void => void process.send?.(message);
const windows = new Map<string, OpenWindow>();
const files = new Map<number, (response: Response) => void>();
let lastFile = 0;
let context: { app: Application; webContext: WebContext; pageScript: string; holder: BrowserWindow } | null =
  null;

process.on('disconnect', () => process.exit(0));
process.on('message', (message: unknown) => {
  if (Check(ToChild, message)) take(message).catch(report);
});

async function take(message: ToChild): Promise<void> {
  switch (message.kind) {
    case 'start':
      return start(message);
    case 'window':
      return answer(message.id, () => openWindow(message));
    case 'webview':
      return answer(message.id, () => openWebview(message));
    case 'perform':
      return answer(message.id, () => perform(message));
    case 'deliver':
      return pageOf(message.webview)?.page.deliver(message.document, message.text);
    case 'file': {
      files.get(message.id)?.(
        new Response(Buffer.from(message.body), { status: message.status, headers: message.headers }),
      );
      files.delete(message.id);
      return;
    }
  }
}

async function start({ pageScript, dataFolder }: Extract<ToChild, { kind: 'start' }>): Promise<void> {
  const library = await import('@webviewjs/webview').catch((error: unknown) => {
    tell({ kind: 'cannot', detail: explainLoadFault(messagesOf(error)) });
    return null;
  });
  if (library === null) return;
  const app = new library.Application();
  const webContext = app.createWebContext({ dataDirectory: dataFolder });
  const holder = holdProtocol(app, webContext);
  context = { app, webContext, pageScript, holder };
  app.run({ interval: PUMP_EVERY_MS });
  tell({ kind: 'ready' });
}

/**
 * A context registers a protocol once, with the first webview that has it, and serves it from that window ever after:
 * this one is never shown and never closed.
 */
function holdProtocol(app: Application, webContext: WebContext): BrowserWindow {
  const holder = app.createBrowserWindow({ visible: false, width: 1, height: 1 });
  holder.registerProtocol('app', ({ method, url }) =>
    method === 'GET' ? fetchFile(url) : new Response(null, { status: 405 }),
  );
  holder.createWebview({ html: '', webContext, navigationHandler: () => false }).dispose();
  return holder;
}

function openWindow({ label, spec }: Extract<ToChild, { kind: 'window' }>): Outcome {
  if (context === null) return failed('the windows are not ready');
  const { app, webContext, pageScript } = context;
  const { title, width, height, path } = spec;
  const window = app.createBrowserWindow({ title, width, height, logical: true });
  const pages = new Map([
    [label, createWebviewPage({ ...{ label, window, webContext, path, pageScript } }, tell)],
  ]);
  windows.set(label, { window, pages });
  window.on('close', () => forget(label));
  return { kind: 'done', value: null };
}

function openWebview({ label, spec }: Extract<ToChild, { kind: 'webview' }>): Outcome {
  const open = windows.get(spec.window);
  if (context === null || open === undefined) return failed(`there is no window "${spec.window}"`);
  const { webContext, pageScript } = context;
  const { x, y, width, height, path } = spec;
  const place = { label, window: open.window, webContext, path, pageScript, bounds: { x, y, width, height } };
  open.pages.set(label, createWebviewPage(place, tell));
  return { kind: 'done', value: null };
}

function perform({ command, target, value }: Extract<ToChild, { kind: 'perform' }>): Outcome {
  if (command === 'core:window:close' || command === 'core:window:destroy') return closeWindow(target);
  if (command === 'core:webview:webview-close') return closeWebview(target);
  const run = WEBVIEW_COMMANDS[command];
  if (run === undefined) return { kind: 'unsupported' };
  const found = command.startsWith('core:window:') ? windowOf(target) : pageOf(target);
  if (found === null) return failed(`there is no "${target}"`);
  return { kind: 'done', value: run({ window: found.window, webview: found.page.webview, value }) };
}

function closeWindow(label: string): Outcome {
  const open = windows.get(label);
  if (open === undefined) return failed(`there is no window "${label}"`);
  forget(label);
  open.window.close();
  return { kind: 'done', value: null };
}

function closeWebview(label: string): Outcome {
  const found = pageOf(label);
  if (found === null) return failed(`there is no webview "${label}"`);
  const { open, page } = found;
  if (open.pages.size === 1) return closeWindow(found.label);
  open.pages.delete(label);
  page.end();
  page.webview.dispose();
  return { kind: 'done', value: null };
}

function forget(label: string): void {
  const open = windows.get(label);
  if (open === undefined) return;
  windows.delete(label);
  for (const page of open.pages.values()) page.end();
  tell({ kind: 'closed', window: label });
}

function windowOf(label: string): { window: BrowserWindow; page: WebviewPage } | null {
  const open = windows.get(label);
  const page = open?.pages.values().next().value;
  return open && page ? { window: open.window, page } : null;
}

function pageOf(webview: string) {
  for (const [label, open] of windows) {
    const page = open.pages.get(webview);
    if (page) return { label, open, window: open.window, page };
  }
  return null;
}

function fetchFile(url: string): Promise<Response> {
  const { pathname, search } = new URL(url);
  const { promise, resolve } = Promise.withResolvers<Response>();
  const id = ++lastFile;
  files.set(id, resolve);
  tell({ kind: 'serve', id, path: pathname + search });
  return promise;
}

function answer(id: number, run: () => Outcome): void {
  let outcome: Outcome;
  try {
    outcome = run();
  } catch (error) {
    outcome = failed(error instanceof Error ? error.message : String(error));
  }
  tell({ kind: 'outcome', id, outcome });
}

const failed = (detail: string): Outcome => ({ kind: 'failed', detail });

function report(error: unknown): void {
  process.stderr.write(
    `[ERROR] [shell] [windows] ${error instanceof Error ? error.message : String(error)}\n`,
  );
}
