import { createPrivateKey, createPublicKey, type KeyObject, sign } from 'node:crypto';
import type { Message, SenderDeps, SendOutcome } from './message.ts';
import { sendJson } from './send-json.ts';

/** DER of an Ed25519 private key up to its seed (RFC 8410). */
const PKCS8_HEAD = Buffer.from('302e020100300506032b657004220420', 'hex');
const PRIVATE_PREFIX = 'whsk_';
const PUBLIC_PREFIX = 'whpk_';
export const SEED_BYTES = 32;

/** The signing key of a channel and what its receiver verifies with, in the form of Standard Webhooks 1.0. */
export function webhookKeys(seed: Buffer): { secret: string; receiverKey: string } {
  const key = privateKeyOf(seed);
  const raw = createPublicKey(key).export({ type: 'spki', format: 'der' }).subarray(-SEED_BYTES);
  return {
    secret: PRIVATE_PREFIX + seed.toString('base64'),
    receiverKey: PUBLIC_PREFIX + raw.toString('base64'),
  };
}

/** The seed of a stored signing key. */
export function seedOf(secret: string): Buffer {
  return Buffer.from(secret.slice(PRIVATE_PREFIX.length), 'base64');
}

/** Standard Webhooks 1.0 with `v1a` alone: a receiver verifies with a public key, which forges nothing. */
export function sendWebhook(
  { url }: { url: string },
  { secret, message }: { secret: string; message: Message },
  deps: SenderDeps,
): Promise<SendOutcome> {
  const { id, at, subject, severity, link, payload } = message;
  const timestamp = String(Math.floor(deps.now() / 1_000));
  const data = { subject, severity, link, ...payload };
  const body = JSON.stringify({ type: 'tidegate.notice', timestamp: at, data });
  const key = privateKeyOf(seedOf(secret));
  const signature = sign(null, Buffer.from(`${id}.${timestamp}.${body}`), key);
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1a,${signature.toString('base64')}`,
  };
  return sendJson({ url, headers, body, secrets: [secret] }, deps);
}

function privateKeyOf(seed: Buffer): KeyObject {
  return createPrivateKey({ key: Buffer.concat([PKCS8_HEAD, seed]), format: 'der', type: 'pkcs8' });
}
