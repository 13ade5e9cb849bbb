import type { CliWorld } from './command.ts';

/** Progress for a person, one line per phase; nothing unless the error output is a terminal. */
export function stepsTo(world: CliWorld): (text: string) => void {
  let last = '';
  return (text) => {
    const phase = text.replace(/ \d+( of \d+)?$/, '');
    if (world.isTerminal && phase !== last) world.err(text);
    last = phase;
  };
}
