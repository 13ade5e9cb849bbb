import { backupCommand } from './backup.ts';
import type { CliCommand } from './command.ts';
import { keysCommand } from './keys.ts';
import { restoreCommand } from './restore.ts';
import { serverCommand } from './server.ts';

/** Every command of `tidegate`, in the order in which the usage lists them. */
export const COMMANDS: ReadonlyMap<string, CliCommand> = new Map([
  ['server', serverCommand],
  ['keys', keysCommand],
  ['backup', backupCommand],
  ['restore', restoreCommand],
]);
