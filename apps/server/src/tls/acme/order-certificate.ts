import { examinePair, type KeyPair } from '../key-pair.ts';
import { Authorization, Challenge, Order } from './acme-documents.ts';
import { AcmeFault } from './acme-fault.ts';
import { type AcmeAnswer, wordsOf } from './acme-http.ts';
import type { AcmeSession } from './acme-session.ts';
import { makeRequest } from './make-certificates.ts';

export type ChallengeType = 'http-01' | 'tls-alpn-01';

/** Answers challenges of one type. */
export interface Responder {
  type: ChallengeType;
  /** Answers this challenge until the returned function is called. */
  respond(challenge: { name: string; token: string; keyAuthorization: string }): Promise<() => void>;
}

/** How long one step may take at the ACME server, as a number of questions and the pause between two. */
const QUESTIONS_MAX = 180;
const PAUSE_MAX_MS = 10_000;

export interface Ordering {
  names: readonly string[];
  responder: Responder;
  /** Resolves after so many milliseconds; rejects when the server stops. */
  pause: (ms: number) => Promise<void>;
  /** Pause between two questions where the ACME server names none. */
  pollMs: number;
}

/** Proves control of the names and returns a certificate for them with its new key. Throws an AcmeFault. */
export async function orderCertificate(session: AcmeSession, ordering: Ordering): Promise<KeyPair> {
  const identifiers = ordering.names.map((value) => ({ type: 'dns', value }));
  const placed = await session.post(Order, session.directory.newOrder, { identifiers });
  const url = placed.answer.location;
  if (url === null) throw new AcmeFault('the order has no URL');
  for (const authorization of placed.authorizations) await authorize(session, authorization, ordering);
  const ready = await poll(ordering, { ask: () => session.post(Order, url), isOpen: isPending });
  if (ready.status === 'invalid')
    throw new AcmeFault(`the order failed: ${wordsOf(ready.error) ?? 'no reason'}`);
  const { key, csr } = await makeRequest(ordering.names);
  await session.post(Order, ready.finalize, { csr });
  const issued = await poll(ordering, { ask: () => session.post(Order, url), isOpen: isIssuing });
  if (issued.certificate === undefined) {
    throw new AcmeFault(`no certificate was issued: ${wordsOf(issued.error) ?? issued.status}`);
  }
  const pair = { cert: await session.download(issued.certificate), key };
  const examined = examinePair(pair);
  if (!examined.ok) throw new AcmeFault(`the issued certificate cannot be used: ${examined.fault}`);
  const missing = ordering.names.find((name) => !examined.facts.covers(name));
  if (missing !== undefined) throw new AcmeFault(`the issued certificate is not for ${missing}`);
  return pair;
}

const isPending = ({ status }: Order) => status === 'pending';
const isIssuing = ({ status }: Order) => status === 'processing' || status === 'ready';

async function authorize(session: AcmeSession, url: string, ordering: Ordering): Promise<void> {
  const { status, identifier, challenges } = await session.post(Authorization, url);
  // The ACME server remembers an earlier proof.
  if (status === 'valid') return;
  const { type } = ordering.responder;
  const challenge = challenges.find((one) => one.type === type);
  if (challenge?.token === undefined) throw new AcmeFault(`${type} is not offered for ${identifier.value}`);
  const { token } = challenge;
  const keyAuthorization = session.keyAuthorization(token);
  const end = await ordering.responder.respond({ name: identifier.value, token, keyAuthorization });
  try {
    await session.post(Challenge, challenge.url, {});
    const judged = await poll(ordering, {
      ask: () => session.post(Authorization, url),
      isOpen: (authorization: Authorization) => authorization.status === 'pending',
    });
    if (judged.status === 'valid') return;
    const reason = wordsOf(judged.challenges.find((one) => one.type === type)?.error) ?? judged.status;
    throw new AcmeFault(`${type} failed for ${identifier.value}: ${reason}`);
  } finally {
    end();
  }
}

async function poll<T extends { answer: AcmeAnswer }>(
  ordering: Ordering,
  { ask, isOpen }: { ask: () => Promise<T>; isOpen: (found: T) => boolean },
): Promise<T> {
  for (let question = 0; question < QUESTIONS_MAX; question++) {
    const found = await ask();
    if (!isOpen(found)) return found;
    await ordering.pause(Math.min(found.answer.retryAfterMs ?? ordering.pollMs, PAUSE_MAX_MS));
  }
  throw new AcmeFault('the ACME server did not decide in time');
}
