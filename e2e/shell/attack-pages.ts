/** The tools of every story page: `tell` sends a report to the story, `attempt` tries a call and reports the result. */
const TOOLS = `
  const tell = (report) => { new Image().src = '/report?' + new URLSearchParams(report); };
  const attempt = async (as, command, args) => {
    try { tell({ as, ok: JSON.stringify(await tidegate.invoke(command, args)) }); }
    catch (error) { tell({ as, error: error.message }); }
  };
`;

/** A document with its own script. */
export const page = (script: string): string =>
  `<!doctype html><title>Story</title><h1>A page of the story</h1><script>${TOOLS}${script}</script>`;

/** Every way out of a document that foreign content could find, with guessed keys. */
export const RAW_ATTEMPTS = `
  const plain = { id: 1, command: 'api-request', args: { method: 'POST', path: '/api/v1/stolen', headers: {}, body: null } };
  const call = JSON.stringify(plain);
  const asAdmin = JSON.stringify({ ...plain, window: 'admin', webview: 'admin' });
  const texts = ['0'.repeat(64), '0'.repeat(64) + call, '0'.repeat(64) + asAdmin, call, JSON.stringify({ __e: true, ns: 'tidegate', method: 'invoke', id: 1, args: [] })];
  for (const text of texts) {
    try { window.webkit.messageHandlers.ipc.postMessage(text); } catch {}
    try { window.ipc.postMessage(text); } catch {}
    try { window.__tidegate_send(text); } catch {}
  }
  try { tidegate.invoke('api-request', { method: 'POST', path: '/api/v1/stolen', headers: {}, body: null }); } catch {}
  try { parent.postMessage('tried', '*'); } catch {}
`;

const raw = `<script>${RAW_ATTEMPTS}</script>`;
const encoded = encodeURIComponent(raw).replaceAll("'", '%27');

/** Creates a frame of each kind in turn; a frame reports that it tried, or does not load at all. */
export const FRAMES = page(`
  const frames = {
    'same-origin': (frame) => { frame.src = '/frame'; },
    srcdoc: (frame) => { frame.srcdoc = ${JSON.stringify(raw).replaceAll('</', '<\\/')}; },
    sandbox: (frame) => { frame.sandbox = 'allow-scripts'; frame.srcdoc = ${JSON.stringify(raw).replaceAll('</', '<\\/')}; },
    data: (frame) => { frame.src = 'data:text/html,${encoded}'; },
    blob: (frame) => { frame.src = URL.createObjectURL(new Blob([${JSON.stringify(raw).replaceAll('</', '<\\/')}], { type: 'text/html' })); },
    foreign: (frame) => { frame.src = new URLSearchParams(location.search).get('foreign'); },
  };
  (async () => {
    for (const [name, make] of Object.entries(frames)) {
      const frame = document.createElement('iframe');
      const tried = new Promise((resolve) => addEventListener('message', () => resolve('tried'), { once: true }));
      make(frame);
      document.body.append(frame);
      // A frame that is kept from loading reports nothing. That of the same origin loads, however long it takes.
      const silent = new Promise((resolve) => setTimeout(resolve, 1500, 'silent'));
      const how = await (name === 'same-origin' ? tried : Promise.race([tried, silent]));
      tell({ frame: name, how });
      frame.remove();
    }
    await attempt('after', 'core:app:version');
  })();
`);
export const FRAME = `<!doctype html>${raw}`;

/** The page tries to navigate to another document; if that fails, it reports that it is still there. */
export const leaveFor = (target: string): string =>
  page(`
    (async () => {
      await attempt('before', 'core:app:version');
      const target = ${target};
      setTimeout(() => attempt('still-here', 'core:app:version'), 1500);
      location.href = target;
    })();
  `);

export const BLOB_DOCUMENT = leaveFor(
  `URL.createObjectURL(new Blob([${JSON.stringify(raw).replaceAll('</', '<\\/')}], { type: 'text/html' }))`,
);
export const DATA_DOCUMENT = leaveFor(`'data:text/html,${encoded}'`);

/** Replaces builtins that the bridge could use and collects every value that passes through them. */
export const POISON = page(`
  const seen = [];
  const keep = (value) => { try { seen.push(typeof value === 'string' ? value : String(value)); } catch {} };
  Object.prototype.toJSON = function () { keep(Object.values(this).join(' ')); return this; };
  String.prototype.toJSON = function () { keep(this); return String(this); };
  const { stringify, parse } = JSON;
  JSON.stringify = (...args) => { keep(args[0]); return stringify(...args); };
  JSON.parse = (...args) => { keep(args[0]); return parse(...args); };
  for (const name of ['concat', 'slice', 'toString', 'replace', 'padStart']) {
    const own = String.prototype[name];
    String.prototype[name] = function (...args) { keep(this); return own.apply(this, args); };
  }
  for (const type of [Map, Set, Array, Promise]) {
    for (const name of ['set', 'get', 'add', 'push', 'join', 'then']) {
      const own = type.prototype[name];
      if (own) type.prototype[name] = function (...args) { args.forEach(keep); return own.apply(this, args); };
    }
  }
  const fake = { postMessage: keep };
  try { Object.defineProperty(window, 'webkit', { value: { messageHandlers: { ipc: fake } } }); } catch {}
  try { window.ipc = fake; } catch {}
  try { window.__tidegate_send = keep; } catch {}
  (async () => {
    let answer = '';
    try { answer = await tidegate.invoke('core:app:version', { unknown: 1 }); } catch (error) { answer = error.message; }
    const stolen = seen.filter((text) => /[0-9a-f]{32}/.test(text)).length;
    const pinned = ['tidegate', '__tidegate_deliver'].filter((name) => { try { window[name] = 1; } catch {} return window[name] !== 1; });
    tell({ as: 'poison', answer, stolen, seen: seen.length, pinned: pinned.length });
  })();
`);
