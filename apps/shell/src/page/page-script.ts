import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';

const BRIDGE = expressionIn('bridge.js');
const TITLE_WATCH = expressionIn('title-watch.js');
const CONSOLE_TRANSPORT = expressionIn('console-transport.js');

/** The function of a page that receives messages for its document. */
export const DELIVER_NAME = '__tidegate_deliver';

/** A key that only the bridge of one webview knows: 32 hexadecimal digits. */
export function newKey(): string {
  return randomBytes(16).toString('hex');
}

/** The script that defines `window.tidegate` in documents of this origin; `via` names the way out of the page. */
export function bridgeScript(settings: { origin: string; key: string; via: string }): string {
  return `(${BRIDGE})(${JSON.stringify({ ...settings, deliverName: DELIVER_NAME })});`;
}

/** The script that reports each title of a document; `via` names the way out of the page. */
export function titleWatchScript(via: string): string {
  return `(${TITLE_WATCH})(${JSON.stringify(via)});`;
}

/** The script that lets the console reach its server through the shell. */
export function consoleTransportScript(): string {
  return `(${CONSOLE_TRANSPORT})();`;
}

/** The script that delivers a message to a document. */
export function deliveryScript(document: string, text: string): string {
  return `globalThis.${DELIVER_NAME}?.(${JSON.stringify(document)},${JSON.stringify(text)})`;
}

function expressionIn(file: string): string {
  const text = readFileSync(new URL(file, import.meta.url), 'utf8');
  return text.trim().replace(/;$/, '');
}
