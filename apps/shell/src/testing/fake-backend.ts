import { parseCapabilityFile, resolve } from '@tidegate/capability';
import type { Backend, BackendEvents, Outcome, Sender } from '../backend.ts';
import { appCommands } from '../commands/app.ts';
import { eventCommands } from '../commands/event.ts';
import { imageCommands } from '../commands/image.ts';
import { pathCommands } from '../commands/path.ts';
import { resourceCommands } from '../commands/resources.ts';
import { windowCommands } from '../commands/window.ts';
import type { Commands } from '../core/commands.ts';
import { createShell } from '../core/create-shell.ts';
import { createLog } from '../log.ts';

export const MAIN: Sender = { window: 'main', webview: 'main', document: 'd1', origin: 'local' };

/** The rules of a capability file on Linux. */
export function aclOf(file: unknown) {
  const read = parseCapabilityFile(file);
  const resolved = 'errors' in read ? read : resolve(read.capabilities, { platform: 'linux' });
  if ('errors' in resolved) throw new Error(JSON.stringify(resolved.errors));
  return resolved.acl;
}

/** The shell over a backend without real windows; its clock only moves when a test sets it. */
export async function createFakeShell(capabilities: unknown, more: Commands = {}) {
  const lines: string[] = [];
  const performed: string[] = [];
  const delivered: { to: string; text: string }[] = [];
  const answers = new Map<number, (answer: unknown) => void>();
  const clock = { now: 0 };
  const state = { outcome: { kind: 'done', value: null } satisfies Outcome as Outcome };
  const held: { events: BackendEvents | null } = { events: null };
  const backend: Backend = {
    name: 'chromium',
    origin: 'https://fake.invalid',
    async createWindow(label) {
      performed.push(`createWindow ${label}`);
      return state.outcome;
    },
    async createWebview(label) {
      performed.push(`createWebview ${label}`);
      return state.outcome;
    },
    async perform({ command, target, args }) {
      performed.push(`${command} ${target} ${JSON.stringify(args)}`);
      return state.outcome;
    },
    deliver({ document }, text) {
      delivered.push({ to: document, text });
      const { id, ...rest } = JSON.parse(text);
      answers.get(id)?.(rest);
    },
    close: async () => {},
  };
  const created = await createShell({
    acl: aclOf(capabilities),
    log: createLog((line) => lines.push(line)),
    now: () => clock.now,
    titleOf: (title) => `${title} (fake)`,
    commands(parts) {
      const windows = windowCommands(parts);
      const commands = {
        ...appCommands(parts),
        ...eventCommands(parts.events),
        ...imageCommands(parts.resources),
        ...resourceCommands(parts.resources),
        ...pathCommands({ HOME: '/home/olga' }),
        ...windows.commands,
        ...more,
      };
      return { commands, byBackend: windows.byBackend };
    },
    async openBackend(events) {
      held.events = events;
      return { ok: true, backend };
    },
  });
  if (!created.ok || held.events === null) throw new Error('no shell');
  const { events } = held;
  const { shell } = created;
  await shell.openWindow('main', { title: 'Main', width: 10, height: 10, path: '/' });
  performed.length = 0;
  let lastId = 0;
  return {
    ...{ shell, events, lines, performed, delivered, clock, state },
    /** The reply that the page gets. */
    async call(command: string, args: unknown = {}, sender: Sender = MAIN): Promise<unknown> {
      const id = ++lastId;
      const { promise, resolve: answer } = Promise.withResolvers<unknown>();
      answers.set(id, answer);
      events.message(sender, JSON.stringify({ id, command, args }));
      return promise;
    },
  };
}
