// Runs in every document before the page's scripts, and captures the builtins that it needs before a page can change
// them. Plain JavaScript: the backends send the text of this expression to the page as it is.
({ origin, key, via, deliverName }) => {
  // A frame, a document of another origin, and blob: or data: documents get nothing.
  if (window.top !== window || !location.href.startsWith(`${origin}/`)) return;

  const { stringify, parse } = JSON;
  const PagePromise = Promise;
  const PageError = Error;
  const { freeze, defineProperty } = Object;
  const post = postThrough(via);
  const document = randomName();
  // No prototype, so that changes to Object.prototype do not affect these.
  const pending = { __proto__: null };
  const listeners = { __proto__: null };
  let lastId = 0;

  // Concatenated, never put into an object, so that a toJSON of the page cannot read the key.
  const send = (body) => post(key + document + body);

  const invoke = (command, args = {}) =>
    new PagePromise((resolve, reject) => {
      const id = ++lastId;
      const text = stringify(args);
      pending[id] = { __proto__: null, resolve, reject };
      send(`{"id":${id},"command":${stringify(`${command}`)},"args":${text === undefined ? '{}' : text}}`);
    });

  /** Calls the handler for each event of that name; the returned function stops it. */
  const listen = async (event, handler) => {
    const id = await invoke('core:event:listen', { event });
    listeners[id] = handler;
    return () => {
      delete listeners[id];
      return invoke('core:event:unlisten', { event, id });
    };
  };

  const deliver = (to, text) => {
    if (to !== document) return;
    const message = parse(text);
    if (message.event !== undefined) {
      listeners[message.listener]?.(freeze({ event: message.event, payload: message.payload }));
      return;
    }
    const call = pending[message.id];
    if (call === undefined) return;
    delete pending[message.id];
    if (message.ok) call.resolve(message.value);
    else call.reject(new PageError(message.error));
  };

  const fixed = (value) => ({
    __proto__: null,
    value,
    writable: false,
    enumerable: false,
    configurable: false,
  });
  defineProperty(window, deliverName, fixed(deliver));
  defineProperty(window, 'tidegate', fixed(freeze({ invoke, listen })));
  send('');

  function postThrough(way) {
    if (way === 'webkit') {
      const handler = window.webkit.messageHandlers.ipc;
      return handler.postMessage.bind(handler);
    }
    const binding = window[way];
    delete window[way];
    return binding;
  }

  function randomName() {
    let name = '';
    for (const byte of crypto.getRandomValues(new Uint8Array(16))) name += (byte + 256).toString(16).slice(1);
    return name;
  }
};
