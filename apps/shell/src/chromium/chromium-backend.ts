import { randomUUID } from 'node:crypto';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Backend, BackendOptions, Outcome, WindowSpec } from '../backend.ts';
import { type CdpEvent, openCdpPipe } from './cdp-pipe.ts';
import { createPageSession, ORIGIN, type PageSession } from './page-session.ts';
import { type ChromiumSettings, startChromium } from './start-chromium.ts';
import { CHROMIUM_COMMANDS } from './window-commands.ts';

/** How long a window may take to appear. */
const WINDOW_MAX_MS = 30_000;
/** How long the browser may take to exit by itself. */
const END_MAX_MS = 5_000;

const Attached = Type.Object({
  sessionId: Type.String(),
  targetInfo: Type.Object({ targetId: Type.String(), type: Type.String(), url: Type.String() }),
});
const Detached = Type.Object({ sessionId: Type.String() });

export type Opened = { ok: true; backend: Backend } | { ok: false; detail: string };

/** Chromium in app mode, controlled over its debugging pipe. One webview fills each window. */
export async function openChromiumBackend(
  settings: ChromiumSettings,
  options: BackendOptions,
): Promise<Opened> {
  const started = startChromium(settings);
  if (!started.ok) return started;
  const { chromium } = started;
  const { events } = options;
  const pages = new Map<string, PageSession>();
  /** Requested windows, by the unique address that identifies them. */
  const awaited = new Map<string, (found: { session: string; target: string }) => void>();
  let isClosing = false;

  const cdp = openCdpPipe(chromium, {
    event: route,
    ended: () => {
      // With its last window Chromium may exit before it has said that the window is gone.
      for (const [label, page] of pages) if (page.isAskedToClose()) forget(label);
      if (!isClosing) events.ended('Chromium has ended');
    },
  });
  const attempt = (method: string, params: object, session?: string) =>
    void cdp.send(method, params, session).catch(() => {});

  function route({ method, params, session }: CdpEvent): void {
    const page = [...pages.values()].find((candidate) => candidate.session === session);
    if (method === 'Target.attachedToTarget' && Check(Attached, params)) attach(params);
    else if (method === 'Target.detachedFromTarget' && Check(Detached, params)) detach(params.sessionId);
    else if (page) page.take({ method, params, session });
    else if (method === 'Fetch.requestPaused' && session !== null) refuse(session, params);
  }

  function attach({ sessionId, targetInfo: { targetId, type, url } }: Type.Static<typeof Attached>): void {
    const adopt = awaited.get(url);
    if (type === 'page' && adopt) {
      awaited.delete(url);
      adopt({ session: sessionId, target: targetId });
    } else if (type === 'page') {
      events.blocked('unknown', url);
      attempt('Target.closeTarget', { targetId });
    } else if (type === 'service_worker' || type === 'shared_worker') {
      attempt('Target.closeTarget', { targetId });
    } else {
      // An out-of-process frame or a worker: it runs, but may load nothing.
      attempt('Fetch.enable', { patterns: [{ urlPattern: '*' }] }, sessionId);
      attempt('Runtime.runIfWaitingForDebugger', {}, sessionId);
    }
  }

  function refuse(session: string, params: unknown): void {
    const Request = Type.Object({ requestId: Type.String() });
    if (!Check(Request, params)) return;
    attempt('Fetch.failRequest', { requestId: params.requestId, errorReason: 'BlockedByClient' }, session);
  }

  function detach(session: string): void {
    for (const [label, page] of pages) if (page.session === session) forget(label);
  }

  function forget(label: string): void {
    pages.delete(label);
    if (!isClosing) events.windowClosed(label);
  }

  async function newWindow(): Promise<{ session: string; target: string } | null> {
    const url = `data:text/html,${randomUUID()}`;
    const { promise, resolve } = Promise.withResolvers<{ session: string; target: string } | null>();
    awaited.set(url, resolve);
    const timer = setTimeout(() => resolve(null), WINDOW_MAX_MS);
    chromium.openWindow(url);
    const found = await promise;
    clearTimeout(timer);
    awaited.delete(url);
    return found;
  }

  async function createWindow(label: string, spec: WindowSpec): Promise<Outcome> {
    const place = await newWindow();
    if (place === null) return { kind: 'failed', detail: 'Chromium opened no window' };
    const page = createPageSession(cdp, { ...place, label }, spec, options);
    pages.set(label, page);
    await page.open();
    const { width, height } = spec;
    await CHROMIUM_COMMANDS['core:window:set-size']?.({ cdp, page, value: { width, height } });
    return { kind: 'done', value: null };
  }

  await cdp.send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
  return {
    ok: true,
    backend: {
      name: 'chromium',
      origin: ORIGIN,
      createWindow,
      createWebview: async () => ({ kind: 'unsupported' }),
      async perform({ command, target, args }) {
        const perform = CHROMIUM_COMMANDS[command];
        if (!perform) return { kind: 'unsupported' };
        const page = pages.get(target);
        if (!page) return { kind: 'failed', detail: `there is no window "${target}"` };
        return { kind: 'done', value: await perform({ cdp, page, value: args }) };
      },
      deliver: ({ webview, document }, text) => pages.get(webview)?.deliver(document, text),
      async close() {
        isClosing = true;
        const timer = setTimeout(chromium.kill, END_MAX_MS);
        await cdp.send('Browser.close').catch(() => chromium.kill());
        await chromium.ended;
        clearTimeout(timer);
      },
    },
  };
}
