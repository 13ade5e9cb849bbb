import { parseArgs } from 'node:util';
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

export interface CliCommand {
  /** One line for the list of commands. */
  summary: string;
  /** The whole text of --help. */
  usage: string;
  run(args: readonly string[], world: CliWorld): Promise<ExitCode>;
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
