import { counted } from '@tidegate/protocol/count-words';
import { REBOOTS, SLOTS } from '@tidegate/terminal/lists';
import { words } from '@tidegate/terminal/words';
import { change, list, show, table } from '../act.ts';
import type { Group } from '../group.ts';

export const REBOOTS_GROUP: Group = {
  name: 'reboots',
  summary: 'reboots and restarts of services: list, show, ask, cancel, slots, limit, release',
  about: 'Without --group, --tag and --host, ask is for all hosts.',
  acts: [
    list('GET /api/v1/reboots', {
      act: 'list',
      about: { kind: 'only those of this kind' },
      columns: REBOOTS,
    }),
    show('GET /api/v1/reboots/{id}', { act: 'show' }),
    change('POST /api/v1/reboots', {
      act: 'ask',
      about: { until: 'what has not begun then is given up', kind: 'what is asked of them' },
      says: ({ dry_run: isDry, queued, hosts, left_out: leftOut }) =>
        [
          `${isDry ? 'Would be queued' : 'Queued'}: ${counted(queued, 'host')}.`,
          ...hosts.map(({ hostname, agent_id: id }) => `  ${hostname} (${id})`),
          ...leftOut.map(({ why, hosts: count }) => `Left out: ${count} (${words(why)})`),
        ].join('\n'),
    }),
    change('DELETE /api/v1/reboots/{id}', {
      act: 'cancel',
      says: ({ state, hostname }) =>
        state === 'cancelled'
          ? `${hostname} is taken out of the queue.`
          : `${hostname} is asked to call it off; its answer decides.`,
    }),
    table('GET /api/v1/reboot-slots', { act: 'slots', items: ({ items }) => items, columns: SLOTS }),
    change('PUT /api/v1/reboot-slots', {
      act: 'limit',
      names: { max_at_once: 'at-once', min_healthy: 'healthy' },
      about: {
        group: 'the group; without it the hosts that are in none',
        'at-once': 'hosts that may be down at once',
        healthy: 'others that must be up and well',
      },
      says: 'The limit is set.',
    }),
    change('POST /api/v1/reboot-slots/{id}/release', {
      act: 'release',
      called: { id: 'SLOT' },
      says: 'The slot is free. The next host of the group may go down.',
    }),
  ],
};
