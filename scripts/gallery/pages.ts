import type { Call } from '../demo/people.ts';
import type { State } from './states.ts';

/** Whose eyes: those of an admin on the demo, of nobody, or of somebody whose session has ended. */
type Visit = 'nobody' | 'session-ended' | 'set-up';

interface Entry {
  readonly name: string;
  /** What is in `{}` is the id of the first item of the list. */
  readonly path: string;
  readonly list?: string;
  readonly visit?: Visit;
  /** Buttons that are pressed, one after the other, before the picture. */
  readonly press?: readonly string[];
  /** Its table has more columns than fit on a small screen, and all of them are needed. */
  readonly isWide?: boolean;
}

/** Every page of the console, by a name for its files. */
const PAGES: readonly Entry[] = [
  { name: 'login', path: '/login', visit: 'nobody' },
  { name: 'set-up', path: '', visit: 'set-up' },
  { name: 'session-ended', path: '/hosts', visit: 'session-ended' },
  { name: 'overview', path: '/' },
  { name: 'updates', path: '/updates' },
  { name: 'update', path: '/updates/{id}', list: '/updates?state=pending&limit=1' },
  { name: 'update-blocked', path: '/updates/{id}', list: '/updates?state=pending&limit=1&q=rsync' },
  { name: 'update-installed', path: '/updates/{id}', list: '/updates?state=installed&limit=1' },
  { name: 'update-failed', path: '/updates/{id}', list: '/updates?state=failed&limit=1' },
  { name: 'update-record', path: '/updates/{id}/record', list: '/updates?state=installed&limit=1' },
  { name: 'packages', path: '/packages' },
  { name: 'updates-by-host', path: '/updates/by-host' },
  { name: 'vulnerabilities', path: '/vulnerabilities' },
  { name: 'vulnerability', path: '/vulnerabilities/{id}', list: '/vulnerabilities?limit=1' },
  { name: 'no-fix', path: '/unfixed', isWide: true },
  { name: 'hosts', path: '/hosts' },
  { name: 'host', path: '/hosts/{id}', list: '/agents?limit=1&q=web-03' },
  { name: 'host-other-hardware', path: '/hosts/{id}', list: '/agents?limit=1&q=vpn-01' },
  { name: 'host-packages', path: '/hosts/{id}/inventory', list: '/agents?limit=1&q=web-03' },
  { name: 'host-history', path: '/hosts/{id}/history?days=30', list: '/agents?limit=1&q=web-03' },
  { name: 'commands', path: '/commands' },
  { name: 'command', path: '/commands/{id}', list: '/commands?limit=1&status=success' },
  { name: 'events', path: '/events' },
  { name: 'event', path: '/events/{id}', list: '/events?limit=1&type=update_approved' },
  { name: 'calendar', path: '/calendar' },
  { name: 'calendar-week', path: '/calendar?view=week' },
  { name: 'calendar-agenda', path: '/calendar?view=agenda' },
  { name: 'policies', path: '/policies' },
  { name: 'policy', path: '/policies/{id}', list: '/policies?limit=1' },
  { name: 'rollouts', path: '/rollouts' },
  { name: 'rollout', path: '/rollouts/{id}', list: '/rollouts?limit=1' },
  { name: 'reboots', path: '/reboots' },
  { name: 'blackouts', path: '/blackouts' },
  { name: 'holds', path: '/holds' },
  { name: 'age-exceptions', path: '/exceptions' },
  { name: 'statements', path: '/statements' },
  { name: 'origins', path: '/origins' },
  { name: 'divergences', path: '/divergences' },
  { name: 'add-hosts', path: '/enrolment' },
  { name: 'signing-keys', path: '/signing-keys' },
  { name: 'rate-limits', path: '/rate-limits' },
  { name: 'notifications', path: '/notifications' },
  { name: 'notification-rules', path: '/notifications/rules' },
  { name: 'notification-deliveries', path: '/notifications/deliveries' },
  { name: 'operators', path: '/operators' },
  { name: 'account', path: '/account' },
  { name: 'welcome', path: '/welcome' },
  { name: 'settings', path: '/settings' },
  { name: 'dialog-search', path: '/', press: ['Search or act Ctrl K'] },
  { name: 'dialog-channel', path: '/notifications', press: ['Add a channel'] },
  { name: 'dialog-operator', path: '/operators', press: ['Add an operator'] },
  { name: 'dialog-token', path: '/operators', press: ['Create a token'] },
  { name: 'dialog-provider', path: '/operators', press: ['Add identity provider'] },
  { name: 'dialog-key', path: '/signing-keys', press: ['Add a key'] },
  { name: 'dialog-blackout', path: '/blackouts', press: ['Plan a blackout'] },
  { name: 'dialog-hold', path: '/holds', press: ['Put packages on hold'] },
  { name: 'dialog-policy', path: '/policies', press: ['Publish a policy'] },
  { name: 'dialog-exception', path: '/exceptions', press: ['Add an exception'] },
  { name: 'dialog-statement', path: '/statements', press: ['Add a statement'] },
  { name: 'dialog-origin', path: '/origins', press: ['Register an origin'] },
  { name: 'dialog-evidence', path: '/events', press: ['Evidence for an auditor'] },
  {
    name: 'dialog-reject',
    path: '/updates/{id}',
    list: '/updates?state=pending&limit=1',
    press: ['Reject R'],
  },
];

export interface GalleryPage extends Pick<Entry, 'name' | 'path' | 'visit' | 'press' | 'isWide'> {
  /** The id of something in the fleet is in its path. */
  readonly isOfOne: boolean;
}

/** The pages whose name contains a text, with the ids of this fleet. */
export async function pagesOf(call: Call, only: string): Promise<GalleryPage[]> {
  const pages: GalleryPage[] = [];
  for (const { list, path, ...page } of PAGES.filter(({ name }) => name.includes(only))) {
    if (list === undefined) pages.push({ ...page, path, isOfOne: false });
    else {
      const { items } = await call('GET', list);
      const [first] = Array.isArray(items) ? items : [];
      if (first === undefined) throw new Error(`the fleet has nothing for the page ${page.name} (${list})`);
      pages.push({ ...page, path: path.replace('{id}', String(Object(first).id)), isOfOne: true });
    }
  }
  return pages;
}

/** States that a page is shown in: a dialog, and what nobody logged in sees, is asked for nothing. */
export function isShownIn({ visit, press }: GalleryPage, state: State): boolean {
  return state === 'full' || (visit === undefined && press === undefined);
}
