import { type TSchema, Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Json } from '../json.ts';
import type { CdpPipe } from './cdp-pipe.ts';
import type { PageSession } from './page-session.ts';

const Bounds = Type.Object({
  windowId: Type.Integer(),
  bounds: Type.Object({
    left: Type.Optional(Type.Integer()),
    top: Type.Optional(Type.Integer()),
    width: Type.Optional(Type.Integer()),
    height: Type.Optional(Type.Integer()),
    windowState: Type.Optional(Type.String()),
  }),
});
const Evaluated = Type.Object({ result: Type.Object({ value: Type.Optional(Type.Unknown()) }) });
const Size = Type.Object({ width: Type.Number(), height: Type.Number() });
const Position = Type.Object({ x: Type.Number(), y: Type.Number() });

interface WindowCall {
  readonly cdp: CdpPipe;
  readonly page: PageSession;
  /** The `value` from the page, which the core has checked. */
  readonly value: Json | undefined;
}
type Perform = (call: WindowCall) => Promise<Json>;

/** The commands that Chromium can run on an app window; all others are unsupported. */
export const CHROMIUM_COMMANDS: Readonly<Record<string, Perform>> = {
  'core:window:title': (call) => read(call, Type.String(), 'document.title'),
  'core:window:set-title': async ({ page, value }) => {
    await page.setTitle(String(value));
    return null;
  },
  'core:window:inner-size': (call) => read(call, Size, '({ width: innerWidth, height: innerHeight })'),
  'core:window:scale-factor': (call) => read(call, Type.Number(), 'devicePixelRatio'),
  'core:window:is-focused': (call) => read(call, Type.Boolean(), 'document.hasFocus()'),
  'core:window:theme': (call) =>
    read(call, Type.String(), 'matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"'),
  'core:window:outer-size': async (call) => {
    const { width = 0, height = 0 } = (await boundsOf(call)).bounds;
    return { width, height };
  },
  'core:window:outer-position': async (call) => {
    const { left = 0, top = 0 } = (await boundsOf(call)).bounds;
    return { x: left, y: top };
  },
  'core:window:set-size': (call) => {
    if (!Check(Size, call.value)) throw new Error('a size needs width and height');
    return setBounds(call, { width: Math.round(call.value.width), height: Math.round(call.value.height) });
  },
  'core:window:set-position': (call) => {
    if (!Check(Position, call.value)) throw new Error('a position needs x and y');
    return setBounds(call, { left: Math.round(call.value.x), top: Math.round(call.value.y) });
  },
  'core:window:is-maximized': (call) => isInState(call, 'maximized'),
  'core:window:is-minimized': (call) => isInState(call, 'minimized'),
  'core:window:is-fullscreen': (call) => isInState(call, 'fullscreen'),
  'core:window:maximize': (call) => setState(call, 'maximized'),
  'core:window:unmaximize': (call) => setState(call, 'normal'),
  'core:window:toggle-maximize': toggleMaximize,
  'core:window:internal-toggle-maximize': toggleMaximize,
  'core:window:minimize': (call) => setState(call, 'minimized'),
  'core:window:unminimize': (call) => setState(call, 'normal'),
  'core:window:set-fullscreen': (call) => setState(call, call.value === true ? 'fullscreen' : 'normal'),
  'core:window:set-focus': bringToFront,
  'core:window:close': close,
  'core:window:destroy': close,
  'core:webview:set-webview-focus': bringToFront,
  'core:webview:webview-size': (call) => read(call, Size, '({ width: innerWidth, height: innerHeight })'),
  'core:webview:webview-close': close,
  'core:webview:clear-all-browsing-data': async ({ cdp, page }) => {
    await cdp.send('Storage.clearDataForOrigin', { origin: '*', storageTypes: 'all' }, page.session);
    return null;
  },
};

async function read<T extends TSchema>({ cdp, page }: WindowCall, schema: T, expression: string) {
  const params = { expression, returnByValue: true };
  const { result } = await cdp.ask(Evaluated, 'Runtime.evaluate', params, page.session);
  if (!Check(schema, result.value)) throw new Error('the page sent an unknown response');
  return result.value;
}

const boundsOf = ({ cdp, page }: WindowCall) =>
  cdp.ask(Bounds, 'Browser.getWindowForTarget', { targetId: page.target });

async function setBounds(call: WindowCall, bounds: object): Promise<null> {
  const { windowId } = await boundsOf(call);
  await call.cdp.send('Browser.setWindowBounds', { windowId, bounds });
  return null;
}

async function isInState(call: WindowCall, state: string): Promise<boolean> {
  return (await boundsOf(call)).bounds.windowState === state;
}

const setState = (call: WindowCall, windowState: string) => setBounds(call, { windowState });

async function toggleMaximize(call: WindowCall): Promise<null> {
  return setState(call, (await isInState(call, 'maximized')) ? 'normal' : 'maximized');
}

async function bringToFront({ cdp, page }: WindowCall): Promise<null> {
  await cdp.send('Page.bringToFront', {}, page.session);
  return null;
}

async function close({ page }: WindowCall): Promise<null> {
  await page.close();
  return null;
}
