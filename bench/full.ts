import type { Cell } from './cells.ts';

const BOTH = ['sqlite', 'postgres'] as const;

/** What the tables of the documents are made of, the most valuable first, so that a run may be ended at any time. */
export const FULL: readonly Cell[] = [
  ...BOTH.map((engine): Cell => ({ scenario: 'check-in', engine, agents: 10_000 })),
  ...BOTH.map((engine): Cell => ({ scenario: 'check-in', engine, agents: 100_000 })),
  { scenario: 'herd-expired', engine: 'postgres', agents: 100_000 },
  ...BOTH.map((engine): Cell => ({ scenario: 'minute', engine, agents: 100_000 })),
  { scenario: 'check-in', engine: 'postgres', agents: 500_000 },
  ...BOTH.map((engine): Cell => ({ scenario: 'renewals', engine, agents: 10_000 })),
  ...BOTH.map((engine): Cell => ({ scenario: 'reports', engine, agents: 50 })),
  ...BOTH.map((engine): Cell => ({ scenario: 'lists', engine, agents: 100_000 })),
  { scenario: 'herd-expired', engine: 'sqlite', agents: 100_000 },
  ...BOTH.map((engine): Cell => ({ scenario: 'herd-valid', engine, agents: 100_000 })),
  { scenario: 'check-in', engine: 'sqlite', agents: 500_000 },
  ...BOTH.map((engine): Cell => ({ scenario: 'fan-out', engine, agents: 10_000 })),
  ...BOTH.map((engine): Cell => ({ scenario: 'enrolment', engine, agents: 10_000 })),
  ...BOTH.map((engine): Cell => ({ scenario: 'live-output', engine, agents: 1_000 })),
  ...BOTH.map((engine): Cell => ({ scenario: 'check-in', engine, agents: 1_000 })),
  ...BOTH.flatMap((engine) => [1_000, 10_000].map((agents): Cell => ({ scenario: 'lists', engine, agents }))),
  { scenario: 'connections', engine: 'sqlite', agents: 10_000 },
];
