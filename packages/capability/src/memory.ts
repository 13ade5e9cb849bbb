import type { Scope } from './values.ts';

export type Decision =
  | { readonly allowed: true; readonly scope: Scope }
  | { readonly allowed: false; readonly reason: string };

/** What was found for one window, webview and origin. */
export interface Found {
  /** For each capability 1 where it serves the caller. */
  readonly served: Uint8Array;
  /** By command. */
  readonly decisions: Map<string, Decision>;
}

/** Callers that are remembered: windows are few, but a page can take on ever new URLs. */
const MAX_CALLERS = 1_024;
/** Decisions that are remembered: each may hold a scope of its own. */
const MAX_DECISIONS = 16_384;
/** Characters of a caller that is remembered; a longer one is judged anew each time. */
const MAX_CALLER = 2_048;

type ByWebview = Map<string, Found>;

/** Caches results per caller. A full cache is cleared. */
export class Memory {
  readonly #byOrigin = new Map<string, Map<string, ByWebview>>();
  #callers = 0;
  #decisions = 0;

  find({ origin, window, webview }: CallerKey): Found | undefined {
    return this.#byOrigin.get(origin)?.get(window)?.get(webview);
  }

  keepCaller({ origin, window, webview }: CallerKey, found: Found): void {
    if (origin.length + window.length + webview.length > MAX_CALLER) return;
    if (this.#callers >= MAX_CALLERS) this.#forget();
    const byWindow = this.#byOrigin.get(origin) ?? new Map<string, ByWebview>();
    const byWebview = byWindow.get(window) ?? new Map<string, Found>();
    this.#byOrigin.set(origin, byWindow.set(window, byWebview.set(webview, found)));
    this.#callers += 1;
  }

  keepDecision(found: Found, command: string, decision: Decision): void {
    if (this.#decisions >= MAX_DECISIONS) this.#forget();
    found.decisions.set(command, decision);
    this.#decisions += 1;
  }

  #forget(): void {
    this.#byOrigin.clear();
    this.#callers = 0;
    this.#decisions = 0;
  }
}

interface CallerKey {
  readonly origin: string;
  readonly window: string;
  readonly webview: string;
}
