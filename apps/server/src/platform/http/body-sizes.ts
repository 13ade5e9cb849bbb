import { BODY_MAX_BYTES } from '@tidegate/protocol/agent-api';
import type { JsonLimits } from '@tidegate/protocol/strict-json';

/** Largest body of a route that names no other size, in bytes, as sent and after decompression. */
export const SMALL_BODY_MAX_BYTES = 4_096;
/** A check-in with the ids of 200 commands that were received. */
export const CHECK_IN_MAX_BYTES = 16_384;
/** An assertion of a passkey: key ids of 1,400 characters and a signature of RSA among them. */
export const ASSERTION_MAX_BYTES = 16_384;
/** A reason of 4,096 characters beside a few fields, or the filter of a view. */
export const REASON_BODY_MAX_BYTES = 32_768;
/** A list of 100 groups or 1,000 hosts, a new passkey with its attestation, an error of the console with its stack. */
export const LIST_BODY_MAX_BYTES = 65_536;
/** 10,000 updates by their ids, or a piece of output of 65,536 characters. */
export const BULK_BODY_MAX_BYTES = 524_288;
/** What agents report beside their inventory: plans, results, events. */
export const REPORT_MAX_BYTES = BODY_MAX_BYTES;

/** A member takes this many bytes of a body at least, and a value this many: JSON of our schemas takes more. */
const BYTES_PER_KEY = 16;
const BYTES_PER_VALUE = 8;

/** Most keys and values of a body of a route that takes so many bytes. */
export function jsonLimits(maxBytes: number): JsonLimits {
  return {
    maxKeys: Math.ceil(maxBytes / BYTES_PER_KEY),
    maxValues: Math.ceil(maxBytes / BYTES_PER_VALUE),
  };
}
