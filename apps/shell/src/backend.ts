import type { Json } from './json.ts';

/** Who sent a message, as the backend saw it by its own means: nothing of this was said by the page. */
export interface Sender {
  readonly window: string;
  readonly webview: string;
  /** Names one load of one page; answers go to it and to no other. */
  readonly document: string;
  /** `local` for the origin of the shell itself and nothing else; else the URL of the document. */
  readonly origin: 'local' | string;
}

/** Why a message was dropped without an answer: it did not come from the top document of a webview of ours. */
export type DropCause = 'not_the_top_document' | 'wrong_key' | 'not_the_current_document' | 'too_large';

export interface BackendEvents {
  message(sender: Sender, body: string): void;
  dropped(webview: string, cause: DropCause): void;
  /** A navigation or new window that the policy stopped. */
  blocked(webview: string, url: string): void;
  /** The page is gone and was loaded again. */
  recovered(webview: string, cause: string): void;
  windowClosed(window: string): void;
  /** The document that fills a window is called so by now. */
  titleChanged(window: string, title: string): void;
  /** What the libraries below say. */
  noted(line: string): void;
  /** The backend is gone for good, by itself or because its last window closed. */
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
  /** What runs in every top document before its own scripts, after the bridge. */
  readonly pageScript: string;
}

export type Outcome =
  | { readonly kind: 'done'; readonly value: Json }
  /** This backend has no way to do it. */
  | { readonly kind: 'unsupported' }
  | { readonly kind: 'failed'; readonly detail: string };

/**
 * Windows, webviews and messages. The rules stand above it, in `core`: a backend decides nothing but who a sender is,
 * and lets no webview leave the shell's origin.
 */
export interface Backend {
  readonly name: 'webview' | 'chromium';
  /** The origin that pages of the shell have here. */
  readonly origin: string;
  /** Makes a window with one webview of the same label that fills it. */
  createWindow(label: string, spec: WindowSpec): Promise<Outcome>;
  createWebview(label: string, spec: WebviewSpec): Promise<Outcome>;
  /** Does a command of the window or webview plugin to the window or webview of that label. */
  perform(call: { command: string; target: string; args: Json }): Promise<Outcome>;
  /** Hands a text to one document; nothing happens where that document is gone. */
  deliver(to: Pick<Sender, 'webview' | 'document'>, text: string): void;
  /** Closes every window and ends what was started. */
  close(): Promise<void>;
}
