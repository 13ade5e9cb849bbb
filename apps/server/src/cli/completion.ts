import { completionScript, declareCompletion, SHELLS } from '@tidegate/command-line/completion-command';
import type { Program } from '@tidegate/command-line/declare';
import { EXIT, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { type CliCommand, declareCommand, PROGRAM_NAME } from './command.ts';

/** Prints a script that completes the commands of the program. */
export function completionCommand(program: Program): CliCommand {
  return declareCommand({
    ...declareCompletion(PROGRAM_NAME),
    async run(args, world) {
      const { positionals } = readArgs(args, {});
      const script = completionScript(positionals.join(' '), program);
      if (script === null) throw new UsageError(`completion needs one of: ${SHELLS.join(', ')}`);
      world.out(script.trimEnd());
      return EXIT.ok;
    },
  });
}
