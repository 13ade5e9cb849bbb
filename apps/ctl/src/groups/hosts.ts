import { TAGS } from '@tidegate/terminal/lists';
import { atMinute, words } from '@tidegate/terminal/words';
import { change, file, list, show } from '../act.ts';
import type { Group } from '../group.ts';
import { progressWords } from '../progress-words.ts';
import type { Request } from '../read-request.ts';

const ASKED = ({ command_id: id }: { command_id: string }) =>
  `The host is asked with its next check-in: tidegatectl commands show ${id}`;
const HOST = ['host'];
const CYCLONEDX = 'application/vnd.cyclonedx+json';

export const HOSTS: Group = {
  name: 'hosts',
  summary: 'hosts: their state, their packages, and what they are asked to do',
  about: 'HOST is an id or a whole host name.',
  acts: [
    list('GET /api/v1/agents', {
      act: 'list',
      about: { search: 'part of the host name', status: 'only those with this status' },
      columns: {
        HOST: ({ hostname }) => hostname,
        STATUS: ({ status, online }) => (status === 'bound' ? (online ? 'online' : 'offline') : status),
        OS: ({ os }) => `${os.id} ${os.version_id}`,
        PENDING: ({ pending_updates: count }) => count,
        GROUP: ({ group }) => group,
        'LAST SEEN': ({ last_seen_at: at }) => at && atMinute(at),
        REBOOT: ({ restarts }) => words(restarts.reboot),
      },
    }),
    show('GET /api/v1/agents/{agent_id}', { act: 'show' }),
    list('GET /api/v1/agents/{agent_id}/inventory', {
      act: 'packages',
      about: { update: 'whether an update of it is known' },
      columns: {
        PACKAGE: ({ name }) => name,
        VERSION: ({ version }) => version,
        ARCH: ({ arch }) => arch,
        MANAGER: ({ ecosystem }) => ecosystem,
        UPDATE: ({ update }) => update && `${update.available_version} (${words(update.state)})`,
        'ON HOLD': ({ held }) => held,
      },
    }),
    list('GET /api/v1/agents/{agent_id}/inventory/changes', {
      act: 'changes',
      about: { cause: 'what a command brought (tidegate), or what did not' },
      columns: {
        REPORTED: ({ reported_at: at }) => atMinute(at),
        PACKAGE: ({ name }) => name,
        CHANGE: ({ kind }) => kind,
        FROM: ({ from_version: version }) => version,
        TO: ({ to_version: version }) => version,
        CAUSE: ({ cause }) => cause,
        'APPROVED BY': ({ command }) => command?.approved_by ?? null,
      },
    }),
    list('GET /api/v1/agents/{agent_id}/inventory/at', {
      act: 'packages-at',
      columns: {
        PACKAGE: ({ name }) => name,
        VERSION: ({ version }) => version,
        ARCH: ({ arch }) => arch,
        MANAGER: ({ ecosystem }) => ecosystem,
      },
    }),
    list('GET /api/v1/agents/{agent_id}/inventory/difference', {
      act: 'difference',
      columns: {
        PACKAGE: ({ name }) => name,
        CHANGE: ({ kind }) => kind,
        FROM: ({ from_version: version }) => version,
        TO: ({ to_version: version }) => version,
        MANAGER: ({ ecosystem }) => ecosystem,
      },
    }),
    file('GET /api/v1/agents/{agent_id}/sbom', { act: 'sbom', accept: CYCLONEDX }),
    file('GET /api/v1/agents/{agent_id}/vex', { act: 'vex', accept: vexType }),
    file('GET /api/v1/sbom', { act: 'group-sbom', accept: CYCLONEDX }),
    file('GET /api/v1/vex', { act: 'group-vex', accept: vexType }),
    show('GET /api/v1/agents/{agent_id}/faults', { act: 'faults' }),
    show('GET /api/v1/agents/{agent_id}/progress', { act: 'progress', first: progressWords }),
    show('GET /api/v1/agents/{agent_id}/withheld', { act: 'withheld' }),
    show('GET /api/v1/agents/{agent_id}/restarts', { act: 'restarts' }),
    show('GET /api/v1/agents/{agent_id}/probes', { act: 'probes' }),
    show('GET /api/v1/agents/{agent_id}/heartbeats', { act: 'heartbeats' }),
    change('POST /api/v1/agents/{agent_id}/scan', {
      act: 'scan',
      about: { ecosystem: 'the package manager (all of them)' },
      says: ASKED,
    }),
    change('POST /api/v1/agents/{agent_id}/probes/run', { act: 'run-probes', says: ASKED }),
    change('POST /api/v1/agents/{agent_id}/reboot', { act: 'reboot', says: ASKED }),
    change('POST /api/v1/agents/{agent_id}/restart-services', { act: 'restart-services', says: ASKED }),
    change('POST /api/v1/agents/{agent_id}/repair', { act: 'repair', says: ASKED }),
    change('POST /api/v1/agents/{agent_id}/polling', {
      act: 'polling',
      operands: ['host', 'interval-seconds'],
      called: { 'interval-seconds': 'SECONDS' },
      says: ASKED,
    }),
    list('GET /api/v1/groups', {
      act: 'groups',
      columns: {
        GROUP: ({ name }) => name,
        HOSTS: ({ hosts }) => hosts,
        'PENDING UPDATES': ({ updates_pending: count }) => count,
      },
    }),
    change('POST /api/v1/agents/group', {
      act: 'group',
      means: 'Put hosts into a group',
      operands: ['group', 'host'],
      says: ({ moved, not_found: missing }) =>
        `${counted(moved.length, 'host is', 'hosts are')} in the group.${missed(missing)}`,
    }),
    change('POST /api/v1/agents/group', {
      act: 'ungroup',
      means: 'Take hosts out of their group',
      operands: HOST,
      fixed: { group: null },
      says: ({ moved, not_found: missing }) =>
        `${counted(moved.length, 'host is', 'hosts are')} in no group.${missed(missing)}`,
    }),
    change('POST /api/v1/agents/{agent_id}/dismiss-clone', {
      act: 'dismiss-clone',
      says: 'The suspicion that the host is cloned is dismissed.',
    }),
    change('POST /api/admin/agents/{agent_id}/rebind-machine-id', {
      act: 'rebind',
      says: 'The host is bound to the machine that checks in next.',
    }),
    change('POST /api/v1/agents/{agent_id}/revoke', {
      act: 'revoke',
      says: 'The credentials of the host are revoked. It has to enrol again.',
    }),
    change('DELETE /api/v1/agents/{agent_id}', {
      act: 'delete',
      says: 'The host is deleted. Its machine may enrol again.',
    }),
  ],
};

