import { ReadStream } from 'node:tty';
import { UsageError } from '@tidegate/terminal/read-args';
import { typed } from '@tidegate/terminal/typed-secret';
import type { World } from './world.ts';

/** Longest input for secrets, in characters. */
const INPUT_MAX_CHARS = 16_384;

const left = new WeakMap<World['stdin'], string[]>();

/** Asks at a terminal, without echo; otherwise takes the next line of the standard input. */
export async function readSecret(world: World, what: string): Promise<string> {
  const { stdin, err } = world;
  if (stdin instanceof ReadStream) {
    err(`The ${what} (not shown):`);
    const secret = await typed(stdin);
    if (secret !== null) return secret;
    throw new UsageError('cancelled; nothing was done');
  }
  const lines = left.get(stdin) ?? (await readAll(world, INPUT_MAX_CHARS)).split(/\r?\n/);
  left.set(stdin, lines.slice(1));
  const [line] = lines;
  if (line) return line;
  throw new UsageError(`the standard input has no line with the ${what}`);
}

/** The whole standard input. */
export async function readAll({ stdin }: World, maxLength: number): Promise<string> {
  const parts: Uint8Array[] = [];
  let size = 0;
  for await (const part of stdin) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part;
    size += bytes.length;
    if (size > maxLength) throw new UsageError('the standard input is too long');
    parts.push(bytes);
  }
  return Buffer.concat(parts).toString('utf8');
}
