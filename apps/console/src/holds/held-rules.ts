import type { HeldBack } from '@tidegate/protocol/holds-api';

/** `97 %`, rounded down: 100 only if all are done, and `0 of 0` where there is nothing. */
export function shareText(done: number, total: number): string {
  if (total <= 0) return '0 of 0';
  return `${Math.floor((100 * Math.min(done, total)) / total)} %`;
}

/** `3 held until 1 March 2027`; empty if nothing is. */
export function heldText({
  updates,
  first_end: first,
  last_end: last,
}: Omit<HeldBack, 'security_updates'>): string {
  if (updates === 0 || first === null || last === null) return '';
  const count = `${updates.toLocaleString('en')} ${updates === 1 ? 'update' : 'updates'} held`;
  const [from, to] = [dayText(first), dayText(last)];
  return from === to ? `${count} until ${to}` : `${count}, the first until ${from}, the last until ${to}`;
}

/** The same for a cell of a list: `3 until 1 Mar 2027`, or `3 until 1 Dec 2026 to 1 Mar 2027`. */
export function heldCellText({ updates, first_end: first, last_end: last }: HeldBack): string {
  if (updates === 0 || first === null || last === null) return 'none';
  const [from, to] = [dayText(first, 'short'), dayText(last, 'short')];
  return `${updates.toLocaleString('en')} until ${from === to ? to : `${from} to ${to}`}`;
}

/** What of it fixes vulnerabilities, as a sentence; empty if nothing does. */
export function securityHeldText({ security_updates: count }: Pick<HeldBack, 'security_updates'>): string {
  if (count === 0) return '';
  return count === 1
    ? '1 of them is a security update.'
    : `${count.toLocaleString('en')} of them are security updates.`;
}

/** `1 March 2027`, in UTC as the days of holds are. */
export function dayText(at: string, month: 'long' | 'short' = 'long'): string {
  return new Date(at).toLocaleDateString('en-GB', {
    ...{ day: 'numeric', month, year: 'numeric' },
    timeZone: 'UTC',
  });
}
