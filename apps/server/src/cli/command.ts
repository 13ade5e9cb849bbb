import { parseArgs } from 'node:util';
import type { Command } from '@tidegate/command-line/declare';
import { commandHelp } from '@tidegate/command-line/help';
import type { Clock } from '../platform/clock.ts';
import type { RandomBytes } from '../platform/ids.ts';

/** Exit codes: done; failed; wrong usage. */
export const EXIT = { ok: 0, failed: 1, usage: 2 } as const;
export type ExitCode = (typeof EXIT)[keyof typeof EXIT];

/** What a command may use of its process. */
export interface CliWorld {
  env: NodeJS.ProcessEnv;
  now: Clock;
  random: RandomBytes;
  /** The result, for a person or, with --json, as one JSON value. */
  out(text: string): void;
  /** Progress and errors. */
  err(text: string): void;
  /** Whether the error output is a terminal, so that progress can overwrite its line. */
  isTerminal: boolean;
  stdin: AsyncIterable<Uint8Array | string>;
}

export const PROGRAM_NAME = 'tidegate';

export interface CliCommand extends Command {
  /** The whole text of --help. */
  usage: string;
  run(args: readonly string[], world: CliWorld): Promise<ExitCode>;
}

/** A command with the help that its declaration makes. */
export function declareCommand(declared: Omit<CliCommand, 'usage'>): CliCommand {
  return { ...declared, usage: commandHelp(PROGRAM_NAME, declared) };
}

/** Wrong words on the command line: printed with the usage, exit 2. */
export class UsageError extends Error {}

type Options = NonNullable<NonNullable<Parameters<typeof parseArgs>[0]>['options']>;

/** Parses options and words. @throws UsageError for an unknown option or one without its value. */
export function readArgs<const O extends Options>(args: readonly string[], options: O) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true, strict: true });
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error));
  }
}
