import { createHash, createPublicKey, type KeyObject } from 'node:crypto';
import { calculateJwkThumbprint, exportJWK, FlattenedSign, type JWK } from 'jose';
import type { Static, TSchema } from 'typebox';
import { Account, Directory } from './acme-documents.ts';
import { AcmeFault } from './acme-fault.ts';
import { type AcmeAnswer, type AcmeHttp, demandSuccess, documentOf, isBadNonce } from './acme-http.ts';

/** How often a request is sent again because its nonce was refused. */
const NONCE_RETRIES_MAX = 10;

/** External account binding (RFC 8555, section 7.3.4). */
export interface AccountBinding {
  keyId: string;
  /** base64url. */
  hmacKey: string;
}

export interface AcmeAccount {
  /** Private key on P-256. */
  key: KeyObject;
  email: string | null;
  binding: AccountBinding | null;
}

/** Requests of one account to one ACME server. Each throws an AcmeFault if it is refused. */
export interface AcmeSession {
  directory: Directory;
  /** POST with a payload; without one a POST-as-GET (section 6.3). */
  post<T extends TSchema>(
    schema: T,
    url: string,
    payload?: object,
  ): Promise<Static<T> & { answer: AcmeAnswer }>;
  /** The chain in PEM. */
  download(url: string): Promise<string>;
  /** Section 8.1. */
  keyAuthorization(token: string): string;
}

/**
 * Reads the directory and registers the account, or finds the one that this key has. Registering means agreement with
 * the terms of service: the caller has it from the operator.
 */
export async function openAcmeSession(
  http: AcmeHttp,
  { directoryUrl, account }: { directoryUrl: string; account: AcmeAccount },
): Promise<AcmeSession> {
  const directory = documentOf(Directory, {
    url: directoryUrl,
    answer: await http.send({ method: 'GET', url: directoryUrl }),
  });
  const jwk = await exportJWK(createPublicKey(account.key));
  const thumbprint = await calculateJwkThumbprint(jwk, 'sha256');
  let nonce: string | null = null;

  async function takeNonce(): Promise<string> {
    const kept = nonce ?? (await http.send({ method: 'HEAD', url: directory.newNonce })).nonce;
    nonce = null;
    if (kept === null) throw new AcmeFault(`${directory.newNonce} answered without a nonce`);
    return kept;
  }

  async function send(
    url: string,
    { payload, signer, accept }: { payload: object | undefined; signer: object; accept?: string },
  ): Promise<AcmeAnswer> {
    const bytes = new TextEncoder().encode(payload === undefined ? '' : JSON.stringify(payload));
    for (let attempt = 0; ; attempt++) {
      const header = { alg: 'ES256', nonce: await takeNonce(), url, ...signer };
      const body = JSON.stringify(
        await new FlattenedSign(bytes).setProtectedHeader(header).sign(account.key),
      );
      const answer = await http.send({ method: 'POST', url, body, ...(accept && { accept }) });
      nonce = answer.nonce;
      if (!isBadNonce(answer) || attempt === NONCE_RETRIES_MAX) {
        demandSuccess({ url, answer });
        return answer;
      }
    }
  }

  const registration = {
    termsOfServiceAgreed: true,
    ...(account.email === null ? {} : { contact: [`mailto:${account.email}`] }),
    ...(account.binding === null
      ? {}
      : { externalAccountBinding: await bind(account.binding, { jwk, url: directory.newAccount }) }),
  };
  const registered = await send(directory.newAccount, { payload: registration, signer: { jwk } });
  const { status } = documentOf(Account, { url: directory.newAccount, answer: registered });
  if (status !== 'valid') throw new AcmeFault(`the account at ${new URL(directoryUrl).host} is ${status}`);
  const kid = registered.location;
  if (kid === null) throw new AcmeFault(`${directory.newAccount} answered without an account URL`);

  return {
    directory,
    async post(schema, url, payload) {
      const answer = await send(url, { payload, signer: { kid } });
      return { ...documentOf(schema, { url, answer }), answer };
    },
    async download(url) {
      const accept = 'application/pem-certificate-chain';
      return (await send(url, { payload: undefined, signer: { kid }, accept })).text;
    },
    keyAuthorization: (token) => `${token}.${thumbprint}`,
  };
}

async function bind({ keyId, hmacKey }: AccountBinding, { jwk, url }: { jwk: JWK; url: string }) {
  return new FlattenedSign(new TextEncoder().encode(JSON.stringify(jwk)))
    .setProtectedHeader({ alg: 'HS256', kid: keyId, url })
    .sign(Buffer.from(hmacKey, 'base64url'));
}

/** What a tls-alpn-01 certificate shows (RFC 8737, section 3). */
export function digestOf(keyAuthorization: string): Buffer {
  return createHash('sha256').update(keyAuthorization).digest();
}
