import { bashCompletion } from '@tidegate/command-line/complete-bash';
import { fishCompletion } from '@tidegate/command-line/complete-fish';
import { zshCompletion } from '@tidegate/command-line/complete-zsh';
import type { Command, Program } from '@tidegate/command-line/declare';

const SHELLS: ReadonlyMap<string, (program: Program) => string> = new Map([
  ['bash', bashCompletion],
  ['zsh', zshCompletion],
  ['fish', fishCompletion],
]);
const NAMES = [...SHELLS.keys()];

export const COMPLETION: Command = {
  name: 'completion',
  summary: 'print a completion script for a shell',
  calls: [{ operands: [NAMES.join('|')] }],
  options: {},
  about: `The script completes commands, options, fixed values and file names. It runs no program.

  bash   source <(tidegatectl completion bash), in ~/.bashrc
  zsh    source <(tidegatectl completion zsh), in ~/.zshrc after compinit
  fish   tidegatectl completion fish > ~/.config/fish/completions/tidegatectl.fish`,
};

/** The script for a shell; null for one that is unknown. */
export function completionFor(shell: string, program: Program): string | null {
  return SHELLS.get(shell)?.(program) ?? null;
}
