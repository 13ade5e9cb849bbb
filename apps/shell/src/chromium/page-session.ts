import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { BackendOptions, DropCause, WindowSpec } from '../backend.ts';
import { readMessage } from '../page/message.ts';
import { bridgeScript, deliveryScript, newKey, titleWatchScript } from '../page/page-script.ts';
import type { CdpEvent, CdpPipe } from './cdp-pipe.ts';

/** The origin of the shell's pages. No host has this name: nothing is ever requested from the network. */
export const ORIGIN = 'https://shell.tidegate.internal';
const BINDING = '__tidegate_send';
const TITLE_BINDING = '__tidegate_titled';
const TITLE_MAX = 1_000;

const Context = Type.Object({
  context: Type.Object({
    id: Type.Integer(),
    uniqueId: Type.String(),
    origin: Type.String(),
    auxData: Type.Object({ frameId: Type.String(), isDefault: Type.Boolean() }),
  }),
});
const ContextGone = Type.Object({ executionContextId: Type.Integer() });
const Navigated = Type.Object({
  frame: Type.Object({ id: Type.String(), parentId: Type.Optional(Type.String()), url: Type.String() }),
});
const Called = Type.Object({
  name: Type.String(),
  payload: Type.String(),
  executionContextId: Type.Integer(),
});
const Paused = Type.Object({
  requestId: Type.String(),
  resourceType: Type.String(),
  request: Type.Object({ url: Type.String(), method: Type.String() }),
});

type ReadCall = { ok: true; document: string; body: string } | { ok: false; cause: DropCause };

/** One page of the shell: what it may load, and which of its documents may send messages. */
export interface PageSession {
  readonly session: string;
  readonly target: string;
  /** Sets up the rules, then lets the page load its first document. */
  open(): Promise<void>;
  take(event: CdpEvent): void;
  deliver(document: string, text: string): void;
  /** Sets the title of the document, which is also that of the window. */
  setTitle(title: string): Promise<void>;
  /** Closes the window. Resolves as well if Chromium exits with it, its last window, instead of answering. */
  close(): Promise<void>;
  isAskedToClose(): boolean;
}

