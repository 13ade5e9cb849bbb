import type { Api } from '@tidegate/client/api';
import { counted } from '@tidegate/protocol/count-words';
import { atMinute, words } from '@tidegate/terminal/words';
import { change, list, show } from '../act.ts';
import type { Group } from '../group.ts';
import { progressWords } from '../progress-words.ts';

type Bulk = Api['POST /api/v1/updates/approve']['answer'];

/** Words for the filters that all lists of updates share. */
const FILTERS = {
  'host-name': 'whole host name; * stands for any characters',
  since: 'found not before this time',
  until: 'found before this time',
  open: 'whether it is neither installed nor closed',
};

export const UPDATES: Group = {
  name: 'updates',
  summary: 'updates: what the gate says of them, approve, reject, roll back',
  about: `approve takes one update and may override the gate; approve-many takes several and may not. approve-matching takes those that a
filter finds, and their number as "updates list" counts them, so that nothing is approved that nobody has seen.`,
  acts: [
    list('GET /api/v1/updates', {
      act: 'list',
      names: { host: 'host-name' },
      about: {
        ...FILTERS,
        severity: 'the worst vulnerability in it',
      },
      columns: {
        ID: ({ id }) => id,
        HOST: ({ hostname }) => hostname,
        PACKAGE: ({ name }) => name,
        TO: ({ available_version: to }) => to,
        STATE: ({ state }) => words(state),
        VERDICT: ({ verdict, severity }) => (severity ? `${verdict} (${severity})` : verdict),
      },
    }),
    list('GET /api/v1/updates/by-host', {
      act: 'hosts',
      names: { host: 'host-name' },
      about: FILTERS,
      columns: {
        HOST: ({ hostname }) => hostname,
        GROUP: ({ group }) => group,
        UPDATES: ({ updates }) => updates,
        EXPLOITED: ({ exploited_fixes: count }) => count,
        CRITICAL: ({ critical_fixes: count }) => count,
        HIGH: ({ high_fixes: count }) => count,
        REBOOT: ({ reboot }) => words(reboot),
      },
    }),
    show('GET /api/v1/updates/{id}', { act: 'show' }),
    show('GET /api/v1/updates/{id}/progress', { act: 'progress', first: progressWords }),
    show('POST /api/v1/updates/{id}/preview', { act: 'preview' }),
    change('POST /api/v1/updates/{id}/approve', {
      act: 'approve',
      about: { 'not-before': 'deliver it not before this time' },
      says: (answer) => {
        if (answer.state !== 'approved')
          return 'The host is asked for its plan; the update is approved when it comes and is clear.';
        const warnings = answer.warnings.map(({ detail }) => `Note: ${detail}`);
        return ['The update is approved. The host fetches it with its next check-in.', ...warnings].join(
          '\n',
        );
      },
    }),
    change('POST /api/v1/updates/approve', {
      act: 'approve-many',
      operands: ['update-id'],
      called: { 'update-id': 'ID' },
      without: ['progress_id'],
      says: approvedText,
    }),
    change('POST /api/v1/updates/approve', {
      act: 'approve-matching',
      inside: ['filter'],
      names: { host: 'host-name' },
      without: ['progress_id'],
      about: { 'host-name': 'whole host name; * stands for any characters' },
      says: approvedText,
    }),
    show('POST /api/v1/updates/preview', {
      act: 'preview-many',
      operands: ['update-id'],
      called: { 'update-id': 'ID' },
      without: ['progress_id'],
    }),
    change('POST /api/v1/updates/{id}/reject', { act: 'reject', says: 'The update is rejected.' }),
    change('POST /api/v1/updates/{id}/reopen', {
      act: 'reopen',
      says: 'The update is pending again; an approval that it had is withdrawn.',
    }),
    change('POST /api/v1/updates/{id}/countersign', { act: 'countersign', says: 'The signature is added.' }),
    list('GET /api/v1/updates/{id}/decisions', {
      act: 'decisions',
      columns: {
        ID: ({ id }) => id,
        DECIDED: ({ decided_at: at }) => atMinute(at),
        OUTCOME: ({ outcome }) => words(outcome),
        BY: ({ actor }) => actor,
        TIMES: ({ repeats }) => repeats,
      },
    }),
    show('GET /api/v1/updates/{id}/approval', { act: 'approval' }),
    change('POST /api/v1/updates/rollback', {
      act: 'rollback',
      operands: ['update-id'],
      called: { 'update-id': 'ID' },
      without: ['installed'],
      says: rolledBackText,
    }),
  ],
};

export const ROLLBACK: Group = {
  name: 'rollback',
  summary: 'undo the installation of a version on hosts',
  acts: [
    change('POST /api/v1/updates/rollback', {
      act: '',
      inside: ['installed'],
      operands: ['name', 'version'],
      without: ['update_ids'],
      says: rolledBackText,
    }),
  ],
};

export const PACKAGES: Group = {
  name: 'packages',
  summary: 'updates of all hosts, grouped by package',
  acts: [
    list('GET /api/v1/packages', {
      act: 'list',
      names: { host: 'host-name' },
      about: FILTERS,
      columns: {
        PACKAGE: ({ name }) => name,
        MANAGER: ({ ecosystem }) => ecosystem,
        HOSTS: ({ hosts }) => hosts,
        UPDATES: ({ updates }) => updates,
        FIXES: ({ fixes, fixes_severity: severity }) => (fixes === false ? 'nothing known' : severity),
        SECURITY: ({ security }) => security,
        SEVERITY: ({ severity }) => severity,
        EXPLOITED: ({ known_exploited: exploited }) => exploited,
        NEWEST: ({ newest_update_at: at }) => atMinute(at),
      },
    }),
  ],
};

export const DECISIONS: Group = {
  name: 'decisions',
  summary: 'decisions of the gate with their evidence',
  about: 'updates decisions lists them. "tidegate decisions" on the server replays and verifies them.',
  acts: [
    show('GET /api/v1/decisions/{id}', { act: 'show' }),
    change('GET /api/v1/decisions/{id}/statement', {
      act: 'statement',
      says: (answer) => JSON.stringify(answer, null, 2),
    }),
  ],
};

function approvedText({ approved, awaiting_plan: awaiting, blocked, skipped }: Bulk): string {
  const of = (count: number) => counted(count, 'update');
  return [
    `Approved: ${of(approved.length)}. Waiting for a plan: ${of(awaiting.length)}. Stopped by the gate: ${of(blocked.length)}. Left out: ${of(skipped.length)}.`,
    ...blocked.map(
      ({ update_id: id, package: one, reason }) => `  ${id}  ${one.name} ${one.version}: ${words(reason)}`,
    ),
    ...skipped.map(({ update_id: id, code }) => `  ${id}: ${words(code)}`),
  ].join('\n');
}

function rolledBackText({ requested, skipped }: Api['POST /api/v1/updates/rollback']['answer']): string {
  return [
    `Rollbacks: ${requested.length}. Left out: ${skipped.length}.`,
    ...requested.map(
      ({ agent_id: host, update_id: id, action_count: count }) =>
        `  host ${host}: ${count} packages${id ? `, update ${id}` : ''}`,
    ),
    ...skipped.map(({ update_id: id, agent_id: host, code }) => `  ${id ?? host ?? ''}: ${words(code)}`),
  ].join('\n');
}
