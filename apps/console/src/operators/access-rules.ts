import type { Role } from '@tidegate/protocol/states';

export const ROLES: Readonly<Record<Role, string>> = {
  viewer: 'viewer: reads',
  approver: 'approver: also approves, rejects, scans, cancels',
  admin: 'admin: everything',
};

/** Groups as they are typed, one on a line or with commas between them; null for none: the whole fleet. */
export function groupsOf(text: string): readonly string[] | null {
  const names = text
    .split(/[\n,]/)
    .map((name) => name.trim())
    .filter((name) => name !== '');
  return names.length === 0 ? null : [...new Set(names)];
}

export function reachOf(groups: readonly string[] | null): string {
  return groups === null ? 'the whole fleet' : groups.join(', ');
}

const DAY_MS = 86_400_000;

/** The end of a life of that many days from now, as the wire has it. */
export function endAfter(days: number, nowMs: number): string {
  return new Date(nowMs + days * DAY_MS).toISOString();
}
