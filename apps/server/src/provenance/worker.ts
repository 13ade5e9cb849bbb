import {
  afterFailure,
  afterSuccess,
  type Breaker,
  CLOSED_BREAKER,
  mayCall,
} from '../platform/circuit-breaker.ts';
import type { Platform } from '../platform/platform.ts';
import { createTwoLaneQueue } from '../platform/two-lane-queue.ts';
import type { AgedEcosystem } from '../release-times/subjects.ts';
import type { ProvenanceClient } from './fetch-provenance.ts';
import { keptOf, type ProvenanceSubject, provenanceKey } from './provenance-rules.ts';
import { findProvenance, type ProvenanceRow, saveProvenance } from './store.ts';

/** Fetches provenance with the lowest priority: nobody waits for it, so it never delays a decision. */
export interface ProvenanceWorker {
  /** Fetches in the background; subjects past the queue limit are dropped. */
  want(subjects: readonly ProvenanceSubject[]): void;
  /** Resolves when the queue is empty. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Maximum waiting subjects. */
export const QUEUE_MAX = 5_000;

export interface ProvenanceWorkerOptions {
  readonly platform: Platform;
  readonly client: ProvenanceClient;
  readonly queueMax?: number;
}

export function createProvenanceWorker(options: ProvenanceWorkerOptions): ProvenanceWorker {
  const { platform, client, queueMax = QUEUE_MAX } = options;
  const breakers: Record<AgedEcosystem, Breaker> = { npm: CLOSED_BREAKER, pypi: CLOSED_BREAKER };
  const queue = createTwoLaneQueue<ProvenanceSubject, null>({
    keyOf: provenanceKey,
    async work({ items, isStopped }) {
      for (const subject of items) await ask(subject, isStopped);
    },
    // An unavailable database must not end the process: the next reader queues the subject again.
    onError: (error) => platform.log.error('provenance could not be stored', { error: String(error) }),
    notAsked: null,
    ...{ batchMax: 1, queueMax, concurrency: 1 },
  });

  async function ask(subject: ProvenanceSubject, isStopped: () => boolean): Promise<void> {
    const { ecosystem, name, version, artifact } = subject;
    const at = { nowMs: platform.now(), urgent: false };
    if (!mayCall(breakers[ecosystem], at)) return;
    const { provenance, cause } = await client.ask(subject);
    if (isStopped()) return;
    const nowMs = platform.now();
    breakers[ecosystem] = cause === null ? afterSuccess(nowMs) : afterFailure(breakers[ecosystem], nowMs);
    if (cause !== null) {
      platform.log.upstreamWarning('supply_chain provenance source failed', {
        ecosystem,
        package: name,
        cause,
      });
    }
    const row: ProvenanceRow = {
      ecosystem,
      name,
      version,
      artifact: artifact?.hash.hex ?? '',
      status: provenance.status,
      source_repository: provenance.sourceRepository,
      builder: provenance.builder,
      fetched_at: nowMs,
    };
    await platform.database.transact(async (tx) =>
      saveProvenance(tx, keptOf(row, await findProvenance(tx, row))),
    );
  }

  return {
    want: queue.add,
    idle: queue.idle,
    async stop() {
      const idle = queue.stop();
      await client.close();
      await idle;
    },
  };
}
