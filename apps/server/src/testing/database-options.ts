import { CHAINING } from '../events/chain-events.ts';
import { createRowSeals } from '../platform/db/create-row-seals.ts';
import type { DatabaseOptions } from '../platform/db/engine.ts';

/** Options to open a test database; its rows are sealed under a key that no server has. */
export function databaseOptions(): DatabaseOptions & { chaining: typeof CHAINING } {
  return {
    seals: createRowSeals(() => Buffer.alloc(32, 9)),
    ...CHAINING.sqlite,
    chaining: CHAINING,
  };
}
