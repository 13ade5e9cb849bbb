import { NOTICES_KEPT, type Notice } from '@tidegate/protocol/notices-api';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createFactorScene } from '../../testing/factor-scene.ts';
import { ADMIN } from '../../testing/operator-app.ts';
import { createAuthenticator } from '../../testing/software-authenticator.ts';

const NOTICES = '/api/v1/auth/notices';
const OPERATORS = '/api/v1/admin/operators';

describe.each(ENGINES)('notices of one’s own access, on $name', (engine) => {
  async function open() {
    const scene = await createFactorScene(engine);
    const { headers } = await scene.logIn();
    type Headers = typeof headers;
    const notices = async (by: Headers = headers): Promise<Notice[]> =>
      (await scene.send('GET', NOTICES, { headers: by })).json().items;
    const kinds = async (by: Headers = headers) => (await notices(by)).map(({ kind }) => kind);
    const unread = async (by: Headers = headers) =>
      (await scene.send('GET', '/api/v1/auth/session', { headers: by })).json().unread_notices;
    return { ...scene, headers, notices, kinds, unread };
  }

  test('report a new passkey with its name, who added it and from where, until they are seen', async () => {
    const { headers, addPasskey, notices, unread, send, clock } = await open();
    expect([await notices(), await unread()]).toEqual([[], 0]);
    const at = new Date(clock.now()).toISOString();
    await addPasskey(headers, createAuthenticator(), 'laptop');
    const notice = { kind: 'passkey_added', subject: 'laptop', at, actor: 'root', address: '127.0.0.1' };
    const [told] = await notices();
    expect(told).toEqual({ ...notice, id: expect.any(String), is_new: true });
    expect(await unread()).toBe(1);
    clock.advance(1);
    await addPasskey(headers, createAuthenticator(), 'telephone');
    const seen = await send('POST', `${NOTICES}/seen`, { headers, payload: { until: told?.id } });
    expect(seen.statusCode).toBe(204);
    // Notices after the last seen one are still new.
    expect((await notices()).map(({ subject, is_new }) => [subject, is_new])).toEqual([
      ['telephone', true],
      ['laptop', false],
    ]);
    expect(await unread()).toBe(1);
  });

  test('report every change to the operator’s access, newest first', async () => {
    const { headers, send, must, enrolTotp, addPasskey, tryLogIn, kinds, clock } = await open();
    const app = await enrolTotp(headers);
    const { id } = await addPasskey(headers);
    await must('PATCH', `/api/v1/auth/passkeys/${id}`, { headers, payload: { name: 'old laptop' } });
    await must('DELETE', `/api/v1/auth/passkeys/${id}`, { headers });
    const expires_at = new Date(clock.now() + 3_600_000).toISOString();
    const payload = { label: 'nightly', role: 'viewer', expires_at };
    const token = await send('POST', '/api/v1/admin/api-tokens', { headers, payload });
    await must('DELETE', `/api/v1/admin/api-tokens/${token.json().id}`, { headers });
    expect(await tryLogIn({ recovery_code: app.recoveryCodes[0] })).toBe('200');
    await must('POST', '/api/v1/auth/recovery-codes', { headers });
    await must('DELETE', '/api/v1/auth/sessions', { headers });
    const change = { current_password: ADMIN.password, new_password: 'another horse battery' };
    await must('POST', '/api/v1/auth/password', { headers, payload: change });
    await must('DELETE', '/api/v1/auth/totp', { headers });
    expect((await kinds()).toReversed()).toEqual([
      ...['totp_added', 'passkey_added', 'passkey_renamed', 'passkey_removed'],
      ...['api_token_created', 'api_token_revoked', 'recovery_code_used', 'recovery_codes_made'],
      ...['sessions_ended', 'password_changed', 'totp_removed'],
    ]);
  });

  test('report an admin’s act to the operator and to nobody else', async () => {
    const { headers, addOperator, logInWith, must, kinds, notices } = await open();
    const eve = await addOperator(headers, 'eve');
    const own = await logInWith({}, eve.credentials);
    const payload = { password: 'the newest password of eve', role: 'approver' };
    await must('PATCH', `${OPERATORS}/${eve.id}`, { headers, payload });
    expect(await kinds()).toEqual([]);
    const again = await logInWith({}, { username: 'eve', password: payload.password });
    expect(again).not.toEqual(own);
    expect((await kinds(again)).toReversed()).toEqual(['password_reset', 'sessions_ended', 'access_changed']);
    expect((await notices(again)).map(({ actor }) => actor)).toEqual(['root', 'root', 'root']);
  });

  test('are at most the newest fifty', async () => {
    const { headers, must, addPasskey, notices, clock } = await open();
    const { id } = await addPasskey(headers);
    for (let n = 1; n <= NOTICES_KEPT + 5; n++) {
      clock.advance(1);
      await must('PATCH', `/api/v1/auth/passkeys/${id}`, { headers, payload: { name: `name ${n}` } });
    }
    const told = await notices();
    expect(told).toHaveLength(NOTICES_KEPT);
    expect(told[0]?.subject).toBe(`name ${NOTICES_KEPT + 5}`);
  });

  test('no API token reads them', async () => {
    const { headers, send, clock } = await open();
    const expires_at = new Date(clock.now() + 3_600_000).toISOString();
    const payload = { label: 'nightly', role: 'admin', expires_at };
    const made = await send('POST', '/api/v1/admin/api-tokens', { headers, payload });
    const by = { authorization: `Bearer ${made.json().token}` };
    expect((await send('GET', NOTICES, { headers: by })).statusCode).toBe(403);
  });
});
