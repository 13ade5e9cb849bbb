import { describe, expect, test } from 'vitest';
import { openDatabase } from '../platform/db/open.ts';
import { insertTestAgent } from '../testing/agent-rows.ts';
import { servedPlaces } from '../testing/cli-place.ts';
import { databaseOptions } from '../testing/database-options.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';
import { rollbackText } from './rollback.ts';

const PASSWORD = 'correct horse battery';
const places = servedPlaces({
  async prepare(place) {
    for (const [name, role] of [
      ['ada', 'approver'],
      ['victor', 'viewer'],
    ] as const) {
      const ran = await place.run(['operators', 'add', name, '--role', role], { stdin: `${PASSWORD}\n` });
      expect(ran.err).toBe('');
    }
  },
});
const GOOD = ['demo', '1.1-1', '--author', 'ada', '--reason', 'broken'];

describe.each(SAMPLED_ENGINES)('tidegate rollback on $name', (engine) => {
  async function open() {
    const it = await places(engine);
    return { ...it, rollback: (...words: string[]) => it.run(['rollback', ...words]) };
  }

  test('a host that does not have the version is skipped, and a dry run says so', async () => {
    const it = await open();
    const database = openDatabase(it, databaseOptions());
    await insertTestAgent(database, { n: 1 });
    await database.close();
    expect(await it.rollback(...GOOD, '--dry-run')).toMatchObject({
      ...{ code: 0, err: '' },
      out: 'Would undo demo 1.1-1 on 0 hosts.\nSkipped: 1 (not installed).',
    });
    const told = JSON.parse((await it.rollback(...GOOD, '--json')).out);
    expect(told).toMatchObject({ dry_run: false, requested: [], skipped: [{ code: 'not_installed' }] });
  });

  test.each<[string, string]>([
    ['demo', 'needs a NAME and a VERSION'],
    ['demo 1 2 --author ada --reason x', 'needs a NAME and a VERSION'],
    ['demo 1 --reason x', 'needs --author OPERATOR'],
    ['demo 1 --author ada', 'needs --reason TEXT'],
  ])('%s says what is needed', async (words, message) => {
    const it = await open();
    const ran = await it.rollback(...words.split(' '));
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });

  test.each<[string, string[], string]>([
    [
      'an unknown operator',
      [...GOOD.slice(0, 3), 'nobody', ...GOOD.slice(4)],
      'there is no operator "nobody"',
    ],
    ['a viewer', [...GOOD.slice(0, 3), 'victor', ...GOOD.slice(4)], 'cannot ask for rollbacks'],
    ['an unknown host', [...GOOD, '--host', 'web9'], 'there is no host "web9"'],
    ['a fleet without hosts', GOOD, 'there are no active hosts in all hosts'],
  ])('%s undoes nothing', async (_, words, message) => {
    const it = await open();
    expect(await it.rollback(...words)).toMatchObject({ code: 1, err: expect.stringContaining(message) });
  });
});

test('hosts that have the version and are skipped are named', () => {
  const [update_id, agent_id, token_id] = ['u1', 'a1', 't1'];
  const requested = [{ update_id, agent_id, token_id, undoes: ['u0'], actions: [], action_count: 2 }];
  const skipped = [
    { update_id: 'u2', agent_id: 'a2', code: 'changed_since' as const },
    { agent_id: 'a3', code: 'not_installed' as const },
  ];
  const lines = rollbackText({ requested, skipped }, { what: 'demo 2', isDry: false }).split('\n');
  expect(lines).toEqual([
    'Asked to undo demo 2 on 1 host.',
    'HOST  ROLLBACK  UPDATES  PACKAGES',
    'a1    u1        1        2',
    'Skipped: 1 (changed since):',
    '  a2',
    'Skipped: 1 (not installed).',
  ]);
});
