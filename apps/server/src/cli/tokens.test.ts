import { describe, expect, test } from 'vitest';
import { createServedPlace } from '../testing/cli-place.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';

async function enrol(url: string, token: string): Promise<number> {
  const answer = await fetch(`${url}/api/v1/agents/register`, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      authorization: `Bearer ${token}`,
      'x-machine-id': `machine-${token.length}`,
    },
    body: JSON.stringify({
      hostname: 'host',
      os: { family: 'linux', id: 'debian', version_id: '12', arch: 'amd64' },
      agent_version: '1.0.0',
    }),
  });
  return answer.status;
}

describe.each(SAMPLED_ENGINES)('tidegate tokens on $name', (engine) => {
  test('while the server runs: add prints only the secret, a host enrols with it, revoke ends it', async () => {
    const it = await createServedPlace(engine);
    const { url } = await it.start();
    const made = await it.spawn(['tokens', 'add', '--label', 'rack 4', '--seats', '2']);
    expect(made).toMatchObject({ code: 0, out: expect.stringMatching(/^tgr_[\w-]{43}\n$/) });
    expect(await enrol(url, made.out.trim())).toBe(201);
    const { items: tokens } = JSON.parse((await it.spawn(['tokens', 'list', '--json'])).out);
    expect(tokens).toMatchObject([{ label: 'rack 4', seats: 2, seats_used: 1, created_by: 'cli' }]);
    expect((await it.spawn(['tokens', 'revoke', tokens[0].id])).code).toBe(0);
    expect(await enrol(url, made.out.trim())).toBe(401);
  });

  test('each change is an event with the actor cli, without the secret', async () => {
    const it = await createServedPlace(engine);
    const made = JSON.parse((await it.run(['tokens', 'add', '--label', 'one', '--json'])).out);
    await it.run(['tokens', 'revoke', made.id]);
    const exported = await it.run(['events', 'export']);
    const events = exported.out.split('\n').filter((line) => line.includes('REGISTRATION_TOKEN_CHANGED'));
    expect(events).toHaveLength(2);
    for (const line of events) expect(line).toContain('"actor":"cli"');
    expect(exported.out).not.toContain(made.token);
    expect((await it.run(['tokens', 'list'])).out).toBe(
      'ID  LABEL  SEATS USED  EXPIRES  GROUP  TAGS  MADE BY',
    );
  });

  test.each<[string, string, number]>([
    ['add', 'needs a --label', 2],
    ['add --label x --seats 0', '--seats is 1 to', 2],
    ['add --label x --seats many', '--seats is 1 to', 2],
    ['add --label x --expires-at tomorrow', 'a time such as', 2],
    ['add --label x --expires-at 2027-11-21T09:00:00Z', 'at most 90 days', 1],
    ['add --label x more', 'unknown words', 2],
    ['list --label x', '--label works only with tokens add', 2],
    ['revoke', 'needs one ID', 2],
    ['revoke 01900000-0000-7000-8000-000000000001', 'there is no registration token', 1],
    ['revoke x', 'there is no registration token', 1],
    ['shout', 'needs one of', 2],
  ])('%s says what is wrong', async (words, message, code) => {
    const it = await createServedPlace(engine);
    const ran = await it.run(['tokens', ...words.split(' ')]);
    expect(ran).toMatchObject({ code, out: '', err: expect.stringContaining(message) });
  });
});
