import type { Acl } from '@tidegate/capability';
import type { Backend, BackendEvents, Outcome, Sender, WindowSpec } from '../backend.ts';
import type { Log } from '../log.ts';
import { type AnswerDeps, answerCall, readCall } from './answer-call.ts';
import { type Budget, createBudget } from './budget.ts';
import type { CommandTable } from './commands.ts';
import { createEventHub, type EventHub } from './event-hub.ts';
import { createResourceTable, type ResourceTable } from './resource-table.ts';
import { createWindowRegistry, type WindowRegistry } from './window-registry.ts';

/** The messages of one webview: the console sends some tens when a page opens. */
const MESSAGES = { perSecond: 200, burst: 400 };
/** The most open calls of one webview. */
const OPEN_CALLS_MAX = 64;
/** The log lines that pages can cause. */
const LINES = { perSecond: 1, burst: 100 };

/** The parts that commands use. */
export interface ShellParts {
  readonly windows: WindowRegistry;
  readonly events: EventHub;
  readonly resources: ResourceTable;
  readonly backend: () => Backend;
}

export interface Shell {
  readonly windows: WindowRegistry;
  readonly events: EventHub;
  openWindow(label: string, spec: WindowSpec): Promise<Outcome>;
  /** Resolves once the last window is closed or the backend has ended. */
  readonly ended: Promise<string>;
  close(): Promise<void>;
}

export interface ShellOptions {
  readonly acl: Acl;
  readonly log: Log;
  /** A monotonic clock in milliseconds. */
  readonly now: () => number;
  /** Makes the title of a window from that of its document. */
  titleOf(document: string): string;
  commands(parts: ShellParts): CommandTable;
  openBackend(events: BackendEvents): Promise<{ ok: true; backend: Backend } | { ok: false; detail: string }>;
}

export type Created = { ok: true; shell: Shell } | { ok: false; detail: string };

/** The core over one backend: every message passes the budget, then the gate, then its command. */
export async function createShell(options: ShellOptions): Promise<Created> {
  const { acl, log, now } = options;
  const { promise: ended, resolve: end } = Promise.withResolvers<string>();
  const budgets = new Map<string, Budget>();
  const openCalls = new Map<string, number>();
  const lines = createBudget(LINES, now);
  let held: Backend | null = null;

  const backend = (): Backend => {
    if (held === null) throw new Error('there is no backend yet');
    return held;
  };
  const windows = createWindowRegistry(backend, options.titleOf);
  const events = createEventHub((to, text) => held?.deliver(to, text));
  const resources = createResourceTable();
  const table = options.commands({ windows, events, resources, backend });

  /** Limits the lines that pages cause: a flood of refusals must not flood the log. */
  function note(message: string, fields: Record<string, string>): void {
    if (lines.take()) log.security(message, fields);
  }

  function budgetOf(webview: string): Budget {
    const budget = budgets.get(webview) ?? createBudget(MESSAGES, now);
    budgets.set(webview, budget);
    return budget;
  }

  async function take(sender: Sender, body: string): Promise<void> {
    const { window, webview } = sender;
    const call = budgetOf(webview).take() ? readCall(body) : null;
    if (call === null) return note('message_dropped', { webview, cause: 'not_a_call_or_too_many' });
    const open = openCalls.get(webview) ?? 0;
    const reply = (answer: object) => backend().deliver(sender, JSON.stringify(answer));
    if (open >= OPEN_CALLS_MAX) return reply({ id: call.id, ok: false, error: 'Too many calls at a time' });
    if (!windows.hasWindow(window)) return;
    openCalls.set(webview, open + 1);
    try {
      const deps: AnswerDeps = { acl, table, backendName: backend().name, refused };
      reply(await answerCall(deps, sender, call));
    } finally {
      openCalls.set(webview, (openCalls.get(webview) ?? 1) - 1);
    }
  }

  function refused(
    { window, webview, origin }: Sender,
    { command, reason }: { command: string; reason: string },
  ) {
    note('call_refused', { command, window, webview, origin, reason });
  }

  const opened = await options.openBackend({
    message: (sender, body) => void take(sender, body),
    dropped: (webview, cause) => note('message_dropped', { webview, cause }),
    blocked: (webview, url) => note('navigation_blocked', { webview, url: url.slice(0, 200) }),
    recovered: (webview, cause) => log.warn('page loaded again', { webview, cause }),
    windowClosed(window) {
      for (const { label, window: of } of windows.webviews()) {
        if (of !== window) continue;
        resources.forget(label);
        for (const map of [budgets, openCalls]) map.delete(label);
      }
      windows.forget(window);
      events.forgetWindow(window);
      if (windows.windows().length === 0) end('the last window was closed');
    },
    titleChanged: (window, title) => void windows.followTitle(window, title).catch(() => {}),
    noted: (line) => log.warn('windows', { line: line.slice(0, 500) }),
    ended: (cause) => end(cause),
  });
  if (!opened.ok) return opened;
  held = opened.backend;
  return {
    ok: true,
    shell: {
      windows,
      events,
      openWindow: (label, spec) => windows.open(label, spec),
      ended,
      close: () => opened.backend.close(),
    },
  };
}
