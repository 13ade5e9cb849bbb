import { randomBytes } from 'node:crypto';
import { APPROVAL_TYPE, type Envelope } from '@tidegate/protocol/documents';
import { countersign, generatePrivateKeyHex, loadSigningKey } from '@tidegate/signing/sign';
import { loadTrustedKey, maximumSignatures, signersOf } from '@tidegate/signing/verify';
import { describe, expect, test } from 'vitest';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';

const makeKey = () => loadSigningKey({ keyId: 'ops', privateKeyHex: generatePrivateKeyHex(randomBytes(32)) });
const ops = makeKey();

/** The signature of a key holder over the token in the approval's answer. */
function signatureOf(token: Envelope, key = ops): object {
  const made = countersign(key, token).signatures.at(-1);
  if (made === undefined) throw new Error('nothing was signed');
  return made;
}

describe.each(ENGINES)('a second signature (POST countersign) on $name', (engine) => {
  async function approved() {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    const { token }: { token: Envelope } = (await it.approve(id)).body;
    const sign = (body: object) => it.call('POST', `/api/v1/updates/${id}/countersign`, body);
    const stored = async (): Promise<Envelope> => {
      const row = await it.database.read.selectFrom('approvals').selectAll().executeTakeFirstOrThrow();
      return JSON.parse(row.envelope);
    };
    return { ...it, id, token, sign, stored };
  }

  test('is added to the approval beside the server’s, once, with an event', async () => {
    const it = await approved();
    for (let again = 0; again < 2; again += 1) {
      expect(await it.sign(signatureOf(it.token))).toMatchObject({ status: 200, body: { update_id: it.id } });
    }
    const signed = await it.stored();
    expect(signed).toEqual({ ...it.token, signatures: [...it.token.signatures, signatureOf(it.token)] });
    const serverHex = it.keyRing.keySet().keys[0]?.public_key_hex ?? '';
    const keys = [{ keyId: 'server', publicKeyHex: serverHex }, ops].map((key) => loadTrustedKey(key));
    expect(signersOf(signed, keys, APPROVAL_TYPE)).toHaveLength(2);
    const events = it.database.read
      .selectFrom('events')
      .selectAll()
      .where('type', '=', 'approval_countersigned');
    expect(await events.execute()).toMatchObject([{ actor: 'ada', agent_id: it.agentId }]);
  });

  test.each([
    ['no signature', {}],
    ['not 64 bytes', { keyid: 'ops', sig: 'AAAA' }],
    ['loose bits', { keyid: 'ops', sig: `${'A'.repeat(85)}B==` }],
    ['white space', { keyid: 'ops', sig: ` ${'A'.repeat(85)}A==` }],
    ['an unknown field', { keyid: 'ops', sig: `${'A'.repeat(86)}==`, trusted: true }],
  ])('%s is 400: an unreadable signature would spoil the approval', async (_, body) => {
    const it = await approved();
    expect(await it.sign(body)).toMatchObject({ status: 400, code: 'invalid_request' });
    expect(await it.stored()).toEqual(it.token);
  });

  test('there are at most as many as an agent checks', async () => {
    const it = await approved();
    for (let count = it.token.signatures.length; count < maximumSignatures; count += 1) {
      expect((await it.sign(signatureOf(it.token, makeKey()))).status).toBe(200);
    }
    expect(await it.sign(signatureOf(it.token, makeKey()))).toMatchObject({ status: 409, code: 'conflict' });
    expect((await it.stored()).signatures).toHaveLength(maximumSignatures);
  });

  test('a withdrawn or expired approval cannot be signed, nor one of an unknown update', async () => {
    const it = await approved();
    const signature = signatureOf(it.token);
    expect((await it.call('POST', `/api/v1/updates/${it.agentId}/countersign`, signature)).status).toBe(404);
    it.clock.advance(8 * 24 * 3_600_000);
    expect(await it.sign(signature)).toMatchObject({ status: 409, code: 'conflict' });
  });
});
