import { ReadStream } from 'node:tty';
import { typed } from '@tidegate/terminal/typed-secret';
import type { CliWorld } from './command.ts';
import { CommandFault } from './open-installation.ts';

/** A password has at most 256 characters. */
const INPUT_MAX_CHARS = 4_096;

/** Asks twice at a terminal, without echo; otherwise takes the first line of the standard input. */
export async function readNewPassword({ stdin, err }: CliWorld, username: string): Promise<string> {
  if (!(stdin instanceof ReadStream)) return firstLine(stdin);
  err(`New password for ${username} (15 characters or more, 8 with a second factor; not shown):`);
  const password = await withoutEcho(stdin);
  err('Repeat the password:');
  if ((await withoutEcho(stdin)) !== password) throw new CommandFault('the two passwords differ');
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

async function withoutEcho(terminal: ReadStream): Promise<string> {
  const secret = await typed(terminal);
  if (secret !== null) return secret;
  throw new CommandFault('cancelled; nothing was changed');
}
