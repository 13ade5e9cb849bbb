import type { Readable, Writable } from 'node:stream';
import type { TSchema } from 'typebox';
import { Type } from 'typebox';
import { Check } from 'typebox/value';

/** The largest message that is read: a request with the largest body, as base64. */
const MESSAGE_MAX_BYTES = 32 * 1024 * 1024;

const Message = Type.Object({
  id: Type.Optional(Type.Integer()),
  method: Type.Optional(Type.String()),
  params: Type.Optional(Type.Unknown()),
  sessionId: Type.Optional(Type.String()),
  result: Type.Optional(Type.Unknown()),
  error: Type.Optional(Type.Object({ message: Type.String() })),
});

export type CdpEvent = { readonly method: string; readonly params: unknown; readonly session: string | null };

/** Chromium's debugging protocol over two pipes, so there is no port that others could connect to. */
export interface CdpPipe {
  /** Rejects with Chromium's error, or when the pipe ends. */
  send(method: string, params?: object, session?: string): Promise<unknown>;
  /** The same, with the response checked against a schema. */
  ask<T extends TSchema>(
    schema: T,
    method: string,
    params?: object,
    session?: string,
  ): Promise<Type.Static<T>>;
  /** Whether Chromium can still answer. */
  isOpen(): boolean;
}

export function openCdpPipe(
  { write, read }: { write: Writable; read: Readable },
  on: { event(event: CdpEvent): void; ended(): void },
): CdpPipe {
  const pending = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>();
  let lastId = 0;
  let isOpen = true;
  let rest = Buffer.alloc(0);

  function end(): void {
    if (!isOpen) return;
    isOpen = false;
    for (const { reject } of pending.values()) reject(new Error('Chromium has ended'));
    pending.clear();
    on.ended();
  }

  read.on('data', (chunk: Buffer) => {
    rest = Buffer.concat([rest, chunk]);
    for (let at = rest.indexOf(0); at !== -1; at = rest.indexOf(0)) {
      take(rest.toString('utf8', 0, at));
      rest = rest.subarray(at + 1);
    }
    if (rest.length > MESSAGE_MAX_BYTES) read.destroy();
  });
  for (const stream of [read, write]) stream.on('close', end).on('error', end);

  function take(text: string): void {
    const message: unknown = JSON.parse(text);
    if (!Check(Message, message)) return;
    if (message.method !== undefined) {
      on.event({ method: message.method, params: message.params, session: message.sessionId ?? null });
      return;
    }
    const call = message.id === undefined ? undefined : pending.get(message.id);
    if (call === undefined || message.id === undefined) return;
    pending.delete(message.id);
    if (message.error) call.reject(new Error(message.error.message));
    else call.resolve(message.result);
  }

  async function send(method: string, params: object = {}, session?: string): Promise<unknown> {
    if (!isOpen) throw new Error('Chromium has ended');
    const id = ++lastId;
    const { promise, resolve, reject } = Promise.withResolvers<unknown>();
    pending.set(id, { resolve, reject });
    const message = { id, method, params, ...(session === undefined ? {} : { sessionId: session }) };
    write.write(`${JSON.stringify(message)}\0`);
    return promise;
  }

  return {
    send,
    isOpen: () => isOpen,
    async ask(schema, method, params, session) {
      const answer = await send(method, params, session);
      if (!Check(schema, answer)) throw new Error(`Chromium sent an unknown response to ${method}`);
      return answer;
    },
  };
}