export const TAGS_GROUP: Group = {
  name: 'tags',
  summary: 'tags of hosts: list, set, remove',
  acts: [
    list('GET /api/v1/tags', { act: 'list', columns: TAGS }),
    change('POST /api/v1/agents/tags', {
      act: 'set',
      means: 'Set tags of hosts',
      operands: ['set'],
      called: { set: 'TAG' },
      fixed: { remove: [] },
      says: ({ changed, not_found: missing }) =>
        `${counted(changed.length, 'host is', 'hosts are')} changed.${missed(missing)}`,
    }),
    change('POST /api/v1/agents/tags', {
      act: 'remove',
      means: 'Remove tags of hosts by their keys',
      operands: ['remove'],
      called: { remove: 'KEY' },
      fixed: { set: [] },
      says: ({ changed, not_found: missing }) =>
        `${counted(changed.length, 'host is', 'hosts are')} changed.${missed(missing)}`,
    }),
  ],
};

export const COMMANDS: Group = {
  name: 'commands',
  summary: 'what hosts were asked to do, and what became of it',
  acts: [
    list('GET /api/v1/commands', {
      act: 'list',
      about: {
        action: 'only those that ask for this',
        'bulk-id': 'only those of a bulk approval, by the id of its event',
      },
      columns: {
        ID: ({ id }) => id,
        HOST: ({ hostname }) => hostname,
        ACTION: ({ action }) => words(action),
        PACKAGES: ({ packages }) => packagesText(packages),
        STATUS: ({ status }) => status,
        CREATED: ({ created_at: at }) => atMinute(at),
      },
    }),
    show('GET /api/v1/commands/{id}', { act: 'show' }),
    show('GET /api/v1/commands/{id}/progress', { act: 'progress', first: progressWords }),
    change('POST /api/v1/commands/{id}/cancel', {
      act: 'cancel',
      says: ({ action, status }) =>
        status === 'cancelled'
          ? 'The command is cancelled.'
          : `The command (${words(action)}) is ${status}: the host decides.`,
    }),
    change('POST /api/v1/commands/{id}/retry', { act: 'retry', says: ASKED }),
  ],
};

function counted(count: number, one: string, many: string): string {
  return `${count} ${count === 1 ? one : many}`;
}

function missed(missing: readonly string[]): string {
  return missing.length === 0 ? '' : ` Not found: ${missing.join(', ')}.`;
}

function vexType({ query }: Request): string {
  return query.format === 'openvex' ? 'application/json' : CYCLONEDX;
}

/** `curl 8.1 to 8.2 and 3 more`. */
function packagesText({
  total,
  first: [one],
}: {
  total: number;
  first: readonly { name: string; from: string; to: string }[];
}): string {
  if (!one) return total === 0 ? '' : counted(total, 'update', 'updates');
  const more = total > 1 ? ` and ${total - 1} more` : '';
  return `${one.name} ${one.from} to ${one.to}${more}`;
}
