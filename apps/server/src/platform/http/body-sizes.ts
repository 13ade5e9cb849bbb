import { BODY_MAX_BYTES } from '@tidegate/protocol/agent-api';
import type { JsonLimits } from '@tidegate/protocol/strict-json';

/** Default for the largest body of a route, in bytes, as sent and after decompression. */
export const SMALL_BODY_MAX_BYTES = 4_096;
/** A check-in with the ids of 200 received commands. */
export const CHECK_IN_MAX_BYTES = 16_384;
/** An assertion of a passkey, with key ids of 1,400 characters and an RSA signature. */
export const ASSERTION_MAX_BYTES = 16_384;
/** A reason of 4,096 characters and a few fields, or the filter of a view. */
export const REASON_BODY_MAX_BYTES = 32_768;
/**
 * A list of 100 groups or 1,000 hosts, a new passkey with its attestation, or a console error with its stack.
 */
export const LIST_BODY_MAX_BYTES = 65_536;
/** The ids of 10,000 updates, or 65,536 characters of output. */
export const BULK_BODY_MAX_BYTES = 524_288;
/** Reports of agents other than the inventory: plans, results, events. */
export const REPORT_MAX_BYTES = BODY_MAX_BYTES;

/** Least bytes of a member and of a value; JSON of our schemas takes more. */
const BYTES_PER_KEY = 16;
const BYTES_PER_VALUE = 8;

/** Most keys and values of a body of up to so many bytes. */
export function jsonLimits(maxBytes: number): JsonLimits {
  return {
    maxKeys: Math.ceil(maxBytes / BYTES_PER_KEY),
    maxValues: Math.ceil(maxBytes / BYTES_PER_VALUE),
  };
}
