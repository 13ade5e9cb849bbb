import type { Db } from '../platform/db/engine.ts';
import type { EventFilter, ListedEvent } from './store.ts';

/** An event outside the chain, in the form of the others: it has no position. */
export type SeparateEvent = Omit<ListedEvent, 'position'>;

/** Events of one type that outsiders write and nobody has to prove: only a query for this type lists them. */
export interface SeparateEvents {
  readonly type: string;
  list(
    db: Db,
    args: {
      filter: EventFilter;
      q: string | undefined;
      descending: boolean;
      limit: number;
      after: string | null;
    },
  ): Promise<{ rows: SeparateEvent[]; count: number }>;
  find(db: Db, id: string): Promise<SeparateEvent | null>;
}
