import { counted } from '@tidegate/protocol/count-words';
import { SEVERITIES, type Severity } from '@tidegate/protocol/event-types';

/** How many events there are of each severity, the worst first: `25 warnings`, `25 events: 3 critical, 22 warnings`. */
export function countedEvents(severities: readonly Severity[]): string {
  const counts = SEVERITIES.toReversed()
    .map((severity) => ({ severity, count: severities.filter((one) => one === severity).length }))
    .filter(({ count }) => count > 0);
  const [first, ...others] = counts;
  if (!first) return counted(0, 'event');
  if (others.length === 0) return ALONE[first.severity](first.count);
  const each = counts.map(({ severity, count }) => AMONG_OTHERS[severity](count));
  return `${counted(severities.length, 'event')}: ${each.join(', ')}`;
}

const ALONE: Readonly<Record<Severity, (count: number) => string>> = {
  info: (count) => counted(count, 'event'),
  warning: (count) => counted(count, 'warning'),
  error: (count) => counted(count, 'error'),
  critical: (count) => counted(count, 'critical event'),
};

const AMONG_OTHERS: Readonly<Record<Severity, (count: number) => string>> = {
  ...ALONE,
  info: (count) => `${count.toLocaleString('en')} for information`,
  critical: (count) => `${count.toLocaleString('en')} critical`,
};
