import type { BrowserWindow, WebContext, Webview } from '@webviewjs/webview';
import { readMessage } from '../page/message.ts';
import { bridgeScript, deliveryScript, newKey } from '../page/page-script.ts';
import type { FromChild } from './child-messages.ts';

export const ORIGIN = 'app://localhost';
/** How often to check that the process of a page still runs: no event reports its end. */
const LOOK_EVERY_MS = 1_000;

/** One webview, and the one document in it that may send messages. */
export interface WebviewPage {
  readonly webview: Webview;
  deliver(document: string, text: string): void;
  end(): void;
}

export interface PagePlace {
  readonly label: string;
  readonly window: BrowserWindow;
  readonly webContext: WebContext;
  readonly path: string;
  /** Its place in the window; by default it fills the window. */
  readonly bounds?: { x: number; y: number; width: number; height: number };
  readonly pageScript: string;
}

/**
 * Creates a webview that never leaves the shell's origin. The address that comes with a message is that of the top
 * document, whichever frame sent it; only the bridge in the top document has the key that tells them apart.
 */
export function createWebviewPage(
  { label, window, webContext, path, bounds, pageScript }: PagePlace,
  tell: (message: FromChild) => void,
): WebviewPage {
  const key = newKey();
  let current: string | null = null;

  const isAllowed = (url: string): boolean => {
    if (isOurs(url)) return true;
    tell({ kind: 'blocked', webview: label, url: url.slice(0, 2_000) });
    return false;
  };
  const webview = window.createWebview({
    url: ORIGIN + path,
    preload: bridgeScript({ origin: ORIGIN, key, via: 'webkit' }) + pageScript,
    webContext,
    enableDevtools: false,
    navigationHandler: isAllowed,
    newWindowHandler: ({ url = '' }) => {
      tell({ kind: 'blocked', webview: label, url: url.slice(0, 2_000) });
      return false;
    },
    ...(bounds ? { child: true, ...bounds } : {}),
  });

  webview.onIpcMessage(({ body, uri }) => {
    const drop = (cause: Extract<FromChild, { kind: 'dropped' }>['cause']) =>
      tell({ kind: 'dropped', webview: label, cause });
    if (!isOurs(uri) || !isOurs(webview.url() ?? '')) return drop('not_the_top_document');
    const message = readMessage(body.toString('utf8'), key);
    if (!message.ok) return drop(message.cause);
    const { document } = message;
    if (message.body === '') {
      current = document;
      return;
    }
    if (document !== current) return drop('not_the_current_document');
    tell({ kind: 'message', webview: label, document, body: message.body });
  });

  webview.on('title-changed', ({ title = '' }) => tell({ kind: 'title', webview: label, title }));
  const timer = setInterval(() => {
    if (webview.isDisposed() || webview.url()) return;
    current = null;
    webview.loadUrl(ORIGIN + path);
    tell({ kind: 'recovered', webview: label, cause: 'the page crashed' });
  }, LOOK_EVERY_MS);

  return {
    webview,
    deliver(document, text) {
      // The script runs in whatever document is loaded by then; the function checks the document's name again.
      if (document !== current || webview.isDisposed() || !isOurs(webview.url() ?? '')) return;
      webview.evaluateScript(deliveryScript(document, text));
    },
    end: () => clearInterval(timer),
  };
}

const isOurs = (url: string): boolean => url === ORIGIN || url.startsWith(`${ORIGIN}/`);
