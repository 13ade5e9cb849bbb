import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { portOf } from '@tidegate/testkit/free-port';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { STANDING } from '../apps/server/src/testing/standing.ts';
import { type Ctl, ctlFor } from './harness/ctl.ts';
import { must } from './harness/host.ts';
import { OPERATOR } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';
import { ADVISORY, AFFECTED, STORY } from './harness/story-packages.ts';
import { createWorld, storyMissing } from './harness/world.ts';

const missing = storyMissing();
const DAY_MS = 86_400_000;
const soon = () => new Date(Date.now() + DAY_MS).toISOString();
const List = Type.Object({
  items: Type.Array(Type.Object({ id: Type.String(), name: Type.Optional(Type.String()) })),
  next_cursor: Type.Union([Type.String(), Type.Null()]),
  total: Type.Integer(),
});

describe.skipIf(missing !== null).each(storyEngines('sqlite'))('tidegatectl on $name', (engine) => {
  test('an operator logs in, makes a token for scripts, and works a day in the terminal', async () => {
    const { osv, server, newHost } = await createWorld(engine);
    osv.addRecord({ id: ADVISORY, summary: 'a flaw in the library' }, AFFECTED);
    const folder = tmpDir('tidegate-ctl-');
    onTestFinished(() => folder.remove());
    const at = (name: string) => {
      mkdirSync(join(folder.path, name));
      return join(folder.path, name);
    };

    // A session, for what no API token may do.
    const session = join(folder.path, 'session');
    const person = ctlFor(server.url, { folder: at('person'), token: null });
    const asPerson = (...args: string[]) => person.run('--token-file', session, ...args);
    const wrong = await person.tell(
      'not the password\n',
      'login',
      OPERATOR.username,
      '--token-file',
      session,
    );
    expect([wrong.code, wrong.err]).toEqual([1, expect.stringContaining('wrong')]);
    const login = await person.tell(
      `${OPERATOR.password}\n`,
      'login',
      OPERATOR.username,
      '--token-file',
      session,
    );
    expect([login.code, login.out]).toEqual([
      0,
      expect.stringMatching(/^Logged in as olga \(admin\) until /),
    ]);
    expect(statSync(session).mode & 0o777).toBe(0o600);
    const made = await asPerson(
      ...['api-tokens', 'add', '--label', 'script', '--role', 'admin', '--expires-at', soon()],
    );
    expect([made.code, made.err]).toEqual([0, expect.stringMatching(/^API token .* Shown once:\n$/)]);
    const script = ctlFor(server.url, { folder: at('script'), token: made.out.trim() });

    // A host enrols.
    const token = (
      await script.out('tokens', 'add', '--label', 'rack 3', '--group', 'lab', '--tag', 'env=prod')
    ).trim();
    expect(token).toMatch(/^tgr_/);
    expect(await script.out('tokens', 'list')).toMatch(
      /^ID +LABEL +SEATS USED .*\n\S{36} +rack 3 +0 of 1 .* lab +env=prod /,
    );
    const host = await newHost({ packages: [STORY] });
    must(await host.enrol(token));
    must(await host.runOnce());
    const [shown] = itemsOf(await script.json('hosts', 'list', '--group', 'lab'));
    const hostname = (await script.out('hosts', 'list')).split('\n')[1]?.split(' ')[0] ?? '';
    expect(shown?.id).toBe(host.agentId());
    expect(await script.out('hosts', 'show', hostname)).toContain(`id: ${host.agentId()}\n`);
    expect(await script.out('hosts', 'scan', hostname, '--ecosystem', 'apt')).toMatch(
      /commands show \S{36}\n$/,
    );
    expect(await script.out('commands', 'list')).toMatch(/\n\S{36} +\S+ +scan +pending +/);
    must(await host.runOnce());

    // Its updates: as a table, as JSON, page by page.
    const demo =
      itemsOf(await script.json('updates', 'list', '--name', 'demo'))[0]?.id ?? expect.unreachable();
    const table = await script.out('updates', 'list', '--state', 'pending', '--sort', 'name');
    expect(table).toMatch(/^ID +HOST +PACKAGE +TO +STATE +VERDICT\n/);
    expect(table).toMatch(new RegExp(`\n${demo} +${hostname} +demo +1.1-1 +pending +`));
    const first = Value.Parse(List, await script.json('updates', 'list', '--limit', '1'));
    expect([first.items.length, first.total]).toEqual([1, 2]);
    const rest = await script.json('updates', 'list', '--limit', '1', '--cursor', first.next_cursor ?? '');
    expect(itemsOf(rest)[0]?.id).not.toBe(first.items[0]?.id);
    const cut = await script.run('updates', 'list', '--limit', '1');
    expect(cut.err).toBe('These are 1 of 2; --all shows more.\n');

    // The gate stops it, and says why; a reason overrides it, for those who may.
    await expect
      .poll(async () => (await script.run('updates', 'approve', demo)).err, {
        interval: 250,
      })
      .toMatch(/reason: known_vulnerability\n[\s\S]*DSA-9999-1/);
    const refused = await script.run('updates', 'approve', demo, '--json');
    expect([refused.code, JSON.parse(refused.out).code]).toEqual([1, 'approval_blocked']);
    const override = [
      '--override-supply-chain',
      '--override-reason',
      'the flaw is in code that we do not use',
    ];
    const scoped = await script.run('updates', 'approve', demo, ...override);
    expect([scoped.code, scoped.err]).toEqual([1, expect.stringContaining('override')]);
    expect(await asPerson('updates', 'approve', demo, ...override)).toMatchObject({ code: 0, err: '' });
    expect(await script.out('commands', 'list', '--host', hostname, '--action', 'install_update')).toMatch(
      /install update +demo 1\.0-1 to 1\.1-1 +pending/,
    );
    const [command] = itemsOf(await script.json('commands', 'list', '--action', 'install_update'));
    expect(await script.out('updates', 'reopen', demo)).toContain('pending again');
    expect(await script.out('commands', 'show', command?.id ?? '')).toContain('status: cancelled\n');

    // Holds, blackouts and policies.
    const hold = [
      'holds',
      'place',
      'demo*',
      '--reason',
      'before the fair',
      '--until',
      soon(),
      '--host',
      hostname,
    ];
    const placed = await script.out(...hold, '--ecosystem', 'apt');
    expect(placed).toMatch(/^On hold \(\S{36}\) until .*: demo\* on 1 host\.\nKept back now: 1 updates/);
    expect(await script.out('holds', 'list')).toBe(
      await server.command('holds', 'list').then((text) => `${text}\n`),
    );
    const { items: held } = JSON.parse(await server.command('holds', 'list', '--json'));
    expect(await script.json('holds', 'list')).toMatchObject({ items: held });
    expect(await script.out('holds', 'release', /\((\S{36})\)/.exec(placed)?.[1] ?? '')).toContain(
      'released',
    );
    const freeze = [
      'windows',
      'freeze',
      'Fair',
      '--from',
      new Date().toISOString(),
      '--until',
      soon(),
      '--reason',
      'fair',
    ];
    expect(await script.out(...freeze)).toMatch(/^The blackout "Fair" is active: all hosts\./);
    expect(await script.out('windows', 'list')).toMatch(/ blackout .* Fair\n/);
    expect(await asPerson('windows', 'thaw', 'Fair', '--reason', 'over')).toMatchObject({ code: 0 });
    const policy = join(folder.path, 'policy.json');
    writeFileSync(policy, JSON.stringify({ ...STANDING, ends_at: soon() }));
    expect(await script.out('policies', 'preview-draft', '--file', policy)).toMatch(/^hosts: 1$/m);
    const none = await script.run('policies', 'publish', '--file', policy);
    expect([none.code, none.err]).toEqual([1, expect.stringContaining('API token')]);
    expect(await asPerson('policies', 'publish', '--file', policy)).toMatchObject({ code: 0 });
    expect(await script.out('policies', 'list')).toBe(`${await server.command('policies', 'list')}\n`);
    expect(await script.out('policies', 'revoke', STANDING.name)).toContain('revoked');

    // The host goes.
    expect(await script.out('hosts', 'revoke', hostname, '--reason', 'stolen')).toContain('revoked');
    expect(await script.out('events', 'list', '--type', 'AGENT_REVOKED')).toMatch(
      / AGENT_REVOKED +\S+ +\S+ +olga\/script /,
    );
    expect(await asPerson('logout')).toMatchObject({ code: 0, err: '' });
    expect(() => readFileSync(session)).toThrow('ENOENT');
  });

  test('says in one sentence what is wrong: too few rights, no such host, another server, no server, bad words', async () => {
    const { server, operator } = await createWorld(engine);
    const folder = tmpDir('tidegate-ctl-');
    onTestFinished(() => folder.remove());
    const answer = await operator.call('POST', '/api/v1/admin/api-tokens', {
      ...{ label: 'reader', role: 'viewer', expires_at: soon() },
    });
    const { token } = Value.Parse(Type.Object({ token: Type.String() }), answer.body);
    const reader = ctlFor(server.url, { folder: folder.path, token });
    await says(reader, ['tokens', 'add', '--label', 'x'], [1, /^This requires the role admin/]);
    await says(
      reader,
      ['hosts', 'show', 'no'],
      [1, /^there is no host "no": tidegatectl hosts list shows them\n$/],
    );
    await says(reader, ['updates', 'show', 'x'], [2, /^ID is not of its form: UUID, lower case\n/]);
    await says(reader, ['--server', `${server.url}/else`, 'health'], [1, /^There is nothing at this path/]);
    const other = createServer((_, answer) => answer.end('<html>'));
    const url = `http://127.0.0.1:${await portOf(other)}`;
    onTestFinished(() => void other.close());
    await says(
      reader,
      ['--server', url, 'health'],
      [1, /answers with status 200, but not as a Tidegate server/],
    );
    writeFileSync(join(folder.path, 'token'), 'tg_wrong');
    await says(reader, ['hosts', 'list'], [1, /\nThe token is that of .*token\./]);
    await server.stop();
    await says(reader, ['health'], [1, /^http:\/\/\S+ cannot be reached: .*ECONNREFUSED/]);
  });
});

async function says(
  ctl: Ctl,
  args: readonly string[],
  [code, err]: readonly [number, RegExp],
): Promise<void> {
  const said = await ctl.run(...args);
  expect([said.code, said.err]).toEqual([code, expect.stringMatching(err)]);
}

function itemsOf(answer: unknown) {
  return Value.Parse(List, answer).items;
}
