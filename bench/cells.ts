import { measureCheckIns } from './check-in-curve.ts';
import { measureConnections } from './connections.ts';
import { measureEnrolment } from './enrolment.ts';
import { measureFanOut } from './fan-out.ts';
import { measureExpiredHerd, measureValidHerd } from './herd.ts';
import { measureReports } from './inventory-curve.ts';
import { measureLists } from './list-curve.ts';
import { measureLiveOutput } from './live-output.ts';
import { measureMinute } from './minute.ts';
import { measureRenewals } from './renewals-curve.ts';
import { measurePacedRenewals } from './renewals-paced.ts';
import type { FleetOf, Scenario } from './scenario.ts';

export const SCENARIOS = {
  'check-in': measureCheckIns,
  minute: measureMinute,
  connections: measureConnections,
  renewals: measureRenewals,
  'renewals-paced': measurePacedRenewals,
  reports: measureReports,
  lists: measureLists,
  'herd-valid': measureValidHerd,
  'herd-expired': measureExpiredHerd,
  enrolment: measureEnrolment,
  'fan-out': measureFanOut,
  'live-output': measureLiveOutput,
} as const satisfies Record<string, Scenario>;
export type ScenarioName = keyof typeof SCENARIOS;

/** One size of a scenario on one engine. */
export interface Cell extends FleetOf {
  scenario: ScenarioName;
}

/** How long a cell takes on two cores at rest, to plan by; `roundSeconds` is the length of all rounds. */
export function minutesOf({ scenario, engine, agents }: Cell, roundSeconds: number): number {
  const thousands = agents / 1_000;
  const fillSeconds = 5 + thousands * (engine === 'sqlite' ? 0.15 : 0.3);
  const seconds: Record<ScenarioName, number> = {
    'check-in': fillSeconds + thousands * 0.2 + 5 + 2 * roundSeconds,
    minute: fillSeconds + 3 * 60 + 25,
    connections: 2 * fillSeconds + thousands * 8 + 10 * roundSeconds + 20,
    renewals: fillSeconds + 5 + 2 * roundSeconds,
    'renewals-paced': fillSeconds + 5 + 2 * roundSeconds,
    reports: 10 + 5 * roundSeconds,
    lists: 10 + thousands * (engine === 'sqlite' ? 2.5 : 4) + 60,
    'herd-valid': fillSeconds + 150,
    'herd-expired': fillSeconds + (thousands < 20 ? 180 : 300),
    enrolment: 10 + Math.min(thousands, 10) * (engine === 'sqlite' ? 3 : 8),
    // Hosts that ask before the approval is done have their command a turn later.
    'fan-out': fillSeconds + 40 + 1.6 * Math.min(60, agents / 50),
    'live-output': fillSeconds + 15 + roundSeconds,
  };
  return seconds[scenario] / 60;
}

export function isScenario(name: string): name is ScenarioName {
  return Object.hasOwn(SCENARIOS, name);
}
