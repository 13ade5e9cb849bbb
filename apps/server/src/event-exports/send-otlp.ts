import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { request } from 'undici';
import type { EventRow } from '../events/store.ts';
import { createOutgoing } from '../platform/outgoing.ts';
import { readUpTo } from '../platform/read-up-to.ts';
import { retryAfterMs } from '../platform/retry-after.ts';
import { logsRequest, type OtlpSource } from './otlp-rules.ts';
import type { ExportTargets } from './read-targets.ts';
import type { Sent } from './run-exporter.ts';

const TIMEOUT_MS = 30_000;
const ANSWER_MAX_BYTES = 65_536;
const RETRY_AFTER_MAX_MS = 3_600_000;
const REASON_MAX_CHARS = 300;

/** What a collector may say in a 200: it took the request, but not these records, which are not to be sent again. */
const PartialSuccess = Type.Object({
  partialSuccess: Type.Object({
    rejectedLogRecords: Type.Union([Type.String({ pattern: '^\\d{1,10}$' }), Type.Integer({ minimum: 0 })]),
    errorMessage: Type.Optional(Type.String()),
  }),
});

/** Sends a batch to a collector by OTLP/HTTP with JSON. */
export function createOtlpSender(
  { url, ca, headers }: NonNullable<ExportTargets['otlp']>,
  source: OtlpSource & { readonly now: () => number },
) {
  const dispatcher = createOutgoing({ ca, connections: 1 });
  return async (events: readonly EventRow[], signal: AbortSignal): Promise<Sent> => {
    try {
      const answer = await request(url, {
        method: 'POST',
        headers: { ...headers, 'content-type': 'application/json' },
        body: logsRequest(events, source),
        dispatcher,
        signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
      });
      const text = (await readUpTo(answer.body, ANSWER_MAX_BYTES)).bytes.toString('utf8');
      if (answer.statusCode === 200) return { kind: 'sent', ...refusedIn(text) };
      const reason = `status ${answer.statusCode}: ${text.slice(0, REASON_MAX_CHARS)}`;
      if (answer.statusCode === 400 || answer.statusCode === 413) return { kind: 'refused', reason };
      const [header = null] = [answer.headers['retry-after'] ?? []].flat();
      const waitMs = Math.min(retryAfterMs(header, source.now()) ?? 0, RETRY_AFTER_MAX_MS);
      return { kind: 'failed', reason, retryAfterMs: waitMs };
    } catch (error) {
      // Any fault of the network or the collector: the same events are sent again.
      return { kind: 'failed', reason: causeOf(error) };
    }
  };
}

function refusedIn(text: string): { rejected?: number; reason?: string } {
  const answer = parsed(text);
  if (!Value.Check(PartialSuccess, answer)) return {};
  const { rejectedLogRecords, errorMessage = '' } = answer.partialSuccess;
  const rejected = Number(rejectedLogRecords);
  return rejected === 0 ? {} : { rejected, reason: errorMessage.slice(0, REASON_MAX_CHARS) };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    if (error instanceof SyntaxError) return null;
    throw error;
  }
}

function causeOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return 'code' in error && typeof error.code === 'string'
    ? `${error.code}: ${error.message}`
    : error.message;
}
