import { closeSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { KeyFault } from './key-context.ts';

/**
 * Writes a file that only its owner can read, and never over another: an overwritten private key is lost.
 * @throws KeyFault
 */
export function writeNewSecret(file: string, text: string): void {
  try {
    const descriptor = openSync(file, 'wx', 0o600);
    try {
      writeSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    throw new KeyFault(`${file} cannot be written (${code})`);
  }
}
