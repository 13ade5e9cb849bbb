import { REQUESTS } from '@tidegate/client/requests';
import { expect, test } from 'vitest';
import { GROUPS, PROGRAM } from './program.ts';

/** Operations without an act of their own, and why. */
const WITHOUT: Readonly<Record<string, string>> = {
  'POST /api/v1/auth/login': 'tidegatectl login',
  'POST /api/v1/auth/logout': 'tidegatectl logout',
  'POST /api/v1/auth/step-up': 'tidegatectl step-up',
  'PATCH /api/v1/agents/{agent_id}': 'hosts group and ungroup do it for one host as for many',
  'GET /api/v1/bulk/{progress_id}': 'the program waits for the answer of a bulk request',
  'GET /api/v1/bulk/{progress_id}/result': 'the program waits for the answer of a bulk request',
  'POST /api/v1/auth/setup': 'the one-time link of the first operator opens the console',
  'POST /api/v1/auth/passkeys': 'a passkey is made by a browser',
  'POST /api/v1/auth/passkeys/options': 'a passkey is made by a browser',
  'POST /api/v1/auth/step-up/options': 'a passkey is proven by a browser',
  'POST /api/v1/auth/login/passkey/options': 'a passkey is proven by a browser',
  'POST /api/v1/auth/login/passkey': 'a passkey is proven by a browser',
  'GET /api/v1/auth/providers': 'the login page offers them',
  'POST /api/v1/auth/login/provider': 'a browser goes to the identity provider',
  'POST /api/v1/auth/step-up/provider': 'a browser goes to the identity provider',
  'POST /api/v1/auth/identities': 'a browser goes to the identity provider',
  'POST /api/v1/auth/logout/provider': 'tidegatectl has no session of an identity provider',
  'POST /logs/client-error': 'errors of the console itself',
  'GET /api/openapi.json': 'a document for programs, open to everybody',
  'GET /api/ready': 'balancers ask it; the command health is for people',
};

const acts = GROUPS.flatMap((group) => group.acts.map((act) => ({ group, act })));

test('every operation that an operator may call has a command, or a reason to have none', () => {
  const called = new Set<string>(acts.map(({ act }) => act.operation));
  const missing = Object.keys(REQUESTS).filter((name) => !called.has(name) && !(name in WITHOUT));
  expect(missing).toEqual([]);
  expect(Object.keys(WITHOUT).filter((name) => called.has(name) || !(name in REQUESTS))).toEqual([]);
});

test('every command has words of its own, and every option a meaning', () => {
  const names = acts.map(({ group, act }) => `${group.name} ${act.words.act}`);
  expect(names).toEqual([...new Set(names)]);
  expect(PROGRAM.commands.map(({ name }) => name)).toEqual([
    ...new Set(PROGRAM.commands.map(({ name }) => name)),
  ]);
  for (const { group, act } of acts) {
    for (const [name, { about }] of Object.entries(act.call.options)) {
      const place = `${group.name} ${act.words.act} --${name}`;
      expect([place, about]).toEqual([place, expect.stringMatching(/\S{2}/)]);
      expect(about, place).not.toBe(name.replaceAll('-', ' '));
    }
  }
});

test('each member of a request has one place on the command line', () => {
  for (const { group, act } of acts) {
    const { operands, members, call } = act;
    const place = `${group.name} ${act.words.act}`;
    const names = members.filter(({ kind }) => kind !== 'file').map(({ name }) => name);
    expect([place, names.toSorted()]).toEqual([place, [...new Set(names)].toSorted()]);
    for (const { name } of operands) expect(call.options, place).not.toHaveProperty(name);
  }
});
