import type { AgeExceptionRequest } from '@tidegate/protocol/approvals-api';

export const EXCEPTIONS = '/api/v1/admin/age-exceptions';

type Aged = AgeExceptionRequest['ecosystem'];

/** The ecosystems that have release times. */
export const AGED: Readonly<Record<Aged, string>> = { npm: 'npm', pypi: 'PyPI' };

export type Prefill = Pick<AgeExceptionRequest, 'ecosystem' | 'name' | 'version'>;

/** The package and version that a link proposes for an exception; null unless it names both. */
export function prefillOf(search: Readonly<Record<string, unknown>>): Prefill | null {
  const { ecosystem, name, version } = search;
  if (typeof name !== 'string' || typeof version !== 'string' || name === '' || version === '') return null;
  return { ecosystem: ecosystem === 'pypi' ? 'pypi' : 'npm', name, version };
}

const DAY_MS = 24 * 3_600_000;

/** The UTC day that many days from now, as the value of a date field. */
export function dayFrom(nowMs: number, days: number): string {
  return new Date(nowMs + days * DAY_MS).toISOString().slice(0, 10);
}

/** The end of a day in UTC. */
export const endOfDay = (day: string): string => `${day}T23:59:59Z`;
