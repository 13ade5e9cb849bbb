import type { BrowserWindow, Monitor, Webview } from '@webviewjs/webview';
import { type Static, type TSchema, Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Json } from '../json.ts';

/** The target of a command; `value` comes from the page and was checked by the core. */
interface Target {
  readonly window: BrowserWindow;
  readonly webview: Webview;
  readonly value: unknown;
}
type Perform = (target: Target) => Json;

const Size = Type.Object({ width: Type.Number(), height: Type.Number() });
const Position = Type.Object({ x: Type.Number(), y: Type.Number() });
const Colour = Type.Array(Type.Integer({ minimum: 0, maximum: 255 }), { minItems: 4, maxItems: 4 });
/** Values of the library's enumerations, which exist only as types until it is loaded. */
const THEMES = { light: 0, dark: 1, system: 2 } as const;
const BORDERLESS = 1;
const NO_PROGRESS = { state: 0, progress: 0 };

/** The commands that the library can run on a window or webview; all others are unsupported. */
export const WEBVIEW_COMMANDS: Readonly<Record<string, Perform>> = {
  'core:window:title': ({ window }) => window.title,
  'core:window:set-title': given(Type.String(), ({ window }, value) => window.setTitle(value)),
  'core:window:theme': ({ window }) => (window.theme === THEMES.dark ? 'dark' : 'light'),
  'core:window:set-theme': given(Type.Enum(['light', 'dark', 'system']), ({ window }, value) =>
    window.setTheme(THEMES[value]),
  ),
  'core:window:scale-factor': ({ window }) => window.scaleFactor(),
  'core:window:inner-size': ({ window }) => ({ ...window.getInnerSize(true) }),
  'core:window:outer-size': ({ window }) => ({ ...window.getOuterSize(true) }),
  'core:window:outer-position': ({ window }) => ({ ...window.getPosition(true) }),
  'core:window:set-size': given(Size, ({ window }, { width, height }) => window.setSize(width, height, true)),
  'core:window:set-min-size': given(Size, ({ window }, { width, height }) =>
    window.setMinSize(width, height, true),
  ),
  'core:window:set-max-size': given(Size, ({ window }, { width, height }) =>
    window.setMaxSize(width, height, true),
  ),
  'core:window:set-position': given(Position, ({ window }, { x, y }) => window.setPosition(x, y, true)),
  'core:window:center': act(({ window }) => window.center()),
  'core:window:show': act(({ window }) => window.show()),
  'core:window:hide': act(({ window }) => window.hide()),
  'core:window:set-focus': act(({ window }) => window.focus()),
  'core:window:minimize': act(({ window }) => window.setMinimized(true)),
  'core:window:unminimize': act(({ window }) => window.setMinimized(false)),
  'core:window:maximize': act(({ window }) => window.setMaximized(true)),
  'core:window:unmaximize': act(({ window }) => window.setMaximized(false)),
  'core:window:toggle-maximize': act(({ window }) => window.setMaximized(!window.isMaximized())),
  'core:window:internal-toggle-maximize': act(({ window }) => window.setMaximized(!window.isMaximized())),
  'core:window:is-visible': ({ window }) => window.isVisible(),
  'core:window:is-focused': ({ window }) => window.isFocused(),
  'core:window:is-decorated': ({ window }) => window.isDecorated(),
  'core:window:is-resizable': ({ window }) => window.isResizable(),
  'core:window:is-maximizable': ({ window }) => window.isMaximizable(),
  'core:window:is-minimizable': ({ window }) => window.isMinimizable(),
  'core:window:is-closable': ({ window }) => window.isClosable(),
  'core:window:is-maximized': ({ window }) => window.isMaximized(),
  'core:window:is-minimized': ({ window }) => window.isMinimized(),
  'core:window:is-fullscreen': ({ window }) => window.fullscreen !== null,
  'core:window:set-fullscreen': given(Type.Boolean(), ({ window }, value) =>
    window.setFullscreen(value ? BORDERLESS : null),
  ),
  'core:window:set-decorations': given(Type.Boolean(), ({ window }, value) => window.setDecorations(value)),
  'core:window:set-resizable': given(Type.Boolean(), ({ window }, value) => window.setResizable(value)),
  'core:window:set-maximizable': given(Type.Boolean(), ({ window }, value) => window.setMaximizable(value)),
  'core:window:set-minimizable': given(Type.Boolean(), ({ window }, value) => window.setMinimizable(value)),
  'core:window:set-closable': given(Type.Boolean(), ({ window }, value) => window.setClosable(value)),
  'core:window:set-always-on-top': given(Type.Boolean(), ({ window }, value) => window.setAlwaysOnTop(value)),
  'core:window:set-always-on-bottom': given(Type.Boolean(), ({ window }, value) =>
    window.setAlwaysOnBottom(value),
  ),
  'core:window:set-skip-taskbar': given(Type.Boolean(), ({ window }, value) => window.setSkipTaskbar(value)),
  'core:window:set-cursor-visible': given(Type.Boolean(), ({ window }, value) =>
    window.setCursorVisible(value),
  ),
  'core:window:set-progress-bar': given(
    Type.Union([Type.Null(), Type.Number({ minimum: 0, maximum: 100 })]),
    ({ window }, value) =>
      window.setProgressBar(value === null ? NO_PROGRESS : { state: 1, progress: value }),
  ),
  'core:window:available-monitors': ({ window }) => window.getAvailableMonitors().map(monitorView),
  'core:window:current-monitor': ({ window }) => orNull(window.getCurrentMonitor()),
  'core:window:primary-monitor': ({ window }) => orNull(window.getPrimaryMonitor()),
  'core:window:monitor-from-point': ({ window, value }) => {
    if (!Check(Position, value)) throw new Error('a position needs x and y');
    return orNull(window.getMonitorFromPoint(value.x, value.y));
  },
  'core:webview:webview-position': ({ webview }) => ({ x: webview.x ?? 0, y: webview.y ?? 0 }),
  'core:webview:webview-size': ({ webview }) => ({ width: webview.width ?? 0, height: webview.height ?? 0 }),
  'core:webview:set-webview-position': given(Position, ({ webview }, { x, y }) =>
    webview.setBounds({ x, y, width: webview.width ?? 0, height: webview.height ?? 0 }),
  ),
  'core:webview:set-webview-size': given(Size, ({ webview }, { width, height }) =>
    webview.setBounds({ x: webview.x ?? 0, y: webview.y ?? 0, width, height }),
  ),
  'core:webview:set-webview-focus': act(({ webview }) => webview.focus()),
  'core:webview:set-webview-zoom': given(Type.Number(), ({ webview }, value) => webview.zoom(value)),
  'core:webview:set-webview-background-color': given(Colour, ({ webview }, [r = 0, g = 0, b = 0, a = 0]) =>
    webview.setBackgroundColor(r, g, b, a),
  ),
  'core:webview:webview-show': act(({ webview }) => webview.setWebviewVisibility(true)),
  'core:webview:webview-hide': act(({ webview }) => webview.setWebviewVisibility(false)),
  'core:webview:print': act(({ webview }) => webview.print()),
  'core:webview:clear-all-browsing-data': act(({ webview }) => webview.clearAllBrowsingData()),
};

function act(run: (target: Target) => unknown): Perform {
  return (target) => {
    run(target);
    return null;
  };
}

function given<T extends TSchema>(schema: T, run: (target: Target, value: Static<T>) => unknown): Perform {
  return act((target) => {
    const { value } = target;
    if (!Check(schema, value)) throw new Error('the value has the wrong form');
    run(target, value);
  });
}

function monitorView({ name = '', scaleFactor, size, position }: Monitor): Json {
  return { name, scaleFactor, size: { ...size }, position: { ...position } };
}

const orNull = (monitor: Monitor | null): Json => (monitor === null ? null : monitorView(monitor));
