import { bashCompletion } from './complete-bash.ts';
import { fishCompletion } from './complete-fish.ts';
import { zshCompletion } from './complete-zsh.ts';
import type { Command, Program } from './declare.ts';

const SCRIPTS: ReadonlyMap<string, (program: Program) => string> = new Map([
  ['bash', bashCompletion],
  ['zsh', zshCompletion],
  ['fish', fishCompletion],
]);

/** The shells that have a completion script. */
export const SHELLS: readonly string[] = [...SCRIPTS.keys()];

/** The completion script of a shell; null for a shell without one. */
export function completionScript(shell: string, program: Program): string | null {
  return SCRIPTS.get(shell)?.(program) ?? null;
}

/** The command that prints it, as help and man page of the program show it. */
export function declareCompletion(program: string): Command {
  return {
    name: 'completion',
    summary: 'print a completion script for a shell',
    calls: [{ operands: [SHELLS.join('|')] }],
    options: {},
    about: `The script completes commands, options, fixed values and file names. It runs no program.

  bash   source <(${program} completion bash), in ~/.bashrc
  zsh    source <(${program} completion zsh), in ~/.zshrc after compinit
  fish   ${program} completion fish > ~/.config/fish/completions/${program}.fish`,
  };
}
