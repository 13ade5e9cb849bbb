import fs, { copyFileSync } from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { dirname, join } from 'node:path';
import { parseArgs } from 'node:util';

/**
 * Carries out one job in a process of its own, which kills itself before its N-th rename (`--dies-at`): every step of an
 * update of the agent ends in one. While it waits, what an agent would prove is copied from `--proofs` into the job.
 */
const { values } = parseArgs({
  options: {
    job: { type: 'string', default: '' },
    state: { type: 'string', default: '' },
    root: { type: 'string', default: '' },
    proofs: { type: 'string', default: '' },
    'dies-at': { type: 'string', default: '-1' },
  },
});
const { job, state, root, proofs } = values;

let left = Number(values['dies-at']);
const rename = fs.renameSync;
fs.renameSync = (from, to) => {
  if (left-- === 0) process.kill(process.pid, 'SIGKILL');
  rename(from, to);
};
syncBuiltinESMExports();

// After the change: the file layer keeps the function that it finds.
const { executeJob } = await import('../executor/execute.ts');
const { systemdControl } = await import('../reboots/host-control.ts');
const { NOW_MS } = await import('./fleet.ts');
const folder = dirname(state);
let waitedMs = 0;
const outcome = await executeJob({
  ...{ job, state, host: systemdControl(root), serviceFile: join(root, 'services.json') },
  policy: { path: join(folder, 'policy.json'), ownerUid: process.geteuid?.() ?? null, top: folder },
  ...{ installerOf: () => null, lookFile: join(folder, 'look.json') },
  repairer: { prepare: async () => ({ ok: false, reason: 'repair_differs', detail: 'nothing to repair' }) },
  runHooks: async () => ({ runs: [], failed: null, output: '' }),
  pause: async (ms) => {
    waitedMs += ms;
    for (const name of ['state.json', 'proof.json']) copyFileSync(join(proofs, name), join(job, name));
  },
  nowMs: () => NOW_MS + waitedMs,
  findNetwork: () => null,
});
process.stdout.write(JSON.stringify(outcome));
