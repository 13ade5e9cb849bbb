import { type Cell, SCENARIOS } from './cells.ts';
import { withFloor } from './floor.ts';
import type { Figure } from './record.ts';
import type { RoundOptions } from './scenario.ts';

/** What a process that measures one cell is told, and what it answers. */
export interface CellOrder extends Pick<RoundOptions, 'rounds' | 'seconds'> {
  cell: Cell;
}
export type CellAnswer = { figures: readonly Figure[] } | { missing: string } | { fault: string };

// The process that asked is gone: so are the servers of this one, which leads their group.
process.once('disconnect', () => process.kill(-process.pid, 'SIGKILL'));
process.once('message', (order: CellOrder) => {
  measure(order).then(
    (answer) => process.send?.(answer, () => process.exit()),
    (error: unknown) => {
      const fault = error instanceof Error ? (error.stack ?? error.message) : String(error);
      process.send?.({ fault } satisfies CellAnswer, () => process.exit(1));
    },
  );
});

async function measure({ cell, rounds, seconds }: CellOrder): Promise<CellAnswer> {
  const say = (line: string) => void process.stderr.write(`${line}\n`);
  const options: RoundOptions = { rounds, seconds, say };
  const found = await withFloor(options, (floor) => SCENARIOS[cell.scenario](cell, { floor, options }));
  return 'missing' in found ? found : { figures: found };
}
