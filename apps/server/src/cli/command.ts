import type { Command } from '@tidegate/command-line/declare';
import { commandHelp } from '@tidegate/command-line/help';
import type { ExitCode } from '@tidegate/terminal/read-args';
import type { Clock } from '../platform/clock.ts';
import type { RandomBytes } from '../platform/ids.ts';

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
  /** Characters of a line of the terminal that shows the result; absent: it is none, and nothing is cut. */
  columns?: number;
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
