/** How long a request may take to arrive, in milliseconds. */
export interface RequestTimes {
  headersMs: number;
  /** Head and body together. */
  wholeMs: number;
  /** Interval between checks for late requests. */
  checkMs: number;
}

export const REQUEST_TIMES: RequestTimes = { headersMs: 10_000, wholeMs: 30_000, checkMs: 2_000 };
/**
 * Longest idle time between two requests on a connection, in milliseconds; longer than the check-in interval.
 */
const KEEP_ALIVE_MS = 75_000;
/** Little is buffered of a body before the guards have run, because they may refuse it; over TLS it is what Node buffers. */
export const BODY_BUFFER_BYTES = 16_384;

/** Limits of every server of HTTP. */
export function httpLimits(times: RequestTimes = REQUEST_TIMES) {
  return {
    requestTimeout: times.wholeMs,
    headersTimeout: times.headersMs,
    connectionsCheckingInterval: times.checkMs,
    keepAliveTimeout: KEEP_ALIVE_MS,
    highWaterMark: BODY_BUFFER_BYTES,
    // `headerFault` checks it and answers with problem+json.
    requireHostHeader: false,
  };
}
