import type { Call } from '../demo/people.ts';

/** Every page of the console, by a name for its files; what is in `{}` is the id of the first item of a list. */
const PAGES: readonly (readonly [name: string, path: string, list?: string])[] = [
  ['overview', '/'],
  ['updates', '/updates'],
  ['update', '/updates/{id}', '/updates?state=pending&limit=1'],
  ['update-record', '/updates/{id}/record', '/updates?state=installed&limit=1'],
  ['packages', '/packages'],
  ['no-fix', '/unfixed'],
  ['hosts', '/hosts'],
  ['host', '/hosts/{id}', '/agents?limit=1&q=web-03'],
  ['host-other-hardware', '/hosts/{id}', '/agents?limit=1&q=vpn-01'],
  ['host-packages', '/hosts/{id}/inventory', '/agents?limit=1&q=web-03'],
  ['host-history', '/hosts/{id}/history?days=30', '/agents?limit=1&q=web-03'],
  ['commands', '/commands'],
  ['command', '/commands/{id}', '/commands?limit=1&status=success'],
  ['events', '/events'],
  ['event', '/events/{id}', '/events?limit=1&type=update_approved'],
  ['calendar', '/calendar'],
  ['calendar-month', '/calendar?view=month'],
  ['policies', '/policies'],
  ['policy', '/policies/{id}', '/policies?limit=1'],
  ['rollouts', '/rollouts'],
  ['rollout', '/rollouts/{id}', '/rollouts?limit=1'],
  ['reboots', '/reboots'],
  ['blackouts', '/blackouts'],
  ['holds', '/holds'],
  ['age-exceptions', '/exceptions'],
  ['statements', '/statements'],
  ['origins', '/origins'],
  ['divergences', '/divergences'],
  ['add-hosts', '/enrolment'],
  ['signing-keys', '/signing-keys'],
  ['rate-limits', '/rate-limits'],
  ['notifications', '/notifications'],
  ['notification-rules', '/notifications/rules'],
  ['notification-deliveries', '/notifications/deliveries'],
  ['operators', '/operators'],
  ['account', '/account'],
  ['welcome', '/welcome'],
  ['settings', '/settings'],
];

export interface GalleryPage {
  readonly name: string;
  readonly path: string;
}

/** The pages with the ids of this fleet. */
export async function pagesOf(call: Call): Promise<GalleryPage[]> {
  const pages: GalleryPage[] = [];
  for (const [name, path, list] of PAGES) {
    if (list === undefined) pages.push({ name, path });
    else {
      const { items } = await call('GET', list);
      const [first] = Array.isArray(items) ? items : [];
      if (first === undefined) throw new Error(`the fleet has nothing for the page ${name} (${list})`);
      pages.push({ name, path: path.replace('{id}', String(Object(first).id)) });
    }
  }
  return pages;
}