export function createPageSession(
  cdp: CdpPipe,
  { session, target, label }: { session: string; target: string; label: string },
  { path }: Pick<WindowSpec, 'path'>,
  { serve, events, pageScript }: BackendOptions,
): PageSession {
  const key = newKey();
  const contexts = new Map<
    number,
    { uniqueId: string; origin: string; frameId: string; isDefault: boolean }
  >();
  /** The context that receives the replies to a document; removed with the context. */
  const documents = new Map<string, string>();
  let mainUrl = '';
  /** The last title that the document reported; null before the first. */
  let seenTitle: string | null = null;
  let isAskedToClose = false;

  const send = (method: string, params: object = {}) => cdp.send(method, params, session);
  /** For commands that may fail because the page is gone, when nothing is left to do. */
  const attempt = (method: string, params: object = {}) => void send(method, params).catch(() => {});
  const isOurs = (url: string) => url.startsWith(`${ORIGIN}/`);

  function isTopDocument(contextId: number): boolean {
    const context = contexts.get(contextId);
    const isTop = context?.frameId === target && context.isDefault && context.origin === ORIGIN;
    // A blob: document has the origin of its creator, so the address of the top frame is checked as well.
    return isTop && isOurs(mainUrl);
  }

  /** The document that a call came from and its body, or why the call is dropped. */
  function readCall({ payload, executionContextId }: Type.Static<typeof Called>): ReadCall {
    const context = contexts.get(executionContextId);
    if (!context || !isTopDocument(executionContextId)) return { ok: false, cause: 'not_the_top_document' };
    const message = readMessage(payload, key);
    if (!message.ok) return message;
    const { document, body } = message;
    if (body === '' && !documents.has(document)) documents.set(document, context.uniqueId);
    const isCurrent = documents.get(document) === context.uniqueId;
    return isCurrent ? { ok: true, document, body } : { ok: false, cause: 'not_the_current_document' };
  }

  function takeCall(call: Type.Static<typeof Called>): void {
    const read = readCall(call);
    if (!read.ok) events.dropped(label, read.cause);
    else if (read.body !== '') {
      const { document, body } = read;
      events.message({ window: label, webview: label, document, origin: 'local' }, body);
    }
  }

  function takeTitle({ payload, executionContextId }: Type.Static<typeof Called>): void {
    if (!isTopDocument(executionContextId)) return;
    seenTitle = payload.slice(0, TITLE_MAX);
    events.titleChanged(label, seenTitle);
  }

  function forget(contextId: number): void {
    const uniqueId = contexts.get(contextId)?.uniqueId;
    contexts.delete(contextId);
    for (const [document, held] of documents) if (held === uniqueId) documents.delete(document);
  }

  async function answer({ requestId, resourceType, request }: Type.Static<typeof Paused>): Promise<void> {
    if (!isOurs(request.url) || request.method !== 'GET') {
      if (resourceType === 'Document') events.blocked(label, request.url);
      // An aborted navigation leaves the page as it is.
      attempt('Fetch.failRequest', { requestId, errorReason: 'Aborted' });
      return;
    }
    const { status, headers, body } = await serve(request.url.slice(ORIGIN.length));
    attempt('Fetch.fulfillRequest', {
      requestId,
      responseCode: status,
      responseHeaders: Object.entries(headers).map(([name, value]) => ({ name, value })),
      body: Buffer.from(body).toString('base64'),
    });
  }

  function take({ method, params }: CdpEvent): void {
    if (method === 'Runtime.executionContextCreated' && Check(Context, params)) {
      const { id, uniqueId, origin, auxData } = params.context;
      contexts.set(id, { uniqueId, origin, ...auxData });
    } else if (method === 'Runtime.executionContextDestroyed' && Check(ContextGone, params)) {
      forget(params.executionContextId);
    } else if (method === 'Runtime.executionContextsCleared') {
      contexts.clear();
      documents.clear();
    } else if (method === 'Page.frameNavigated' && Check(Navigated, params)) {
      if (params.frame.parentId === undefined) arrive(params.frame.url);
    } else if (method === 'Runtime.bindingCalled' && Check(Called, params)) {
      if (params.name === BINDING) takeCall(params);
      else if (params.name === TITLE_BINDING) takeTitle(params);
    } else if (method === 'Fetch.requestPaused' && Check(Paused, params)) {
      answer(params).catch(() =>
        attempt('Fetch.failRequest', { requestId: params.requestId, errorReason: 'Failed' }),
      );
    } else if (method === 'Inspector.targetCrashed') {
      attempt('Page.navigate', { url: ORIGIN + path });
      events.recovered(label, 'the page crashed');
    }
  }

  /** Navigations to data: and blob: documents make no request that could be blocked: the page is sent back. */
  function arrive(url: string): void {
    const wasOurs = isOurs(mainUrl);
    mainUrl = url;
    if (isOurs(url) || !wasOurs) return;
    events.blocked(label, url);
    attempt('Page.navigate', { url: ORIGIN + path });
  }

  return {
    session,
    target,
    async open() {
      const bridge = bridgeScript({ origin: ORIGIN, key, via: BINDING });
      const source = bridge + titleWatchScript(TITLE_BINDING) + pageScript;
      await send('Fetch.enable', { patterns: [{ urlPattern: '*' }] });
      await send('Target.setAutoAttach', { autoAttach: true, waitForDebuggerOnStart: true, flatten: true });
      await send('Page.enable');
      await send('Network.setBypassServiceWorker', { bypass: true });
      for (const name of [BINDING, TITLE_BINDING]) await send('Runtime.addBinding', { name });
      await send('Page.addScriptToEvaluateOnNewDocument', { source });
      await send('Runtime.enable');
      await send('Runtime.runIfWaitingForDebugger');
      await send('Page.navigate', { url: ORIGIN + path });
    },
    take,
    async setTitle(title) {
      const value = title.replace(/\s+/g, ' ').trim();
      // Compare and swap: a title that the page has set meanwhile is reported soon and is not overwritten.
      const isKnown = seenTitle === null ? 'true' : `document.title === ${JSON.stringify(seenTitle)}`;
      await send('Runtime.evaluate', {
        expression: `${isKnown} && (document.title = ${JSON.stringify(value)})`,
      });
    },
    deliver(document, text) {
      const uniqueContextId = documents.get(document);
      if (uniqueContextId === undefined) return;
      attempt('Runtime.evaluate', { expression: deliveryScript(document, text), uniqueContextId });
    },
    async close() {
      isAskedToClose = true;
      await cdp.send('Target.closeTarget', { targetId: target }).catch((error) => {
        if (cdp.isOpen()) throw error;
      });
    },
    isAskedToClose: () => isAskedToClose,
  };
}
