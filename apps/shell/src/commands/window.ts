import { Type } from 'typebox';
import { type Command, type CommandTable, command, done, failed, UNSUPPORTED } from '../core/commands.ts';
import type { ShellParts } from '../core/create-shell.ts';
import type { Json } from '../json.ts';

const strict = { additionalProperties: false };
const Label = Type.String({ maxLength: 100 });
const OfLabel = Type.Object({ label: Type.Optional(Label) }, strict);
const Side = Type.Number({ minimum: 1, maximum: 16_384 });

/** A command to the sender's own window or webview, or to the one of that label. */
const Named = Type.Object(
  { label: Type.Optional(Label), value: Type.Optional(Type.Unsafe<Json>(Type.Unknown())) },
  strict,
);
const NewWindow = Type.Object(
  {
    label: Label,
    path: Type.String(),
    title: Type.Optional(Type.String({ maxLength: 1_000 })),
    width: Type.Optional(Side),
    height: Type.Optional(Side),
  },
  strict,
);
const NewWebview = Type.Object(
  {
    ...{ label: Label, window: Type.Optional(Label), path: Type.String() },
    ...{ x: Type.Number(), y: Type.Number(), width: Side, height: Side },
  },
  strict,
);

/** Windows and webviews. The core answers what it knows; the backend does the rest, or does not support it. */
export function windowCommands({ windows, backend }: ShellParts): CommandTable {
  const createWindow = command(NewWindow, ({ label, path, title = 'Tidegate', width = 1200, height = 800 }) =>
    windows.open(label, { title, width, height, path }),
  );

  const toWindow = command(Named, async ({ label, value = null }, call) => {
    const target = label ?? call.sender.window;
    if (!windows.hasWindow(target)) return failed(`there is no window "${target}"`);
    return backend().perform({ command: call.command, target, args: value });
  });
  const toWebview = command(Named, async ({ label, value = null }, call) => {
    const target = label ?? call.sender.webview;
    if (!windows.hasWebview(target)) return failed(`there is no webview "${target}"`);
    const outcome = await backend().perform({ command: call.command, target, args: value });
    if (call.command === 'core:webview:webview-close' && outcome.kind === 'done')
      windows.forgetWebview(target);
    return outcome;
  });
  const byBackend: Command = (call) => {
    if (call.command.startsWith('core:window:')) return toWindow(call);
    return call.command.startsWith('core:webview:') ? toWebview(call) : UNSUPPORTED;
  };

  const commands = {
    'core:window:get-all-windows': command(Type.Object({}, strict), () => done(windows.windows())),
    'core:window:create': createWindow,
    'core:window:title': command(OfLabel, ({ label }, { sender }) => {
      const title = windows.titleOf(label ?? sender.window);
      return title === null ? failed(`there is no window "${label}"`) : done(title);
    }),
    'core:window:set-title': command(
      Type.Object({ label: Type.Optional(Label), value: Type.String({ maxLength: 1_000 }) }, strict),
      ({ label, value }, { sender }) => windows.setTitle(label ?? sender.window, value),
    ),
    // Shown before the window's title, the one place that both backends and every desktop have.
    'core:window:set-badge-count': command(
      Type.Object(
        {
          label: Type.Optional(Label),
          value: Type.Union([Type.Null(), Type.Integer({ minimum: 0, maximum: 999_999 })]),
        },
        strict,
      ),
      ({ label, value }, { sender }) =>
        windows.setBadge(label ?? sender.window, value ? String(value) : null),
    ),
    'core:window:set-badge-label': command(
      Type.Object(
        { label: Type.Optional(Label), value: Type.Union([Type.Null(), Type.String({ maxLength: 20 })]) },
        strict,
      ),
      ({ label, value }, { sender }) => windows.setBadge(label ?? sender.window, value || null),
    ),
    'core:webview:get-all-webviews': command(Type.Object({}, strict), () => done(windows.webviews())),
    'core:webview:create-webview-window': createWindow,
    'core:webview:create-webview': command(NewWebview, ({ label, window, ...spec }, { sender }) =>
      windows.openWebview(label, { window: window ?? sender.window, ...spec }),
    ),
  };
  return { commands, byBackend };
}
