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

/** Asks for provenance behind everything else: nobody waits for it, so that it never delays a decision. */
export interface ProvenanceWorker {
  /** Asks in the background; what does not fit into the queue is not asked now. */
  want(subjects: readonly ProvenanceSubject[]): void;
  /** Done when nothing is left to ask. */
  idle(): Promise<void>;
  stop(): Promise<void>;
}

/** Most subjects that wait. */
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
      // A subject stays in the queue while it is asked about, so that it is not asked twice.
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
      // A database that is away must not end the process: it is asked again when somebody looks.
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
