import { parentPort, workerData } from 'node:worker_threads';
import { createRowSeals } from '../platform/db/create-row-seals.ts';
import type { Db } from '../platform/db/engine.ts';
import { openDatabase } from '../platform/db/open.ts';
import { CHAINING } from './chain-events.ts';
import { pageOfEvents, readWithoutCache } from './store.ts';
import { type PartOrder, verifyPart } from './verify-part.ts';

/** Where each thread opens the database. */
export interface DatabasePlace {
  dataDir: string;
  databaseUrl: string | null;
}

/** A connection of this thread for the log alone. */
async function openLog(place: DatabasePlace): Promise<Db> {
  const seals = createRowSeals(() => {
    throw new Error('a thread that verifies events reads no sealed rows');
  });
  const { read, engine } = openDatabase(place, { seals, chaining: CHAINING });
  if (engine === 'sqlite') await readWithoutCache(read);
  return read;
}

if (parentPort !== null) {
  const port = parentPort;
  const log = openLog(workerData);
  // One after the other, in the order in which they came.
  let turn: Promise<unknown> = log;
  port.on('message', (order: PartOrder) => {
    turn = turn.then(async () => {
      const db = await log;
      port.postMessage(await verifyPart((range) => pageOfEvents(db, range), order));
    });
  });
}
