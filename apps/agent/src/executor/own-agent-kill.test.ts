import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { programOf } from '../ecosystems/tidegate/layout.ts';
import { timestamp } from '../platform/clock.ts';
import { NOW_MS } from '../testing/fleet.ts';
import { createOwnAgentWorld, type OwnAgentWorld } from '../testing/own-agent-world.ts';

const PROBE = join(import.meta.dirname, '../testing/own-agent-probe.ts');
/** More than an update of the agent has renames. */
const RENAMES_MAX = 40;
const OLD = { agent: '0.1.0', proven: '0.1.0' };
const NEW = { agent: '0.2.0', proven: '0.2.0' };

/** Runs the executor in a process of its own; null when it was killed. */
function execute(world: OwnAgentWorld, job: string, diesAt: number): string | null {
  const proofs = join(world.folder, 'proofs');
  const places = ['--job', job, '--state', world.stateFolder, '--root', world.host.root, '--proofs', proofs];
  const run = spawnSync(process.execPath, [PROBE, ...places, `--dies-at=${diesAt}`], {
    encoding: 'utf8',
  });
  if (run.signal === 'SIGKILL') return null;
  if (run.status !== 0) throw new Error(run.stderr);
  return run.stdout;
}

/** A job whose agent will prove itself as soon as somebody waits for it. */
function setUp() {
  const world = createOwnAgentWorld();
  const job = world.leaveOwnJob();
  const proofs = join(world.folder, 'proofs');
  mkdirSync(proofs);
  const state = world.fleet.agentState({ server_time: timestamp(NOW_MS + 1_000) });
  writeFileSync(join(proofs, 'state.json'), JSON.stringify(state));
  writeFileSync(join(proofs, 'proof.json'), '{"version":"0.2.0","failing":[]}');
  return { world, job };
}

test('an executor that is killed before any of its renames leaves a program behind each link, and ends the job', {
  timeout: 300_000,
}, () => {
  const ends: string[] = [];
  for (let at = 0; at < RENAMES_MAX; at += 1) {
    const { world, job } = setUp();
    onTestFinished(() => world[Symbol.dispose]());
    const first = execute(world, job, at);
    if (first !== null) {
      expect(world.links()).toEqual(NEW);
      ends.push('untouched');
      break;
    }
    for (const version of Object.values(world.links())) {
      expect(existsSync(join(world.lib, programOf(version))), `killed at ${at}`).toBe(true);
    }
    const second = execute(world, job, -1) ?? '';
    const status = /"status":"(\w+)"/.exec(second)?.[1] ?? second;
    // Before the trial was recorded nothing has changed; afterwards it goes on to its end.
    expect(world.links(), `killed at ${at}: ${second}`).toEqual(status === 'success' ? NEW : OLD);
    ends.push(status);
  }
  expect(ends.at(-1)).toBe('untouched');
  expect(new Set(ends)).toEqual(new Set(['success', 'interrupted', 'untouched']));
});
