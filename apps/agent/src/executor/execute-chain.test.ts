import { afterEach, beforeEach, expect, test } from 'vitest';
import { chainForExecutor } from '../commands/executor-key-chain.ts';
import { loadExecutorState } from '../jobs/executor-state.ts';
import { createAgent } from '../testing/agent-runtime.ts';
import { createKey, revoked } from '../testing/fleet.ts';
import { createJobWorld, type JobWorld } from '../testing/job-world.ts';

let world: JobWorld;
beforeEach(() => {
  world = createJobWorld();
});
afterEach(() => world[Symbol.dispose]());

/** Two rotations that the executor, which learns of keys by jobs alone, knows nothing of. */
function twoRotations() {
  const { fleet } = world;
  const one = fleet.key;
  const [two, three] = [createKey(2), createKey(3)];
  const key_sets = [
    fleet.keySet({ version: 2, keys: [one.entry, two.entry] }),
    fleet.keySet({ version: 3, keys: [revoked(one.entry), two.entry], signedBy: two }),
    fleet.keySet({ version: 4, keys: [revoked(one.entry), two.entry, three.entry], signedBy: two }),
    fleet.keySet({
      version: 5,
      keys: [revoked(one.entry), revoked(two.entry), three.entry],
      signedBy: three,
    }),
  ];
  const [, , , newest = key_sets[0]] = key_sets;
  if (!newest) throw new Error('there are four');
  return { key_sets, newest, three };
}

test('an executor that missed rotations accepts and stores the chain of its job', async () => {
  const { key_sets, newest, three } = twoRotations();
  const job = world.leaveJob({ keySet: newest, keyChain: { key_sets, roots: [] }, signedBy: three });
  expect(await world.failureOf(job)).toBeNull();
  expect(loadExecutorState(world.stateFolder)).toMatchObject({ state: { trusted_keys: { version: 5 } } });
});

test('without the chain, or with a missing link, it refuses the command', async () => {
  const { key_sets, newest, three } = twoRotations();
  const bare = world.leaveJob({ keySet: newest, signedBy: three });
  expect(await world.failureOf(bare)).toBe('command_refused bad_signature');
  const holed = { key_sets: key_sets.slice(1), roots: [] };
  const job = world.leaveJob({ keySet: newest, keyChain: holed, signedBy: three });
  expect(await world.failureOf(job)).toBe('command_refused bad_signature');
  expect(loadExecutorState(world.stateFolder)).toMatchObject({ state: { trusted_keys: { version: 1 } } });
});

test('the agent adds the chain if the executor is behind, and nothing if it is not or the server is silent', async () => {
  const agent = await createAgent();
  const runtime = agent.start();
  const { trusted_keys } = runtime.config.current();
  expect(await chainForExecutor(runtime, world.stateFolder)).toBeNull();
  expect(agent.server.received('public-keys')).toEqual([]);
  runtime.config.change({ trusted_keys: { ...trusted_keys, version: 5 } });
  const { key_sets } = twoRotations();
  agent.server.keySets = key_sets;
  expect(await chainForExecutor(runtime, world.stateFolder)).toEqual({ key_sets, roots: [] });
  await agent.stop();
  expect(await chainForExecutor(runtime, world.stateFolder)).toBeNull();
});
