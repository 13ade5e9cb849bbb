import { CheckInAnswer } from '@tidegate/protocol/agent-api';
import type { Envelope } from '@tidegate/protocol/documents';
import { type SigningKey, signEnvelope } from '@tidegate/signing/sign';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import type { Tampering } from './tampering-proxy.ts';

const Fields = Type.Record(Type.String(), Type.Unknown());

/** The signed body of an envelope, read without verifying anything. */
export function fieldsOf(envelope: Envelope): Record<string, unknown> {
  const value: unknown = JSON.parse(Buffer.from(envelope.payload, 'base64').toString('utf8'));
  if (!Check(Fields, value)) throw new Error('the payload is not an object');
  return value;
}

/** The same document with other fields, under the old signature. */
export function altered(envelope: Envelope, change: Record<string, unknown>): Envelope {
  const payload = Buffer.from(JSON.stringify({ ...fieldsOf(envelope), ...change })).toString('base64');
  return { ...envelope, payload };
}

/** The same document with other fields, signed by a key that the attacker holds. */
export function forged(envelope: Envelope, key: SigningKey, change: Record<string, unknown>): Envelope {
  const bytes = Buffer.from(JSON.stringify({ ...fieldsOf(envelope), ...change }));
  return signEnvelope(key, envelope.payloadType, bytes);
}

/** Rewrites the commands in responses to check-ins. */
export function commandsBecome(rewrite: (commands: Envelope[]) => unknown[]): Tampering {
  return ({ path, body }) => {
    if (!path.endsWith('/check-in') || !Check(CheckInAnswer, body)) return body;
    return { ...body, commands: rewrite(body.commands) };
  };
}
