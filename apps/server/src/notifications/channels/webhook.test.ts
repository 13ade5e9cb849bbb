import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { hostileMessage, SENT_AT_MS, startReceiver } from '../../testing/receiving-server.ts';
import { sendMessage } from './send-message.ts';
import { webhookKeys } from './webhook.ts';

const DOCUMENT = readFileSync(
  join(import.meta.dirname, '../../../../../docs/notification-channels.md'),
  'utf8',
);
const { secret, receiverKey } = webhookKeys(Buffer.alloc(32, 7));

/** The commands that the documentation gives to receivers: OpenSSL and the public key alone. */
async function verify(signed: { id: string; timestamp: string; body: string; signature: string }) {
  const [, commands = 'exit 1'] = DOCUMENT.match(/```sh\n([\s\S]*?)```/) ?? [];
  using folder = tmpDir();
  writeFileSync(join(folder.path, 'body'), signed.body);
  const { id: ID, timestamp: TIMESTAMP, signature: SIGNATURE } = signed;
  const env = { ID, TIMESTAMP, SIGNATURE, KEY: receiverKey };
  return await runTool('sh', ['-euc', commands], { cwd: folder.path, env });
}

test('a receiver verifies a webhook with a public key, and one changed byte fails', async () => {
  const { origin, received, deps } = await startReceiver();
  const message = hostileMessage(['web-1']);
  const config = { kind: 'webhook', url: `${origin}/tidegate?team=1` } as const;
  const outcome = await sendMessage({ id: 'a', name: 'a', config, secret }, message, deps);
  expect(outcome).toEqual({ kind: 'delivered', answer: '200' });

  const [first] = received;
  if (!first) throw new Error('nothing was received');
  const { headers, body, path } = first;
  expect(path).toBe('/tidegate?team=1');
  expect(headers).toMatchObject({
    'content-type': 'application/json',
    'webhook-id': message.id,
    'webhook-timestamp': String(SENT_AT_MS / 1_000),
  });
  expect(JSON.parse(body)).toEqual({
    type: 'tidegate.notice',
    timestamp: message.at,
    data: { subject: message.subject, severity: 'critical', link: message.link, hosts: ['web-1'] },
  });
  const signed = {
    id: message.id,
    timestamp: String(headers['webhook-timestamp']),
    signature: String(headers['webhook-signature']),
    body,
  };
  expect(signed.signature).toMatch(/^v1a,[A-Za-z0-9+/]{86}==$/);
  expect(await verify(signed)).toContain('Signature Verified Successfully');
  for (const changed of [
    { ...signed, body: body.replace('web-1', 'web-2') },
    { ...signed, id: `${message.id.slice(0, -1)}2` },
    { ...signed, timestamp: String(SENT_AT_MS / 1_000 + 1) },
  ])
    await expect(verify(changed)).rejects.toThrow('Signature Verification Failure');
});

test('each attempt has the same id and body, and its own time', async () => {
  const { origin, received, deps } = await startReceiver(() => ({ status: 500 }));
  const config = { kind: 'webhook', url: origin } as const;
  const channel = { id: 'a', name: 'a', config, secret };
  await sendMessage(channel, hostileMessage(['web-1']), deps);
  await sendMessage(channel, hostileMessage(['web-1']), { ...deps, now: () => SENT_AT_MS + 60_000 });
  const [first, second] = received;
  expect(second?.body).toBe(first?.body);
  expect(second?.headers['webhook-id']).toBe(first?.headers['webhook-id']);
  expect(second?.headers['webhook-timestamp']).toBe(String(SENT_AT_MS / 1_000 + 60));
  expect(second?.headers['webhook-signature']).not.toBe(first?.headers['webhook-signature']);
});
