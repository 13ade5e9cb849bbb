import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { openDatabase } from '../platform/db/open.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { servedPlaces } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';
import { CANARY_THEN_REST } from '../testing/rollout-rings.ts';
import { STANDING } from '../testing/standing.ts';

const places = servedPlaces({
  async prepare(it) {
    const added = await it.run(['operators', 'add', 'ada', '--role', 'approver'], {
      stdin: 'a long enough password\n',
    });
    expect(added.err).toBe('');
  },
});
const ID = '01900000-0000-7000-c000-000000000001';

describe.each(SAMPLED_ENGINES)('tidegate rollouts on $name', (engine) => {
  async function open() {
    const it = await places(engine);
    const file = join(it.dataDir, 'policy.json');
    writeFileSync(file, JSON.stringify({ ...STANDING, rings: CANARY_THEN_REST }));
    const applied = await it.run(['policies', 'apply', '--file', file, '--author', 'ada']);
    expect(applied).toMatchObject({ code: 0 });
    const [policy] = JSON.parse((await it.run(['policies', 'list', '--json'])).out).items;
    const database = openDatabase(it, databaseOptions());
    const { agentId } = await insertTestAgent(database, { n: 1 });
    const row = { id: ID, policy_id: policy.id, policy_sha256: policy.sha256, members_sha256: 'x' };
    const state = { lane: 'wave', state: 'running', ring: 0, entered: '[1]', started_at: 1 } as const;
    const host = { rollout_id: ID, agent_id: agentId, ring: 0, late: 0, outcome: 'failed', excused: 0 };
    await database.transact(async (tx) => {
      await tx
        .insertInto('rollouts')
        .values({ ...row, ...state, withdrawn: 0 })
        .execute();
      const openssl = { ecosystem: 'apt', name: 'openssl', version: '3.0.12-1', hosts: 1 };
      await tx
        .insertInto('rollout_packages')
        .values({ rollout_id: ID, ...openssl })
        .execute();
      await tx
        .insertInto('rollout_hosts')
        .values({ ...host, probes_asked: 0 })
        .execute();
    });
    await database.close();
    const rollouts = (...words: string[]) => it.run(['rollouts', ...words]);
    return { ...it, rollouts };
  }

  test('list and show say what waits for what', async () => {
    const it = await open();
    expect((await it.rollouts('list')).out).toMatch(
      /Nightly +running +1 of 2 \(canary\) +0 of 1 +Waits in ring/,
    );
    expect((await it.rollouts('show', ID)).out).toBe(
      [
        'Rollout of Nightly: running. Waits in ring "canary": 1 host must have installed; 0 of 1.',
        'Ring 0 "canary" (current), 1 host: 1 failed',
        '  [ ] 1 host must have installed (0 of 1)',
        '  [ ] 100 % of the hosts that received updates must have installed (0 of 100)',
        '  [x] no divergence among its packages is open (0 of 0)',
        'Ring 1 "rest" (ahead), no hosts',
        'apt openssl 3.0.12-1, offered on 1 host',
      ].join('\n'),
    );
    expect(JSON.parse((await it.rollouts('show', ID, '--json')).out)).toMatchObject({
      id: ID,
      lanes: [{}, {}],
    });
  });

  test('rollback is for a rollout that stands still, in the name of an approver, and says what it left out', async () => {
    const it = await open();
    const undo = (...words: string[]) =>
      it.rollouts('rollback', ID, '--author', 'ada', '--reason', 'broken', ...words);
    expect(await undo('--ring', '0')).toMatchObject({
      code: 1,
      err: expect.stringContaining('halt it first'),
    });
    await it.rollouts('halt', ID, '--reason', 'It was looked at.');
    expect(await undo('--ring', '2')).toMatchObject({
      ...{ code: 1, out: '' },
      err: expect.stringContaining('the rollout has 2 rings, counted from 0'),
    });
    const dry = await undo('--ring', '0', '--dry-run');
    expect(dry.out).toBe('Would undo what ring 0 of the rollout has installed on 0 hosts.');
    expect(JSON.parse((await undo('--ring', '0', '--json')).out)).toEqual({
      ...{ dry_run: false, requested: [], skipped: [] },
    });
    expect((await it.rollouts('rollback', ID, '--ring', '0', '--reason', 'x')).err).toContain(
      'needs --author',
    );
    expect(await it.rollouts('rollback', ID, '--author', 'ada', '--reason', 'x')).toMatchObject({
      ...{ code: 2, err: expect.stringContaining('rollback needs --ring NUMBER') },
    });
    expect((await it.rollouts('halt', ID, '--reason', 'x', '--dry-run')).err).toContain('only with rollback');
  });

  test('halt, resume, emergency and cancel say what became of it, each once', async () => {
    const it = await open();
    const act = (what: string) => it.rollouts(what, ID, '--reason', 'It was looked at.');
    expect((await act('halt')).out).toBe(
      'The rollout is halted. Halted by cli: It was looked at. It goes on when somebody resumes it.',
    );
    expect(await act('halt')).toMatchObject({
      code: 1,
      err: expect.stringContaining('the rollout is halted'),
    });
    expect((await act('resume')).out).toContain('The rollout is running.');
    expect((await it.rollouts('show', ID)).out).toContain('1 failed, 1 excused');
    expect((await act('emergency')).code).toBe(0);
    expect((await it.rollouts('show', ID)).out).toContain('in the emergency lane');
    expect(await it.rollouts('approve', ID, '--ring', '1')).toMatchObject({ code: 1 });
    expect(await it.rollouts('approve', ID, '--ring', '0')).toMatchObject({ code: 0 });
    expect((await act('cancel')).out).toBe('The rollout is cancelled. Cancelled by cli: It was looked at.');
    expect(JSON.parse((await it.rollouts('list', '--json')).out)).toEqual({ items: [] });
    expect(JSON.parse((await it.rollouts('list', '--all', '--json')).out).items).toHaveLength(1);
  });

  test.each<[string, string]>([
    ['', 'needs one of: list, show, halt, resume, cancel, emergency, approve'],
    ['show', 'show needs an ID'],
    ['halt x', 'halt needs --reason TEXT'],
    ['approve x', 'approve needs --ring NUMBER'],
    ['approve x --ring one', 'approve needs --ring NUMBER'],
    ['halt x --reason', 'reason'],
    ['show x --reason y', '--reason works only with halt, resume, cancel, emergency'],
    ['list --ring 1', '--ring works only with approve'],
    ['show x --all', '--all works only with list'],
    ['list x', 'unknown words: x'],
  ])('%s says what is allowed', async (words, message) => {
    const it = await places(engine);
    const ran = await it.run(['rollouts', ...words.split(' ').filter(Boolean)]);
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });

  test('an unknown rollout is not there', async () => {
    const it = await places(engine);
    expect(await it.run(['rollouts', 'show', ID])).toMatchObject({
      ...{ code: 1, err: expect.stringContaining('there is no rollout') },
    });
  });
});
