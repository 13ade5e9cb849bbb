import type { Json } from './json.ts';

/** The sender of a message as the backend determined it: nothing here comes from the page. */
export interface Sender {
  readonly window: string;
  readonly webview: string;
  /** Identifies one load of one page; replies go to it alone. */
  readonly document: string;
  /** `local` for the shell's own origin only; otherwise the URL of the document. */
  readonly origin: 'local' | string;
}

/** Why a message was dropped without a reply: it did not come from the top document of one of our webviews. */
export type DropCause = 'not_the_top_document' | 'wrong_key' | 'not_the_current_document' | 'too_large';

export interface BackendEvents {
  message(sender: Sender, body: string): void;
  dropped(webview: string, cause: DropCause): void;
  /** A navigation or new window that the policy stopped. */
  blocked(webview: string, url: string): void;
  /** The page was lost and has been loaded again. */
  recovered(webview: string, cause: string): void;
  windowClosed(window: string): void;
  /** The title of the document that fills a window has changed. */
  titleChanged(window: string, title: string): void;
  /** Output of the underlying libraries. */
  noted(line: string): void;
  /** The backend has ended, by itself or because its last window closed. */
  ended(cause: string): void;
}

export interface WindowSpec {
  readonly title: string;
  readonly width: number;
  readonly height: number;
  /** Path of the page below the origin of the shell, beginning with a slash. */
  readonly path: string;
}

export interface WebviewSpec {
  readonly window: string;
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly height: number;
  readonly path: string;
}

/** One file of the shell's own origin. */
export interface ServedFile {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
}

/** Answers every request that a page makes below the shell's origin, by path and query. */
export type Serve = (pathAndQuery: string) => Promise<ServedFile>;

export interface BackendOptions {
  readonly serve: Serve;
  readonly events: BackendEvents;
  /** Runs in every top document after the bridge and before the document's own scripts. */
  readonly pageScript: string;
}

export type Outcome =
  | { readonly kind: 'done'; readonly value: Json }
  /** This backend cannot do it. */
  | { readonly kind: 'unsupported' }
  | { readonly kind: 'failed'; readonly detail: string };

/**
 * Windows, webviews and messages. The rules are in `core`: a backend only determines who a sender is and keeps every
 * webview on the shell's origin.
 */
export interface Backend {
  readonly name: 'webview' | 'chromium';
  /** The origin of the shell's pages in this backend. */
  readonly origin: string;
  /** Creates a window and one webview of the same label that fills it. */
  createWindow(label: string, spec: WindowSpec): Promise<Outcome>;
  createWebview(label: string, spec: WebviewSpec): Promise<Outcome>;
  /** Runs a command of the window or webview plugin on the window or webview of that label. */
  perform(call: { command: string; target: string; args: Json }): Promise<Outcome>;
  /** Delivers a text to one document; does nothing if that document is gone. */
  deliver(to: Pick<Sender, 'webview' | 'document'>, text: string): void;
  /** Closes every window and ends every process that was started. */
  close(): Promise<void>;
}
