import { STATE_TYPE, StatePayload } from '@tidegate/protocol/documents';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { verifyEnvelope } from '@tidegate/signing/verify';
import { Check } from 'typebox/value';
import type { TrustedKeySet } from '../identity/config-file.ts';
import { activeKeys } from './trusted-keys.ts';

/** The fleet's signed time and state, or null when no trusted key signed it for this fleet. */
export function verifyState(envelope: unknown, trusted: TrustedKeySet): StatePayload | null {
  const verified = verifyEnvelope(envelope, activeKeys(trusted), STATE_TYPE);
  if (!verified.ok) return null;
  const parsed = parseStrictJson(verified.payload);
  if (!parsed.ok || !Check(StatePayload, parsed.value)) return null;
  return parsed.value.fleet_id === trusted.fleet_id ? parsed.value : null;
}
