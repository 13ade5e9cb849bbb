import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { ADMINS, createProviderScene } from '../testing/provider-scene.ts';

const OPERATORS = '/api/v1/admin/operators';
const IDENTITIES = '/api/v1/auth/identities';
const STEP_UP = '/api/v1/auth/step-up/provider';
const ADA = { sub: 'ada-1', groups: ['admins'], preferred_username: 'ada' };
const NEW = { username: 'eve', password: 'the password of eve', role: 'viewer' };

describe.each(ENGINES)('sessions of a provider, on $name', (engine) => {
  test('step up by the provider, by the account that opened them alone', async () => {
    const scene = await createProviderScene(engine);
    const { addProvider, signIn, begin, provider, comeBack, send, clock } = scene;
    await addProvider();
    const { headers } = await signIn(ADA);
    const act = async () => {
      const answer = await send('POST', OPERATORS, {
        headers,
        payload: { ...NEW, username: `eve-${clock.now()}` },
      });
      return [answer.statusCode, answer.json().methods];
    };
    // The person signed in at the provider for this login.
    expect(await act()).toEqual([201, undefined]);
    clock.advance(300_001);
    expect(await act()).toEqual([403, ['provider']]);

    // The provider has the time of this machine.
    clock.advance(-300_001);
    provider.signInAs({ ...ADA, sub: 'bob-1' });
    const other = await begin(STEP_UP, { payload: { next: '/operators' }, headers });
    expect((await comeBack(await provider.visit(other.url), other.cookie)).told).toContain('another account');
    clock.advance(300_002);
    expect(await act()).toEqual([403, ['provider']]);
  });

  test('a step-up asks the provider for a new sign-in, and refuses an old one', async () => {
    const scene = await createProviderScene(engine);
    const { addProvider, signIn, begin, provider, comeBack, send, eventsOf } = scene;
    await addProvider();
    const { headers } = await signIn(ADA);
    const { url, cookie } = await begin(STEP_UP, { payload: { next: '/operators?q=x' }, headers });
    expect(Object.fromEntries(new URL(url).searchParams)).toMatchObject({ max_age: '0', prompt: 'login' });
    const back = await comeBack(await provider.visit(url), cookie);
    expect([back.status, back.place, back.hasSession]).toEqual([303, '/operators?q=x', false]);
    expect((await eventsOf('STEP_UP_SUCCEEDED'))[0]).toMatchObject({ method: 'provider', provider: 'house' });
    expect((await send('GET', '/api/v1/auth/session', { headers })).json().stepped_up_until).not.toBeNull();
  });

  test('wait for the local factor of the operator, unless the provider had one', async () => {
    const scene = await createProviderScene(engine);
    const { addProvider, signIn, enrolTotp, send, must, change, whoIs } = scene;
    await addProvider();
    const { headers: first } = await signIn(ADA);
    const app = await enrolTotp(first);
    const second = await signIn(ADA);
    expect(second).toMatchObject({ status: 303, place: '/login?step=factor&next=%2F', hasSession: true });
    const list = async (headers: Record<string, string>) =>
      (await send('GET', OPERATORS, { headers })).json();
    expect(await list(second.headers)).toMatchObject({
      code: 'step_up_required',
      methods: ['totp', 'recovery_code'],
    });
    const wrong = await send('POST', '/api/v1/auth/step-up', {
      headers: second.headers,
      payload: { totp: '000000' },
    });
    expect(wrong.statusCode).toBe(403);
    await must('POST', '/api/v1/auth/step-up', { headers: second.headers, payload: { totp: app.code() } });
    expect((await list(second.headers)).total).toBe(2);

    await change({ factor_values: ['mfa', 'urn:two'], acr_values: 'urn:two urn:one' });
    const weak = await signIn({ ...ADA, acr: 'urn:one' });
    expect(weak.place).toContain('step=factor');
    const strong = await signIn({ ...ADA, acr: 'urn:two' });
    expect(strong.place).toBe('/');
    expect((await list(strong.headers)).total).toBe(2);
    expect((await send('GET', '/api/v1/auth/session', { headers: strong.headers })).json().method).toBe(
      'provider+factor',
    );
    expect(await whoIs(strong.headers)).toMatchObject({ username: 'ada' });
  });

  test('an operator without a password has no other way in, and the local admin stays', async () => {
    const scene = await createProviderScene(engine);
    const { addProvider, signIn, admin, send, tryLogIn, addPasskey, must } = scene;
    await addProvider();
    const { headers: ada } = await signIn(ADA);
    expect(await tryLogIn({}, { username: 'ada', password: 'none' })).toBe('401 unauthenticated');
    const { authenticator } = await addPasskey(ada);
    const begun = await must('POST', '/api/v1/auth/login/passkey/options');
    const byPasskey = await send('POST', '/api/v1/auth/login/passkey', { payload: authenticator.get(begun) });
    expect(byPasskey.statusCode).toBe(401);

    // Ada is an admin of the whole fleet too, but only root has a password.
    const root = (await send('GET', OPERATORS, { headers: admin }))
      .json()
      .items.find((it: { username: string }) => it.username === 'root');
    const last = { status: 409, detail: 'This is the last admin of the whole fleet with a password.' };
    const told = async (method: 'PATCH' | 'DELETE', url: string, payload?: object) => {
      const answer = await send(method, url, { headers: admin, ...(payload ? { payload } : {}) });
      return { status: answer.statusCode, detail: answer.json().detail };
    };
    expect(await told('PATCH', `${OPERATORS}/${root.id}`, { disabled: true })).toEqual(last);
    expect(await told('PATCH', `${OPERATORS}/${root.id}`, { role: 'viewer' })).toEqual(last);
    expect(await told('DELETE', `${OPERATORS}/${root.id}`)).toEqual(last);
    const bound = { provider_id: 'house', subject: 'root-1' };
    await must('POST', `${OPERATORS}/${root.id}/identities`, { headers: admin, payload: bound });
    expect(await told('DELETE', `${OPERATORS}/${root.id}/password`)).toEqual(last);
    // Its account logs it in, and its groups do not take its role.
    const viewer = { group: 'viewers', role: 'viewer', groups: null };
    await scene.change({ mapping: [ADMINS, viewer] });
    const byAccount = await signIn({ sub: 'root-1', groups: ['viewers'] });
    expect(await scene.whoIs(byAccount.headers)).toMatchObject({ username: 'root', role: 'admin' });
  });

  test('an admin binds an operator, removes its password, and the provider decides from then on', async () => {
    const scene = await createProviderScene(engine);
    const { addProvider, admin, addOperator, must, send, signIn, whoIs, tryLogIn, eventsOf } = scene;
    await addProvider({ creates_operators: false });
    const eve = await addOperator(admin, 'eve', 'approver');
    const path = `${OPERATORS}/${eve.id}`;
    const payload = { provider_id: 'house', subject: 'eve-1' };
    expect((await send('DELETE', `${path}/password`, { headers: admin })).statusCode).toBe(409);
    const made = await send('POST', `${path}/identities`, { headers: admin, payload });
    expect(made.statusCode).toBe(201);
    expect((await send('POST', `${path}/identities`, { headers: admin, payload })).statusCode).toBe(409);
    const person = { sub: 'eve-1', groups: ['admins'] };
    expect(await whoIs((await signIn(person)).headers)).toMatchObject({ username: 'eve', role: 'approver' });
    await must('DELETE', `${path}/password`, { headers: admin });
    expect(await tryLogIn({}, eve.credentials)).toBe('401 unauthenticated');
    const { headers } = await signIn(person);
    expect(await whoIs(headers)).toMatchObject({ username: 'eve', role: 'admin' });
    const refused = await send('PATCH', path, { headers: admin, payload: { role: 'viewer' } });
    expect([refused.statusCode, refused.json().detail]).toEqual([
      409,
      'An identity provider decides the role and groups of this operator: change its mapping.',
    ]);
    const unbind = async () =>
      (await send('DELETE', `${path}/identities/${made.json().id}`, { headers: admin })).statusCode;
    expect(await unbind()).toBe(409);
    // A new password is a local account again: the account of the provider ends with the other ways in.
    await must('PATCH', path, { headers: admin, payload: { password: 'the new password of eve' } });
    expect([await unbind(), await whoIs(headers)]).toEqual([404, 401]);
    expect((await signIn(person)).told).toContain('No operator is bound');
    expect(await eventsOf('IDENTITY_CHANGED')).toMatchObject([
      { change: 'unbound' },
      { change: 'bound', subject: 'eve-1' },
    ]);
  });

  test('an operator binds an account to itself after a fresh proof, and unbinds it', async () => {
    const scene = await createProviderScene(engine);
    const { addProvider, admin, begin, provider, comeBack, send, must, signIn, whoIs, clock, logIn } = scene;
    await addProvider({ creates_operators: false });
    clock.advance(300_001);
    const bound = { payload: { provider_id: 'house', next: '/account' }, headers: admin };
    expect((await send('POST', IDENTITIES, bound)).statusCode).toBe(403);
    const { headers } = await logIn();
    provider.signInAs({ sub: 'root-1', groups: ['admins'] });
    const { url, cookie } = await begin(IDENTITIES, { ...bound, headers });
    expect(await comeBack(await provider.visit(url), cookie)).toMatchObject({
      status: 303,
      place: '/account',
    });
    const session = await signIn();
    expect(await whoIs(session.headers)).toMatchObject({ username: 'root' });
    const own = (await send('GET', IDENTITIES, { headers })).json();
    expect(own).toMatchObject({ has_password: true, items: [{ subject: 'root-1', provider_name: 'House' }] });
    await must('DELETE', `${IDENTITIES}/${own.items[0].id}`, { headers });
    expect([await whoIs(session.headers), (await signIn()).hasSession]).toEqual([401, false]);
  });

  test('a logout here logs out there, and a logout there ends the session here', async () => {
    const { addProvider, signIn, send, whoIs, provider, login, comeBack } = await createProviderScene(engine);
    await addProvider();
    const { headers } = await signIn(ADA);
    const answer = await send('POST', '/api/v1/auth/logout/provider', { headers });
    const url = new URL(answer.json().url);
    expect([url.origin, url.searchParams.get('post_logout_redirect_uri')]).toEqual([
      provider.issuer,
      'http://localhost/login',
    ]);
    expect(url.searchParams.get('id_token_hint')).toMatch(/^ey/);
    expect(await whoIs(headers)).toBe(401);

    const jar = new Map<string, string>();
    const begun = await login();
    const second = await comeBack(await provider.visit(begun.url, jar), begun.cookie);
    expect(await whoIs(second.headers)).toMatchObject({ username: 'ada' });
    await provider.logOut(jar);
    expect(await whoIs(second.headers)).toBe(401);
  });

  test('only another site’s page, never a stranger, is kept from beginning a login; nothing is stored for it', async () => {
    const { addProvider, send, database } = await createProviderScene(engine);
    await addProvider();
    const payload = { provider_id: 'house' };
    const foreign = { headers: { 'sec-fetch-site': 'cross-site' }, payload };
    expect((await send('POST', '/api/v1/auth/login/provider', foreign)).statusCode).toBe(403);
    const begun = await send('POST', '/api/v1/auth/login/provider', { payload });
    expect(String(begun.headers['set-cookie'])).toMatch(
      /^tidegate_sign_in=[\w-]+; Path=\/; SameSite=Lax; HttpOnly; Max-Age=600$/,
    );
    expect(await database.read.selectFrom('used_sign_ins').selectAll().execute()).toEqual([]);
    expect((await send('GET', '/api/v1/auth/providers')).json()).toEqual({
      items: [{ id: 'house', name: 'House' }],
    });
  });
});
