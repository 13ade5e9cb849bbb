import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { AptSet } from '@tidegate/testkit/apt-packages';
import { SEED } from '@tidegate/testkit/seed';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import type { Child } from './harness/child.ts';
import { type AgentRun, finish, type Host, must } from './harness/host.ts';
import { type Answer, liftLimits, type Operator, pause } from './harness/operator.ts';
import { storyEngines } from './harness/story-engines.ts';
import { TRACE, tracing } from './harness/story-packages.ts';
import { createWorld, storyMissing, type World } from './harness/world.ts';

const MOMENTS = process.env.TIDEGATE_LONG === '1' ? 100 : 10;
const MS_PER_MOMENT = 20_000;
const NAME = 'rolling';
/** The second package keeps the host's security archive from being empty. */
const PACKAGES: AptSet = {
  installed: [{ name: NAME, version: '1.0-1' }],
  offered: [{ name: 'other', version: '1.0-1', archive: 'security' }],
};
const VICTIMS = ['server', 'agent', 'both'] as const;
const PHASES = ['report', 'approve', 'install'] as const;
/** The approximate duration of each phase; moments are distributed evenly in it. */
const PHASE_MS = { report: 900, approve: 40, install: 1_500 };
/** The most rounds until the host has recovered from a kill. */
const RETRIES = 8;
/** The states of an update after its approval. */
const AFTER_APPROVAL = ['approved', 'installing', 'installed', 'failed'];

type Victim = (typeof VICTIMS)[number];
type Phase = (typeof PHASES)[number];
type Moment = { victim: Victim; phase: Phase; afterMs: number };

const missing = storyMissing();

describe.skipIf(missing !== null).each(storyEngines('sqlite'))('kill -9 on $name', (engine) => {
  test('loses nothing acknowledged, installs nothing twice and revokes no family', {
    timeout: 60_000 + MOMENTS * MS_PER_MOMENT,
  }, async () => {
    process.stderr.write(`kill -9 on ${engine.name}: ${MOMENTS} moments of TIDEGATE_SEED=${SEED}\n`);
    const random = seeded(SEED);
    const world = await createWorld(engine);
    const { operator, server, enrolled } = world;
    await liftLimits(operator); // no real host renews this often
    const host = await enrolled({ packages: [PACKAGES], serverUrl: server.url });
    const acknowledged: string[] = [];

    for (let turn = 0; turn < MOMENTS; turn++) {
      const moment = momentOf(turn, random);
      const version = `1.${turn + 1}-1`;
      await host.apt.publish(tracing({ name: NAME, version }));
      spoilAccessToken(host);
      const approved = await liveThrough({ world, host, version, moment });
      if (approved !== null) acknowledged.push(approved);
      await expectSound({ operator, host, version, approved, moment });
    }

    const recorded = await everyApproval(operator);
    expect(acknowledged.filter((id) => !recorded.has(id))).toEqual([]);
    expect(await operator.events({ type: 'REFRESH_TOKEN_REUSE' })).toEqual([]);
    must(await host.runOnce());
    // Proof that the story ran: most installations must survive the kills.
    expect((await host.trace(TRACE)).length).toBeGreaterThan(MOMENTS / 4);
  });
});

/** One update from publication to installation, with one kill on the way. Returns its id if the approval was answered. */
async function liveThrough(scene: {
  world: World;
  host: Host;
  version: string;
  moment: Moment;
}): Promise<string | null> {
  const { world, host, version, moment } = scene;
  const { operator } = world;
  if (moment.phase === 'report') await killDuring(scene, host.startOnce());
  await settle(host);
  const [update] = (await operator.updates({ name: NAME, state: 'pending' })).filter(
    ({ available_version }) => available_version === version,
  );
  if (update === undefined) throw new Error(`${NAME} ${version} was not reported`);

  const approval = operator.approve(update.id).catch(() => null);
  if (moment.phase === 'approve') await killDuring(scene, null);
  const answer: Answer | null = await approval;
  if (moment.phase === 'install') await killDuring(scene, host.startOnce());
  await settle(host);
  return answer?.status === 200 ? update.id : null;
}

async function killDuring(
  { world: { server }, moment }: { world: World; moment: Moment },
  agent: Child | null,
): Promise<void> {
  await pause(moment.afterMs);
  if (moment.victim !== 'agent') await server.kill();
  if (moment.victim !== 'server' && agent?.hasEnded() === false) agent.signal('SIGKILL');
  if (agent !== null) await agent.ended;
  if (moment.victim !== 'agent') await server.restart();
}

/** Runs rounds until one succeeds. No round may end in a state that needs an operator. */
async function settle(host: Host): Promise<void> {
  let last: AgentRun | null = null;
  for (let attempt = 0; attempt < RETRIES; attempt++) {
    last = await finish(host.startOnce());
    if (last.code === 0) return;
    expect(last.code, `${JSON.stringify(last.json)}\n${last.log.join('\n')}`).toBe(1);
    await pause(500);
  }
  throw new Error(`the agent did not recover: ${JSON.stringify(last)}`);
}

async function expectSound(turn: {
  operator: Operator;
  host: Host;
  version: string;
  approved: string | null;
  moment: Moment;
}): Promise<void> {
  const { operator, host, version, approved, moment } = turn;
  const context = JSON.stringify({ version, moment });
  const runs = (await host.trace(TRACE)).filter((line) => line.startsWith(`${NAME} ${version} `));
  expect(runs.length, context).toBeLessThanOrEqual(1);
  const shown = (await host.installed())[NAME];
  if (approved !== null) {
    const { state } = await operator.update(approved);
    expect(AFTER_APPROVAL, context).toContain(state);
    if (state === 'installed') expect([shown, runs.length], context).toEqual([version, 1]);
  }
  const agents = await operator.call('GET', `/api/v1/agents/${host.agentId()}`);
  expect(agents.body, context).toMatchObject({ status: 'bound' });
}

async function everyApproval(operator: Operator): Promise<Set<unknown>> {
  const events = await operator.events({ type: 'update_approved' });
  return new Set(
    events.flatMap(({ content }) => Value.Parse(Named, content).updates.map(({ update_id }) => update_id)),
  );
}

const Named = Type.Object({ updates: Type.Array(Type.Object({ update_id: Type.String() })) });
const Config = Type.Object({ access_token: Type.String() });

/** Makes the next round begin with a renewal: a crash during E1 must not cost the family. */
function spoilAccessToken(host: Host): void {
  const path = join(host.configDir, 'config.json');
  const config: unknown = JSON.parse(readFileSync(path, 'utf8'));
  const { access_token, ...rest } = Value.Parse(Config, config);
  writeFileSync(path, JSON.stringify({ ...rest, access_token: `${access_token}x` }));
}

/** Each victim in each phase in turn, so that some installations are disturbed by nothing; when is drawn. */
function momentOf(turn: number, random: () => number): Moment {
  const phase = PHASES[turn % PHASES.length] ?? PHASES[0];
  const victim = VICTIMS[Math.floor(turn / PHASES.length) % VICTIMS.length] ?? VICTIMS[0];
  return { victim, phase, afterMs: Math.floor(random() * PHASE_MS[phase]) };
}

/** mulberry32: reproducible numbers from 0 to 1. */
function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
