import type { CliWorld } from './command.ts';

/** Progress for a person, a line for each phase; nothing where nobody watches. */
export function stepsTo(world: CliWorld): (text: string) => void {
  let last = '';
  return (text) => {
    const phase = text.replace(/ \d+( of \d+)?$/, '');
    if (world.isTerminal && phase !== last) world.err(text);
    last = phase;
  };
}
