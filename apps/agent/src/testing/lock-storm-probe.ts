import { startSpawnStorm } from '@tidegate/testkit/spawn-storm';
import { holdInstanceLock } from '../platform/instance-lock.ts';

/**
 * `lock-storm-probe.ts <folder> <rounds>`, for Node and Bun: takes and releases the lock of the folder that often
 * while programs are started, and prints which refusals there were.
 */
const [folder = '', rounds = ''] = process.argv.slice(2);
const storm = await startSpawnStorm();
const refusals: string[] = [];
/** On a busy machine none may run to its end in so few rounds. */
const PROGRAMS = 3;
for (let round = 0; round < Number(rounds) || storm.programs() < PROGRAMS; round += 1) {
  const held = await holdInstanceLock(folder);
  if (held.ok) held.lock.release();
  else refusals.push(held.detail);
}
const programs = storm.programs();
await storm.stop();
process.stdout.write(JSON.stringify({ programs, refusals: refusals.length, first: refusals[0] ?? null }));
