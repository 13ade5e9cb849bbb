import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { ADMIN } from '../testing/operator-app.ts';
import { ADMINS, createProviderScene, PROVIDERS } from '../testing/provider-scene.ts';

const OPERATORS = '/api/v1/admin/operators';
const ADA = { sub: 'ada-1', groups: ['admins'], preferred_username: 'Ada Lovelace' };

describe.each(ENGINES)('sign-in by a real provider, on $name', (engine) => {
  test('creates an operator at the first login, and knows it at the next by issuer and subject', async () => {
    const { addProvider, signIn, whoIs, eventsOf } = await createProviderScene(engine);
    await addProvider();
    const first = await signIn(ADA);
    expect(first).toMatchObject({ status: 303, place: '/', hasSession: true });
    const known = await whoIs(first.headers);
    expect(known).toMatchObject({ username: 'ada-lovelace', role: 'admin', groups: null });
    // Another name for the same subject is the same operator.
    const again = await signIn({ ...ADA, preferred_username: 'root' });
    expect(await whoIs(again.headers)).toEqual(known);
    const [login] = await eventsOf('LOGIN_SUCCEEDED');
    expect(login).toMatchObject({ method: 'provider', provider: 'house', username: 'ada-lovelace' });
    // The same name of another subject is another operator.
    const other = await signIn({ ...ADA, sub: 'ada-2' });
    expect(await whoIs(other.headers)).toMatchObject({ username: 'ada-lovelace-2' });
  });

  test('an account of a local operator’s name or e-mail address is not that operator', async () => {
    const { addProvider, signIn, whoIs, change } = await createProviderScene(engine);
    await addProvider({ mapping: [{ ...ADMINS, role: 'viewer' }] });
    const made = await signIn({ ...ADA, preferred_username: ADMIN.username });
    expect(await whoIs(made.headers)).toMatchObject({ username: 'root-2', role: 'viewer' });
    await change({ creates_operators: false });
    const refused = await signIn({ ...ADA, sub: 'eve-1', preferred_username: ADMIN.username });
    expect([refused.status, refused.hasSession]).toEqual([403, false]);
    expect(refused.told).toContain('bind the subject eve-1');
  });

  test('without a match there is no access, in words, and with a default there is', async () => {
    const { addProvider, signIn, whoIs, change, eventsOf } = await createProviderScene(engine);
    await addProvider();
    const stranger = await signIn({ sub: 'x', groups: ['others'], preferred_username: 'x' });
    expect([stranger.status, stranger.told]).toEqual([
      403,
      'You have no access: none of your groups at the provider has a role here.',
    ]);
    expect((await signIn({ sub: 'x', groups: [] })).told).toContain('you are in no group');
    expect((await signIn({ sub: 'x' })).told).toContain('did not send the claim groups');
    expect((await eventsOf('LOGIN_FAILED'))[0]).toMatchObject({
      ...{ stage: 'provider', reason: 'no_access', subject: 'x', provider: 'house' },
    });
    await change({ default_grant: { role: 'viewer', groups: ['web'] } });
    const known = await signIn({ sub: 'x', preferred_username: 'x' });
    expect(await whoIs(known.headers)).toMatchObject({ username: 'x', role: 'viewer', groups: ['web'] });
  });

  test('groups decide anew at each login; an operator whose group is gone loses sessions and API tokens', async () => {
    const scene = await createProviderScene(engine);
    const { addProvider, signIn, whoIs, send, eventsOf, admin, must } = scene;
    const web = { group: 'web team', role: 'approver', groups: ['web'] };
    await addProvider({ mapping: [ADMINS, web, { ...web, group: 'db team', groups: ['db'] }] });
    const first = await signIn(ADA);
    const { id } = await whoIs(first.headers);
    const next = await signIn({ ...ADA, groups: ['web team', 'db team'] });
    expect(await whoIs(next.headers)).toMatchObject({ id, role: 'approver', groups: ['db', 'web'] });
    expect((await eventsOf('OPERATOR_CHANGED'))[0]).toMatchObject({
      ...{ change: 'changed', role: { before: 'admin', after: 'approver' }, username: 'ada-lovelace' },
    });

    const gone = await signIn({ ...ADA, groups: ['others'] });
    expect([gone.status, gone.hasSession]).toEqual([403, false]);
    expect([await whoIs(first.headers), await whoIs(next.headers)]).toEqual([401, 401]);
    expect((await eventsOf('IDENTITY_CHANGED'))[0]).toMatchObject({ change: 'access_lost', operator_id: id });
    const listed = await send('GET', `${OPERATORS}/${id}`, { headers: admin });
    expect(listed.json()).toMatchObject({ disabled: true, has_password: false });

    // Back in the group: back in.
    const back = await signIn({ ...ADA, groups: ['web team'] });
    expect(await whoIs(back.headers)).toMatchObject({ id, role: 'approver', groups: ['web'] });
    // An admin's word stands, whatever the groups say.
    await must('PATCH', `${OPERATORS}/${id}`, { headers: admin, payload: { disabled: true } });
    expect((await signIn({ ...ADA, groups: ['web team'] })).told).toContain('disabled here');
  });

  test('a change of the mapping, a disabled and a deleted provider end its sessions and no others', async () => {
    const { addProvider, signIn, whoIs, change, admin, must, send, eventsOf } =
      await createProviderScene(engine);
    await addProvider();
    const first = await signIn(ADA);
    await change({ name: 'The house' });
    expect(await whoIs(first.headers)).toMatchObject({ role: 'admin' });
    await change({ mapping: [ADMINS, { ...ADMINS, group: 'more' }] });
    expect(await whoIs(first.headers)).toBe(401);
    expect((await eventsOf('IDENTITY_PROVIDER_CHANGED'))[0]).toMatchObject({
      ...{ change: 'changed', provider: 'house', sessions_ended: 1, secret_changed: false },
    });
    const second = await signIn(ADA);
    await change({ enabled: false });
    expect(await whoIs(second.headers)).toBe(401);
    const begun = { payload: { provider_id: 'house' } };
    expect((await send('POST', '/api/v1/auth/login/provider', begun)).statusCode).toBe(404);
    await change({ enabled: true });
    const third = await signIn(ADA);
    await must('DELETE', `${PROVIDERS}/house`, { headers: admin });
    expect([
      await whoIs(third.headers),
      (await send('GET', PROVIDERS, { headers: admin })).json().items,
    ]).toEqual([401, []]);
    expect(await whoIs(admin)).toMatchObject({ username: 'root' });
  });

  test('a state works once, in the browser that began, for ten minutes, at its own provider', async () => {
    const { addProvider, provider, login, comeBack, clock } = await createProviderScene(engine);
    await addProvider();
    await addProvider({ id: 'other' });
    const { url, cookie } = await login();
    const callback = await provider.visit(url);
    const another = await login();
    const elsewhere = 'This sign-in did not begin in this browser, or took longer than ten minutes.';
    expect((await comeBack(callback, '')).told).toBe(elsewhere);
    expect((await comeBack(callback, another.cookie)).told).toBe(elsewhere);
    expect((await comeBack(callback, `${cookie}; ${cookie}`)).told).toBe(elsewhere);
    expect((await comeBack(callback.replace('/house/', '/other/'), cookie)).told).toBe(elsewhere);
    expect((await comeBack(`${callback}&state=x`, cookie)).told).toBe(elsewhere);
    expect((await comeBack(callback, cookie)).hasSession).toBe(true);
    expect((await comeBack(callback, cookie)).told).toBe('This sign-in was used before: start again.');
    const late = await provider.visit(another.url);
    clock.advance(600_001);
    expect((await comeBack(late, another.cookie)).told).toBe(elsewhere);
  });

  test('a code that was injected from another sign-in is refused by its PKCE verifier', async () => {
    const { addProvider, provider, login, comeBack } = await createProviderScene(engine);
    await addProvider();
    const [victim, thief] = [await login(), await login()];
    const stolen = new URL(await provider.visit(victim.url)).searchParams.get('code') ?? '';
    const callback = new URL(await provider.visit(thief.url));
    callback.searchParams.set('code', stolen);
    const answer = await comeBack(callback.href, thief.cookie);
    expect([answer.hasSession, answer.told]).toEqual([
      false,
      expect.stringContaining('did not accept its own code'),
    ]);
  });

  test.each(['//evil.example', '/\\evil.example', 'https://evil.example', '/login?next=/x', '/a b'])(
    'leads to the first page in place of %j',
    async (next) => {
      const { addProvider, provider, login, comeBack } = await createProviderScene(engine);
      await addProvider();
      const { url, cookie } = await login(next);
      expect((await comeBack(await provider.visit(url), cookie)).place).toBe('/');
    },
  );

  test('keys that the provider rotates are fetched again', async () => {
    const { addProvider, provider, signIn } = await createProviderScene(engine);
    await addProvider();
    expect((await signIn(ADA)).hasSession).toBe(true);
    provider.rotateKeys();
    expect((await signIn(ADA)).hasSession).toBe(true);
  });

  test('a wrong secret is told in words, at a sign-in and by the test', async () => {
    const { addProvider, signIn, send, admin } = await createProviderScene(engine);
    await addProvider({ client_secret: 'another secret' });
    const words = 'The provider does not accept the client id with this secret';
    expect((await signIn(ADA)).told).toContain(words);
    const answer = await send('POST', `${PROVIDERS}/house/test`, { headers: admin });
    const { passed, checks } = answer.json();
    expect(passed).toBe(false);
    expect(checks.find(({ check }: { check: string }) => check === 'client')).toMatchObject({
      ...{ outcome: 'failed', text: expect.stringContaining(words) },
    });
    expect(answer.body).not.toContain('another secret');
  });

  test('the test of a sound provider passes each check and shows the redirect URI', async () => {
    const { addProvider, send, admin } = await createProviderScene(engine);
    await addProvider();
    const { passed, checks, redirect_uri } = (
      await send('POST', `${PROVIDERS}/house/test`, { headers: admin })
    ).json();
    expect(redirect_uri).toBe('http://localhost/sign-in/house/callback');
    const outcomes = checks.map(
      ({ check, outcome }: { check: string; outcome: string }) => `${check} ${outcome}`,
    );
    expect([passed, outcomes]).toEqual([
      true,
      ['discovery', 'issuer', 'endpoints', 'clock', 'algorithms', 'keys', 'client', 'claims', 'logout'].map(
        (check) => `${check} passed`,
      ),
    ]);
  });

  test('a clock that is off is told with the seconds', async () => {
    const { addProvider, signIn, clock, send, admin } = await createProviderScene(engine);
    await addProvider();
    expect((await signIn(ADA)).hasSession).toBe(true);
    // The clock of this server stood still meanwhile, that of the provider did not.
    const fallBehind = () => clock.advance(Date.now() - 120_000 - clock.now());
    fallBehind();
    expect((await signIn(ADA)).told).toMatch(
      /^The clocks of the provider and of this server differ by 1[12]\d seconds/,
    );
    fallBehind();
    const { checks } = (await send('POST', `${PROVIDERS}/house/test`, { headers: admin })).json();
    expect(checks[3]).toMatchObject({
      check: 'clock',
      outcome: 'failed',
      text: expect.stringMatching(/by 1[12]\d seconds/),
    });
  });
});
