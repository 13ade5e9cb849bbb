import type { Backend, Outcome, WebviewSpec, WindowSpec } from '../backend.ts';
import { done, failed } from './commands.ts';
import { isLabel, isLocalPath } from './label-rules.ts';

/** The most windows and webviews at a time. */
export const WEBVIEWS_MAX = 32;
const SIDE_MAX = 16_384;
const TITLE_MAX = 1_000;

interface OpenWindow {
  title: string;
  /** The badge, shown before the title; null for none. */
  badge: string | null;
  /** The title that was set last, so that its own echo is not taken for a new title. */
  shown: string;
  readonly webviews: Set<string>;
}

/** The open windows and webviews by label. Labels are unique, except that a window shares its own with its first webview. */
export interface WindowRegistry {
  open(label: string, spec: WindowSpec): Promise<Outcome>;
  openWebview(label: string, spec: WebviewSpec): Promise<Outcome>;
  windows(): string[];
  webviews(): { label: string; window: string }[];
  hasWindow(label: string): boolean;
  hasWebview(label: string): boolean;
  titleOf(label: string): string | null;
  setTitle(label: string, title: string): Promise<Outcome>;
  /** Takes over the title of the document in the window. */
  followTitle(label: string, title: string): Promise<Outcome>;
  setBadge(label: string, badge: string | null): Promise<Outcome>;
  close(label: string): Promise<Outcome>;
  /** Removes a window that the backend has closed. */
  forget(window: string): void;
  forgetWebview(webview: string): void;
}

/** `titleOf` makes the title of a window from that of its document. */
export function createWindowRegistry(
  backend: () => Backend,
  titleOf: (document: string) => string,
): WindowRegistry {
  const open = new Map<string, OpenWindow>();

  const webviews = () =>
    [...open].flatMap(([window, { webviews }]) => [...webviews].map((label) => ({ label, window })));
  const isTaken = (label: string) => open.has(label) || webviews().some((webview) => webview.label === label);

  function faultOf(label: string, path: string): string | null {
    if (!isLabel(label)) return 'a label may have only letters, digits and - / : _';
    if (isTaken(label)) return `there is a window or webview "${label}" already`;
    if (!isLocalPath(path)) return 'the path must be one of the shell itself, beginning with one slash';
    return webviews().length >= WEBVIEWS_MAX ? `there are ${WEBVIEWS_MAX} webviews already` : null;
  }

  async function showTitle(label: string): Promise<Outcome> {
    const window = open.get(label);
    if (!window) return failed(`there is no window "${label}"`);
    const { title, badge } = window;
    const value = badge === null ? title : `(${badge}) ${title}`;
    window.shown = value;
    return backend().perform({ command: 'core:window:set-title', target: label, args: value });
  }

  return {
    async open(label, spec) {
      const fault = faultOf(label, spec.path) ?? sideFault(spec);
      if (fault !== null) return failed(fault);
      // Reserved before the first await: two calls for one label must not both succeed.
      open.set(label, { title: spec.title, badge: null, shown: spec.title, webviews: new Set([label]) });
      const outcome = await backend().createWindow(label, spec);
      if (outcome.kind !== 'done') open.delete(label);
      return outcome;
    },
    async openWebview(label, spec) {
      const window = open.get(spec.window);
      if (!window) return failed(`there is no window "${spec.window}"`);
      const fault = faultOf(label, spec.path) ?? sideFault(spec);
      if (fault !== null) return failed(fault);
      window.webviews.add(label);
      const outcome = await backend().createWebview(label, spec);
      if (outcome.kind !== 'done') window.webviews.delete(label);
      return outcome;
    },
    windows: () => [...open.keys()],
    webviews,
    hasWindow: (label) => open.has(label),
    hasWebview: (label) => webviews().some((webview) => webview.label === label),
    titleOf: (label) => open.get(label)?.title ?? null,
    async setTitle(label, title) {
      const window = open.get(label);
      if (window) window.title = title;
      return showTitle(label);
    },
    async followTitle(label, title) {
      const window = open.get(label);
      if (!window || title === '' || title === window.shown) return done();
      window.title = titleOf(title.slice(0, TITLE_MAX));
      return showTitle(label);
    },
    async setBadge(label, badge) {
      const window = open.get(label);
      if (window?.badge === badge) return done();
      if (window) window.badge = badge;
      return showTitle(label);
    },
    close: (label) => backend().perform({ command: 'core:window:close', target: label, args: null }),
    forget: (window) => void open.delete(window),
    forgetWebview(webview) {
      for (const { webviews } of open.values()) webviews.delete(webview);
    },
  };
}

function sideFault({ width, height }: { width: number; height: number }): string | null {
  const isRight = [width, height].every((side) => side >= 1 && side <= SIDE_MAX);
  return isRight ? null : `width and height must be from 1 to ${SIDE_MAX}`;
}
