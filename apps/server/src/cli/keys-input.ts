import { readFileSync } from 'node:fs';
import { UsageError } from '@tidegate/terminal/read-args';
import type { CliWorld } from './command.ts';
import { KeyFault } from './key-context.ts';

/** A private key has 129 bytes, a document a few kilobytes. */
const INPUT_MAX_BYTES = 1024 * 1024;

/** Reads a small file, or the standard input for `-`: secrets are never arguments, which every process can read. */
export async function readInput({ stdin }: CliWorld, path: string): Promise<string> {
  if (path !== '-') return readSmallFile(path);
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of stdin) {
    const chunk = Buffer.from(part);
    bytes += chunk.length;
    if (bytes > INPUT_MAX_BYTES) throw new KeyFault('the standard input is larger than 1 MiB');
    parts.push(chunk);
  }
  return Buffer.concat(parts).toString('utf8');
}

/** A version from the command line. @throws UsageError */
export function versionOf(words: readonly string[]): number {
  const [word, ...rest] = words;
  if (word === undefined || rest.length > 0 || !/^[1-9][0-9]{0,8}$/.test(word)) {
    throw new UsageError('give one version, as `tidegate keys list` shows it');
  }
  return Number(word);
}

/** One word, such as a file name. @throws UsageError */
export function onlyWord(words: readonly string[], what: string): string {
  const [word, ...rest] = words;
  if (word === undefined || rest.length > 0) throw new UsageError(`give ${what}, and nothing else`);
  return word;
}

function readSmallFile(path: string): string {
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new KeyFault(`${path} cannot be read (${code})`);
  }
  if (bytes.length > INPUT_MAX_BYTES) throw new KeyFault(`${path} is larger than 1 MiB`);
  return bytes.toString('utf8');
}
