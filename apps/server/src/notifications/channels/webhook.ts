import { generatePrivateKeyHex, loadSigningKey, type SigningKey, signDetached } from '@tidegate/signing/sign';
import type { Message, SenderDeps, SendOutcome } from './message.ts';
import { sendJson } from './send-json.ts';

const PRIVATE_PREFIX = 'whsk_';
const PUBLIC_PREFIX = 'whpk_';
export const SEED_BYTES = 32;

/** The signing key of a channel and what its receiver verifies with, in the form of Standard Webhooks 1.0. */
export function webhookKeys(seed: Buffer): { secret: string; receiverKey: string } {
  const { publicKeyHex } = signingKeyOf(seed);
  return {
    secret: PRIVATE_PREFIX + seed.toString('base64'),
    receiverKey: PUBLIC_PREFIX + Buffer.from(publicKeyHex, 'hex').toString('base64'),
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
  const signature = signDetached(signingKeyOf(seedOf(secret)), Buffer.from(`${id}.${timestamp}.${body}`));
  const headers = {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1a,${Buffer.from(signature).toString('base64')}`,
  };
  return sendJson({ url, headers, body, secrets: [secret] }, deps);
}

function signingKeyOf(seed: Buffer): SigningKey {
  return loadSigningKey({ keyId: 'webhook', privateKeyHex: generatePrivateKeyHex(seed) });
}
