import { bashCompletion } from '@tidegate/command-line/complete-bash';
import { fishCompletion } from '@tidegate/command-line/complete-fish';
import { zshCompletion } from '@tidegate/command-line/complete-zsh';
import type { Program } from '@tidegate/command-line/declare';
import { EXIT, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { type CliCommand, declareCommand } from './command.ts';

const SHELLS: ReadonlyMap<string, (program: Program) => string> = new Map([
  ['bash', bashCompletion],
  ['zsh', zshCompletion],
  ['fish', fishCompletion],
]);
const NAMES = [...SHELLS.keys()];

/** Prints a script that completes the commands of the program. */
export function completionCommand(program: Program): CliCommand {
  return declareCommand({
    name: 'completion',
    summary: 'print a completion script for a shell',
    calls: [{ operands: [NAMES.join('|')] }],
    options: {},
    about: `The script completes commands, options, fixed values and file names. It runs no program.

  bash   source <(tidegate completion bash), in ~/.bashrc
  zsh    source <(tidegate completion zsh), in ~/.zshrc after compinit
  fish   tidegate completion fish > ~/.config/fish/completions/tidegate.fish`,
    async run(args, world) {
      const { positionals } = readArgs(args, {});
      const script = SHELLS.get(positionals.join(' '));
      if (script === undefined) throw new UsageError(`completion needs one of: ${NAMES.join(', ')}`);
      world.out(script(program).trimEnd());
      return EXIT.ok;
    },
  });
}
