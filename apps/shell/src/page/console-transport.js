// Runs after the bridge. The console calls its server as in any browser; here the calls go to the shell, which holds the
// session and calls the server. The page has neither the session nor access to the network.
() => {
  const { tidegate } = window;
  if (tidegate === undefined) return;
  const pageFetch = window.fetch.bind(window);
  const isOfServer = (path) => path.startsWith('/api/') || path.startsWith('/logs/');
  /** Statuses for which Response allows no body. */
  const EMPTY = new Set([101, 204, 205, 304]);

  window.fetch = async (input, init = {}) => {
    if (typeof input !== 'string' || !isOfServer(input)) return pageFetch(input, init);
    const { method = 'GET', headers = {}, body = null, signal } = init;
    signal?.throwIfAborted();
    const asked = tidegate.invoke('api-request', {
      ...{ method, path: input, body },
      headers: Object.fromEntries(new Headers(headers)),
    });
    const answer = await unlessAborted(asked, signal);
    return new Response(EMPTY.has(answer.status) ? null : answer.body, {
      status: answer.status,
      headers: answer.headers,
    });
  };

  /** Works like the browser's; the shell reopens it, and only the page or a refusal closes it for good. */
  window.EventSource = class ShellEventSource extends EventTarget {
    static CONNECTING = 0;
    static OPEN = 1;
    static CLOSED = 2;
    readyState = 0;
    #end = null;

    constructor(path) {
      super();
      this.#follow(path).catch(() => this.#fail());
    }

    async #follow(path) {
      const name = `stream-${crypto.randomUUID()}`;
      const stop = await tidegate.listen(name, ({ payload }) => this.#take(payload));
      this.#end = () => {
        void stop().catch(() => {});
        void tidegate.invoke('api-stream-close', { name }).catch(() => {});
      };
      if (this.readyState === 2) return this.#end();
      await tidegate.invoke('api-stream-open', { name, path });
    }

    #take({ kind, event, data, id }) {
      if (this.readyState === 2) return;
      if (kind === 'message') {
        this.dispatchEvent(new MessageEvent(event, { data, lastEventId: id }));
        return;
      }
      this.readyState = kind === 'open' ? 1 : kind === 'closed' ? 2 : 0;
      this.dispatchEvent(new Event(kind === 'open' ? 'open' : 'error'));
      if (kind === 'closed') this.#end?.();
    }

    #fail() {
      this.readyState = 2;
      this.dispatchEvent(new Event('error'));
    }

    close() {
      if (this.readyState === 2) return;
      this.readyState = 2;
      this.#end?.();
    }
  };

  /** The most UTF-16 units of a text in one message, as the shell allows. */
  const PIECE = 300_000;

  /** Replaces a browser's download: the shell writes the file and returns its path. */
  window.saveInDownloads = async (name, text) => {
    for (let from = 0; ; from += PIECE) {
      const isLast = from + PIECE >= text.length;
      const piece = { name, text: text.slice(from, from + PIECE), isFirst: from === 0, isLast };
      const path = await tidegate.invoke('file-save', piece);
      if (isLast) return path;
    }
  };

  // A passkey belongs to the server's address, which this page does not have.
  window.PublicKeyCredential = undefined;

  async function unlessAborted(asked, signal) {
    if (signal === undefined || signal === null) return asTypeError(asked);
    const { promise, reject } = Promise.withResolvers();
    const abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    try {
      return await Promise.race([asTypeError(asked), promise]);
    } finally {
      signal.removeEventListener('abort', abort);
    }
  }

  /** Rejects with the error that fetch has when nobody answers. */
  async function asTypeError(asked) {
    try {
      return await asked;
    } catch (error) {
      throw new TypeError(error.message);
    }
  }
};
