const DAY_MS = 24 * 3_600_000;

/** The UTC day that many days from now, as the value of a date field. */
export function dayFrom(nowMs: number, days: number): string {
  return new Date(nowMs + days * DAY_MS).toISOString().slice(0, 10);
}

/** The date that many days after a date. */
export function plusDays(date: string, days: number): string {
  return dayFrom(Date.parse(`${date}T00:00:00Z`), days);
}

/** The end of a day in UTC. */
export const endOfDay = (day: string): string => `${day}T23:59:59Z`;
