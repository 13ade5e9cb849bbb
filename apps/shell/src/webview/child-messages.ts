import { type Static, Type } from 'typebox';
import type { Json } from '../json.ts';

// The messages between the shell and the process that holds its windows. The windows draw content from a server, so
// nothing that comes from them is trusted before it is checked.

const Outcome = Type.Union([
  Type.Object({ kind: Type.Literal('done'), value: Type.Unsafe<Json>(Type.Unknown()) }),
  Type.Object({ kind: Type.Literal('unsupported') }),
  Type.Object({ kind: Type.Literal('failed'), detail: Type.String() }),
]);

/** From the windows to the shell. */
export const FromChild = Type.Union([
  Type.Object({ kind: Type.Literal('ready') }),
  Type.Object({ kind: Type.Literal('cannot'), detail: Type.String() }),
  Type.Object({
    kind: Type.Literal('message'),
    webview: Type.String(),
    document: Type.String(),
    body: Type.String(),
  }),
  Type.Object({
    kind: Type.Literal('dropped'),
    webview: Type.String(),
    cause: Type.Enum(['not_the_top_document', 'wrong_key', 'not_the_current_document', 'too_large']),
  }),
  Type.Object({ kind: Type.Literal('blocked'), webview: Type.String(), url: Type.String() }),
  Type.Object({ kind: Type.Literal('recovered'), webview: Type.String(), cause: Type.String() }),
  Type.Object({ kind: Type.Literal('title'), webview: Type.String(), title: Type.String() }),
  Type.Object({ kind: Type.Literal('closed'), window: Type.String() }),
  Type.Object({ kind: Type.Literal('serve'), id: Type.Integer(), path: Type.String() }),
  Type.Object({ kind: Type.Literal('outcome'), id: Type.Integer(), outcome: Outcome }),
]);
export type FromChild = Static<typeof FromChild>;

const WindowSpec = Type.Object({
  title: Type.String(),
  width: Type.Number(),
  height: Type.Number(),
  path: Type.String(),
});
const WebviewSpec = Type.Object({
  window: Type.String(),
  x: Type.Number(),
  y: Type.Number(),
  width: Type.Number(),
  height: Type.Number(),
  path: Type.String(),
});

/** From the shell to the windows. */
export const ToChild = Type.Union([
  Type.Object({
    kind: Type.Literal('start'),
    pageScript: Type.String(),
    dataFolder: Type.String(),
  }),
  Type.Object({ kind: Type.Literal('window'), id: Type.Integer(), label: Type.String(), spec: WindowSpec }),
  Type.Object({ kind: Type.Literal('webview'), id: Type.Integer(), label: Type.String(), spec: WebviewSpec }),
  Type.Object({
    kind: Type.Literal('perform'),
    id: Type.Integer(),
    command: Type.String(),
    target: Type.String(),
    value: Type.Unknown(),
  }),
  Type.Object({
    kind: Type.Literal('deliver'),
    webview: Type.String(),
    document: Type.String(),
    text: Type.String(),
  }),
  Type.Object({
    kind: Type.Literal('file'),
    id: Type.Integer(),
    status: Type.Integer(),
    headers: Type.Record(Type.String(), Type.String()),
    body: Type.Unsafe<Uint8Array>(Type.Unknown()),
  }),
]);
export type ToChild = Static<typeof ToChild>;
