import type { Role } from '@tidegate/protocol/states';

export const ROLES: Readonly<Record<Role, string>> = {
  viewer: 'viewer: can only read',
  approver: 'approver: can also approve, reject, scan, cancel',
  admin: 'admin: can do everything',
};

/** Reads group names separated by commas or line breaks; null for none, which means the whole fleet. */
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

/** The time that many days from now, in ISO 8601. */
export function endAfter(days: number, nowMs: number): string {
  return new Date(nowMs + days * DAY_MS).toISOString();
}
