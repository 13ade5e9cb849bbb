import { ReadStream } from 'node:tty';
import type { CliWorld } from './command.ts';
import { CommandFault } from './open-installation.ts';

/** A password has at most 256 characters. */
const INPUT_MAX_CHARS = 4_096;

/** Asks twice at a terminal, without echo; otherwise takes the first line of the standard input. */
export async function readNewPassword({ stdin, err }: CliWorld, username: string): Promise<string> {
  if (!(stdin instanceof ReadStream)) return firstLine(stdin);
  err(`New password for ${username} (15 characters or more, 8 with a second factor; not shown):`);
  const password = await typed(stdin);
  err('Repeat the password:');
  if ((await typed(stdin)) !== password) throw new CommandFault('the two passwords differ');
  return password;
}

async function firstLine(stdin: CliWorld['stdin']): Promise<string> {
  let text = '';
  for await (const part of stdin) {
    text += typeof part === 'string' ? part : Buffer.from(part).toString('utf8');
    if (text.length > INPUT_MAX_CHARS)
      throw new CommandFault('the standard input is too long for a password');
    if (text.includes('\n')) break;
  }
  return (text.split('\n')[0] ?? '').replace(/\r$/, '');
}

/** Reads one line without echo. Control-C ends the command as usual. */
function typed(terminal: ReadStream): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  const keys: string[] = [];
  function onData(data: Buffer): void {
    for (const key of data.toString('utf8')) {
      if (key === '\r' || key === '\n') {
        end(() => resolve(keys.join('')));
        return;
      }
      if (key === '\u0003') {
        end(() => reject(new CommandFault('cancelled; nothing was changed')));
        return;
      }
      if (key === '\u007f' || key === '\b') keys.pop();
      else if (keys.length < INPUT_MAX_CHARS) keys.push(key);
    }
  }
  function end(settle: () => void): void {
    terminal.off('data', onData);
    terminal.setRawMode(false);
    terminal.pause();
    settle();
  }
  terminal.setRawMode(true);
  terminal.on('data', onData);
  terminal.resume();
  return promise;
}
