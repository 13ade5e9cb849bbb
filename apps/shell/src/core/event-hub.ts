import type { Backend, Sender } from '../backend.ts';
import type { Json } from '../json.ts';

/** The most listeners of one webview: only a page that forgets to remove them reaches this limit. */
export const LISTENERS_MAX = 256;

interface Listener {
  readonly event: string;
  readonly sender: Sender;
}

/** Events between webviews, and from the shell to them. */
export interface EventHub {
  /** Null if the webview has too many already. */
  listen(sender: Sender, event: string): number | null;
  unlisten(sender: Sender, id: number): void;
  /** Sends to every listener of that name, or only to those in the window or webview of that label. */
  emit(event: string, payload: Json, to?: string): void;
  /** Sends to one document; false if it is not listening. */
  emitTo(document: Pick<Sender, 'webview' | 'document'>, event: string, payload: Json): boolean;
  forgetWindow(window: string): void;
}

export function createEventHub(deliver: Backend['deliver']): EventHub {
  const listeners = new Map<number, Listener>();
  let lastId = 0;

  function send(id: number, { event, sender }: Listener, payload: Json): void {
    deliver(sender, JSON.stringify({ listener: id, event, payload }));
  }

  return {
    listen(sender, event) {
      let count = 0;
      for (const [id, held] of listeners) {
        if (held.sender.webview !== sender.webview) continue;
        // A webview has one document at a time: the listeners of earlier ones are removed.
        if (held.sender.document !== sender.document) listeners.delete(id);
        else count += 1;
      }
      if (count >= LISTENERS_MAX) return null;
      listeners.set(++lastId, { event, sender });
      return lastId;
    },
    unlisten({ webview, document }, id) {
      const held = listeners.get(id);
      if (held?.sender.webview === webview && held.sender.document === document) listeners.delete(id);
    },
    emit(event, payload, to) {
      for (const [id, held] of listeners) {
        const isMeant = to === undefined || held.sender.webview === to || held.sender.window === to;
        if (held.event === event && isMeant) send(id, held, payload);
      }
    },
    emitTo({ webview, document }, event, payload) {
      let isHeard = false;
      for (const [id, held] of listeners) {
        const isMeant = held.sender.webview === webview && held.sender.document === document;
        if (held.event !== event || !isMeant) continue;
        isHeard = true;
        send(id, held, payload);
      }
      return isHeard;
    },
    forgetWindow(window) {
      for (const [id, held] of listeners) if (held.sender.window === window) listeners.delete(id);
    },
  };
}
