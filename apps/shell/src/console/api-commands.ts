import { type Scope, scopeAllows, type Value } from '@tidegate/capability';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Sender } from '../backend.ts';
import { type Commands, command, done, failed } from '../core/commands.ts';
import type { EventHub } from '../core/event-hub.ts';
import { API_PATH_MAX_CHARS, type ApiPath, plainPath, readApiPath } from './api-path.ts';
import { followStream } from './follow-stream.ts';
import type { ServerConnection } from './server-connection.ts';

/** The most streams of one webview; the console has one, and one for each output on screen. */
const STREAMS_MAX = 8;
const strict = { additionalProperties: false };
const METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE'] as const;
const Path = Type.String({ pattern: '^/(api|logs)/', maxLength: API_PATH_MAX_CHARS });

const Request = Type.Object(
  {
    method: Type.Enum(METHODS),
    path: Path,
    headers: Type.Record(Type.String({ pattern: '^[a-z-]{1,40}$' }), Type.String({ maxLength: 1_000 })),
    body: Type.Union([Type.Null(), Type.String()]),
  },
  strict,
);
const Name = Type.String({ pattern: '^stream-[0-9a-f-]{36}$' });
const Stream = Type.Object(
  {
    name: Name,
    path: Type.String({ pattern: '^/api/v1/(stream|commands/[0-9a-f-]{36}/output)(\\?[\\w=&-]*)?$' }),
  },
  strict,
);
const ScopeEntry = Type.Object(
  { method: Type.Optional(Type.Enum(METHODS)), path: Type.String({ pattern: '^/' }) },
  strict,
);

/** The commands by which a page of the console reaches its server; a scope restricts the paths. */
export function apiCommands(
  connection: ServerConnection,
  events: EventHub,
  /** Aborted when the shell ends; ends every stream. */
  ending: AbortSignal,
): Commands {
  const streams = new Map<string, { sender: Sender; abort: AbortController }>();
  const keyOf = ({ document }: Sender, name: string) => `${document} ${name}`;

  function end(key: string): void {
    streams.get(key)?.abort.abort();
    streams.delete(key);
  }

  /** A webview has one document at a time: the streams of its previous document are ended. */
  function countOf({ webview, document }: Sender): number {
    for (const [key, { sender }] of streams)
      if (sender.webview === webview && sender.document !== document) end(key);
    return [...streams.values()].filter(({ sender }) => sender.webview === webview).length;
  }

  return {
    'api-request': command(Request, async (request, { scope }) => {
      const read = pathInScope(scope, request.method, request.path);
      if (!read.ok) return failed(read.detail);
      const { status, headers, body } = await connection.request({ ...request, path: read.path });
      return done({ status, headers, body });
    }),
    'api-stream-open': command(Stream, ({ name, path }, { sender, scope }) => {
      const read = pathInScope(scope, 'GET', path);
      if (!read.ok) return failed(read.detail);
      if (countOf(sender) >= STREAMS_MAX) return failed(`a webview follows at most ${STREAMS_MAX} streams`);
      const key = keyOf(sender, name);
      const abort = new AbortController();
      streams.set(key, { sender, abort });
      const send = (payload: Record<string, string>) => {
        // The document or its window is gone.
        if (!events.emitTo(sender, name, payload)) end(key);
      };
      const listener = {
        open: () => send({ kind: 'open' }),
        message: ({ event, data, id }: { event: string; data: string; id: string }) =>
          send({ kind: 'message', event, data, id }),
        lost: () => send({ kind: 'lost' }),
        closed: () => send({ kind: 'closed' }),
      };
      void followStream(connection, read.path, listener, AbortSignal.any([abort.signal, ending])).finally(
        () => end(key),
      );
      return done();
    }),
    'api-stream-close': command(Type.Object({ name: Name }, strict), ({ name }, { sender }) => {
      end(keyOf(sender, name));
      return done();
    }),
  };
}

/** The path in the normal form in which it is checked and called; refused if it is outside the scope. */
function pathInScope(
  scope: Scope,
  method: string,
  text: string,
): { ok: true; path: ApiPath } | { ok: false; detail: string } {
  const read = readApiPath(text);
  const shown = text.split('?')[0];
  if (!read.ok) return { ok: false, detail: `${shown} ${read.detail}` };
  if (isInScope(scope, method, read.path.pathname)) return read;
  return { ok: false, detail: `${shown} is outside the scope of the permission` };
}

/** `{ "method": "GET", "path": "/api/v1/updates/*" }`; a final star matches anything. The query is ignored. */
function isInScope(scope: Scope, method: string, pathname: string): boolean {
  // An entry of another form or spelling could be a denial that has no effect.
  if (![...scope.allow, ...scope.deny].every(isEntry)) return false;
  return scopeAllows(scope, { method, path: pathname }, matches);
}

/** Whether an entry names paths in the normal form in which they are checked. */
function isEntry(entry: Value): boolean {
  if (!Check(ScopeEntry, entry)) return false;
  // A star may stand for a whole, non-empty segment.
  const example = entry.path.replace(/\*$/, 'x');
  return plainPath(example) === example;
}

function matches(entry: Value, asked: Value): boolean {
  if (!Check(ScopeEntry, entry) || !Check(ScopeEntry, asked)) return false;
  if (entry.method !== undefined && entry.method !== asked.method) return false;
  return entry.path.endsWith('*')
    ? asked.path.startsWith(entry.path.slice(0, -1))
    : asked.path === entry.path;
}
