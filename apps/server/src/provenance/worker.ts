import {
  afterFailure,
  afterSuccess,
  type Breaker,
  CLOSED_BREAKER,
  mayCall,
} from '../platform/circuit-breaker.ts';
import type { Platform } from '../platform/platform.ts';
import type { AgedEcosystem } from '../release-times/subjects.ts';
import type { ProvenanceClient } from './fetch-provenance.ts';
import { type ProvenanceSubject, provenanceKey } from './provenance-rules.ts';
import { saveProvenance } from './store.ts';

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
  const queue = new Map<string, ProvenanceSubject>();
  const breakers: Record<AgedEcosystem, Breaker> = { npm: CLOSED_BREAKER, pypi: CLOSED_BREAKER };
  let running: Promise<void> | null = null;
  let isStopped = false;

  async function run(): Promise<void> {
    await Promise.resolve();
    for (const [key, subject] of queue) {
      if (isStopped) break;
      // A subject stays queued during its query, so that it is not queried twice.
      await ask(subject);
      queue.delete(key);
    }
    running = null;
  }

  async function ask(subject: ProvenanceSubject): Promise<void> {
    const { ecosystem, name, version, artifact } = subject;
    const at = { nowMs: platform.now(), urgent: false };
    if (!mayCall(breakers[ecosystem], at)) return;
    const { provenance, cause } = await client.ask(subject);
    if (isStopped) return;
    const nowMs = platform.now();
    breakers[ecosystem] = cause === null ? afterSuccess(nowMs) : afterFailure(breakers[ecosystem], nowMs);
    if (cause !== null) {
      platform.log.upstreamWarning('supply_chain provenance source failed', {
        ecosystem,
        package: name,
        cause,
      });
    }
    const row = {
      ecosystem,
      name,
      version,
      artifact: artifact?.hash.hex ?? '',
      status: provenance.status,
      source_repository: provenance.sourceRepository,
      builder: provenance.builder,
      fetched_at: nowMs,
    };
    try {
      await platform.database.transact((tx) => saveProvenance(tx, row));
    } catch (error) {
      // An unavailable database must not end the process: the next reader queues the subject again.
      platform.log.error('provenance could not be stored', { error: String(error) });
    }
  }

  return {
    want(subjects) {
      for (const subject of subjects) {
        if (isStopped || queue.size >= queueMax) break;
        const key = provenanceKey(subject);
        if (!queue.has(key)) queue.set(key, subject);
      }
      if (queue.size > 0 && !isStopped) running ??= run();
    },
    idle: async () => {
      while (running) await running;
    },
    async stop() {
      isStopped = true;
      await client.close();
      await running;
    },
  };
}
