import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type CryptoKey, exportJWK, generateKeyPair, SignJWT } from 'jose';
import { onTestFinished } from 'vitest';

const HMAC = new TextEncoder().encode(
  'the secret of the client, long enough for HS512 and its key of 64 bytes',
);

/** A provider that says whatever a test wants, to see it refused. */
export async function startForgingProvider() {
  const { privateKey, publicKey } = await generateKeyPair('ES256');
  const strange = await generateKeyPair('ES256');
  const jwk = { ...(await exportJWK(publicKey)), kid: 'known', alg: 'ES256', use: 'sig' };
  let metadata: Record<string, unknown> = {};
  let idToken = '';
  const server = createServer((req, res) => {
    const answer = (status: number, body: unknown) => {
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
    };
    if (req.url?.endsWith('/openid-configuration')) answer(200, metadata);
    else if (req.url === '/keys') answer(200, { keys: [jwk] });
    else answer(200, { access_token: 'x', token_type: 'Bearer', expires_in: 60, id_token: idToken });
  });
  const listening = Promise.withResolvers<void>();
  server.listen(0, '127.0.0.1', listening.resolve);
  await listening.promise;
  onTestFinished(() => void server.close());
  const address: AddressInfo | string | null = server.address();
  const issuer = `http://127.0.0.1:${address !== null && typeof address === 'object' ? address.port : 0}`;
  metadata = {
    issuer,
    authorization_endpoint: `${issuer}/authorize`,
    token_endpoint: `${issuer}/token`,
    jwks_uri: `${issuer}/keys`,
    response_types_supported: ['code'],
    id_token_signing_alg_values_supported: ['ES256', 'HS256', 'none'],
    authorization_response_iss_parameter_supported: true,
  };
  const sign = (
    claims: Record<string, unknown>,
    header: { alg: string; kid?: string; typ?: string } = { alg: 'ES256', kid: 'known' },
    key: CryptoKey | Uint8Array = privateKey,
  ) => new SignJWT(claims).setProtectedHeader(header).sign(key);
  return {
    issuer,
    sign,
    describe(changed: Record<string, unknown>): void {
      metadata = { ...metadata, ...changed };
    },
    answerWith(token: string): void {
      idToken = token;
    },
    /** Signed by a key that is not published. */
    signStrangely: (claims: Record<string, unknown>, kid: string) =>
      sign(claims, { alg: 'ES256', kid }, strange.privateKey),
    signBySecret: (claims: Record<string, unknown>) => sign(claims, { alg: 'HS256' }, HMAC),
    /** Not signed at all. */
    leaveUnsigned(claims: Record<string, unknown>): string {
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      return `${part({ alg: 'none' })}.${part(claims)}.`;
    },
  };
}
