/** Something that the palette opened or ran. */
export interface Recent {
  readonly id: string;
  readonly group: string;
  readonly label: string;
  /** Where it is; absent for an action, which is found by its id while it is offered. */
  readonly href?: string;
}

const KEPT = 6;
const PREFIX = 'tidegate:recents:';

/** What this operator used last in this browser, the newest first. */
export function recents(username: string): readonly Recent[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(PREFIX + username) ?? '[]');
    return Array.isArray(kept) ? kept.filter(isRecent).slice(0, KEPT) : [];
  } catch {
    return [];
  }
}

export function remember(username: string, recent: Recent): void {
  const others = recents(username).filter(({ id }) => id !== recent.id);
  localStorage.setItem(PREFIX + username, JSON.stringify([recent, ...others].slice(0, KEPT)));
}

/** At the logout: names of hosts are not for the next person at this computer. */
export function forgetRecents(): void {
  for (const key of Object.keys(localStorage)) if (key.startsWith(PREFIX)) localStorage.removeItem(key);
}

function isRecent(value: unknown): value is Recent {
  if (typeof value !== 'object' || value === null) return false;
  const { id, group, label, href }: { id?: unknown; group?: unknown; label?: unknown; href?: unknown } =
    value;
  if (typeof id !== 'string' || typeof group !== 'string' || typeof label !== 'string') return false;
  // A path of this console only.
  return href === undefined || (typeof href === 'string' && /^\/(?!\/)/.test(href));
}
