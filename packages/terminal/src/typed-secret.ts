import type { ReadStream } from 'node:tty';

/** Longest secret that is typed; more is dropped. */
const INPUT_MAX_CHARS = 4_096;

/** Reads one line without echo; null: Control-C. */
export function typed(terminal: ReadStream): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const keys: string[] = [];
  function onData(data: Buffer): void {
    for (const key of data.toString('utf8')) {
      if (key === '\r' || key === '\n') {
        end(keys.join(''));
        return;
      }
      if (key === '\u0003') {
        end(null);
        return;
      }
      if (key === '\u007f' || key === '\b') keys.pop();
      else if (keys.length < INPUT_MAX_CHARS) keys.push(key);
    }
  }
  function end(secret: string | null): void {
    terminal.off('data', onData);
    terminal.setRawMode(false);
    terminal.pause();
    resolve(secret);
  }
  terminal.setRawMode(true);
  terminal.on('data', onData);
  terminal.resume();
  return promise;
}
