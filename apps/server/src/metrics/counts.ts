import { Counter, collectDefaultMetrics, Registry } from '@prometheus-io/client';
import { createRequestTimes } from './request-times.ts';
import { optionsOf, type Sample } from './scrape.ts';

const CHECK_IN_ROUTE = '/api/v1/agents/:agent_id/check-in';

/** What the server counts as it happens, from its start. */
export function createCounts({ version }: { version: string }) {
  const registry = new Registry();
  const requests = createRequestTimes();
  const decisions = new Counter({ ...optionsOf('tidegate_gate_decisions_total'), registers: [registry] });
  collectDefaultMetrics({ register: registry });

  return {
    /** Every request passes through it. */
    answered: requests.record,
    decided({ outcome, stop }: { outcome: string; stop: string | null }): void {
      decisions.inc({ outcome, stop: stop ?? 'none' });
    },
    samples: (): Sample[] => [
      { metric: 'tidegate_build_info', labels: { version }, value: 1 },
      { metric: 'tidegate_check_ins_total', value: requests.count(CHECK_IN_ROUTE, '2xx') },
      ...[...requests.limited()].map(
        ([route, value]): Sample => ({
          metric: 'tidegate_http_rate_limited_total',
          labels: { route },
          value,
        }),
      ),
    ],
    text: async (): Promise<string> => `${await registry.metrics()}\n${requests.text()}`,
  };
}

export type Counts = ReturnType<typeof createCounts>;
