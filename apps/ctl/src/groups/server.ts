import { EVIDENCE_MEDIA_TYPE } from '@tidegate/protocol/evidence-api';
import { atMinute, words } from '@tidegate/terminal/words';
import { change, file, list, show, table } from '../act.ts';
import type { Group } from '../group.ts';

export const OVERVIEW: Group = {
  name: 'overview',
  summary: 'what needs attention, what changed, and what may be stale: show, history',
  acts: [
    show('GET /api/v1/overview', { act: 'show' }),
    table('GET /api/v1/overview/history', {
      act: 'history',
      about: { days: 'how many days' },
      items: ({ items }) => items,
      columns: {
        DAY: ({ day }) => day,
        'HOSTS SEEN': ({ hosts_seen: hosts }) => hosts,
        EXPOSED: ({ exposed }) => exposed,
        'MEDIAN AGE': ({ median_age_hours: hours }) => hours && `${hours} h`,
        'P95 AGE': ({ p95_age_hours: hours }) => hours && `${hours} h`,
        COMPLETE: ({ complete }) => complete,
      },
    }),
  ],
};

export const EVENTS: Group = {
  name: 'events',
  summary: 'the log of events: list, show',
  about: '"tidegate events export" on the server writes the log so that others can verify it.',
  acts: [
    list('GET /api/v1/events', {
      act: 'list',
      about: {
        search: 'part of its content',
        host: 'only those about this host',
        kind: 'only security or system events',
        until: 'before this time',
        severity: 'only those of this severity',
      },
      columns: {
        AT: ({ created_at: at }) => atMinute(at),
        TYPE: ({ type }) => type,
        SEVERITY: ({ severity }) => severity,
        HOST: ({ hostname }) => hostname,
        BY: ({ actor }) => actor,
        ID: ({ id }) => id,
      },
    }),
    show('GET /api/v1/events/{id}', { act: 'show' }),
  ],
};

export const EVIDENCE: Group = {
  name: 'evidence',
  summary: 'a signed file for an auditor: who approved what and why, what was installed',
  about:
    'It goes to the standard output: > FILE. "tidegate verify-evidence FILE" verifies it without the server.',
  acts: [
    file('GET /api/v1/evidence', {
      act: '',
      accept: EVIDENCE_MEDIA_TYPE,
      about: {
        since: 'where the span begins, such as 2026-01-01 or 2026-01-01T12:00:00Z (90 days before its end)',
        until: 'where it ends, not included (now)',
        host: 'of one host',
        group: 'of the hosts of one group',
      },
    }),
  ],
};

export const SIGNING_KEYS: Group = {
  name: 'signing-keys',
  summary: 'keys that sign approvals and commands: list, public, add, use, revoke',
  about: 'The offline root is made with "tidegate keys root".',
  acts: [
    list('GET /api/v1/admin/signing-keys', {
      act: 'list',
      columns: {
        VERSION: ({ version }) => version,
        STATUS: ({ status }) => status,
        'IN USE': ({ in_use: isUsed }) => isUsed,
        'AWAITS ROOT': ({ awaits_root: awaits }) => awaits,
        'TRUSTED BY': ({ trusted_by: hosts }) => hosts,
        CREATED: ({ created_at: at }) => atMinute(at),
      },
    }),
    change('GET /api/v1/public-keys', {
      act: 'public',
      about: { since: 'version of the newest key set that is known' },
      says: (answer) => JSON.stringify(answer, null, 2),
    }),
    change('POST /api/v1/admin/signing-keys', {
      act: 'add',
      says: ({ version, awaits_root: awaits }) =>
        `Signing key ${version} is added.${awaits ? ' Hosts take it when the offline root has signed it.' : ''}`,
    }),
    change('POST /api/v1/admin/signing-keys/{version}/use', {
      act: 'use',
      says: ({ version }) => `The server signs with key ${version}.`,
    }),
    change('POST /api/v1/admin/signing-keys/{version}/revoke', {
      act: 'revoke',
      says: ({ version }) => `Signing key ${version} is revoked.`,
    }),
  ],
};

export const RATE_LIMITS: Group = {
  name: 'rate-limits',
  summary: 'how often hosts, operators and the public may ask: show, set, reset',
  about: 'FILE of set has the classes that change, such as {"classes": {"login": {"requests": 20}}}.',
  acts: [
    show('GET /api/v1/admin/rate-limits', { act: 'show' }),
    change('PUT /api/v1/admin/rate-limits', { act: 'set', says: 'The rate limits are set.' }),
    change('POST /api/v1/admin/rate-limits/reset', {
      act: 'reset',
      says: 'The rate limits are the defaults again.',
    }),
  ],
};

export const RESYNC: Group = {
  name: 'resync',
  summary: 'hosts after a restored backup: show, open, close',
  acts: [
    show('GET /api/v1/admin/resync', { act: 'show' }),
    change('POST /api/v1/admin/resync', {
      act: 'open',
      says: 'Each host with newer tokens may resync once.',
    }),
    change('DELETE /api/v1/admin/resync', { act: 'close', says: 'The resync is closed.' }),
  ],
};

export const HEALTH: Group = {
  name: 'health',
  summary: 'whether the server is well, and its version',
  acts: [show('GET /api/health', { act: '' })],
};

export const VIEWS: Group = {
  name: 'views',
  summary: 'saved views of the console: list, add, delete',
  acts: [
    list('GET /api/v1/views', {
      act: 'list',
      columns: {
        ID: ({ id }) => id,
        NAME: ({ name }) => name,
        PAGE: ({ page }) => words(page),
        SHARED: ({ shared }) => shared,
        BY: ({ created_by: by }) => by,
      },
    }),
    change('POST /api/v1/views', { act: 'add', says: ({ id }) => `The view is saved: ${id}` }),
    change('DELETE /api/v1/views/{id}', { act: 'delete', says: 'The view is deleted.' }),
  ],
};
