import { atMinute, words } from '@tidegate/terminal/words';
import { change, list, show, table } from '../act.ts';
import type { Group } from '../group.ts';

const CHANNEL_WORDS = {
  names: { is_enabled: 'on' },
  about: { name: 'of the channel', on: 'switched on', secret: 'what the receiver knows the server by' },
};
const RULE_WORDS = {
  names: { is_enabled: 'on' },
  about: { name: 'of the rule', on: 'switched on', 'channel-id': 'the channel to send to' },
};

export const CHANNELS_GROUP: Group = {
  name: 'channels',
  summary: 'where notifications are sent to: list, show, add, change, remove, test',
  about: 'A channel is added and changed from a file, as the API takes it.',
  acts: [
    table('GET /api/v1/notifications/channels', {
      act: 'list',
      items: ({ items }) => items,
      columns: {
        ID: ({ id }) => id,
        NAME: ({ name }) => name,
        KIND: ({ config }) => config.kind,
        STATE: ({ state }) => state,
        WAITING: ({ waiting }) => waiting,
        DEAD: ({ dead }) => dead,
        'LAST FAILURE': ({ last_attempt: last }) => last?.reason ?? null,
      },
    }),
    show('GET /api/v1/notifications/channels/{id}', { act: 'show' }),
    change('POST /api/v1/notifications/channels', {
      ...{ ...CHANNEL_WORDS, act: 'add' },
      says: ({ id, name, receiver_key: key }) =>
        `The channel ${JSON.stringify(name)} is added: ${id}${key === null ? '' : `\nIts receiver verifies with ${key}`}`,
    }),
    change('PUT /api/v1/notifications/channels/{id}', {
      ...{ ...CHANNEL_WORDS, act: 'change' },
      says: ({ name }) => `The channel ${JSON.stringify(name)} is changed.`,
    }),
    change('DELETE /api/v1/notifications/channels/{id}', {
      act: 'remove',
      says: 'The channel is removed, with what waited for it.',
    }),
    change('POST /api/v1/notifications/channels/{id}/test', {
      act: 'test',
      says: ({ explanation }) => explanation,
    }),
  ],
};

export const NOTIFICATIONS_GROUP: Group = {
  name: 'notifications',
  summary: 'rules of notifications, and what was sent: rules, add, deliveries, resend, notice',
  about: 'A rule is added, changed and previewed from a file, as the API takes it.',
  acts: [
    table('GET /api/v1/notifications/rules', {
      act: 'rules',
      items: ({ items }) => items,
      columns: {
        ID: ({ id }) => id,
        NAME: ({ name }) => name,
        ON: ({ is_enabled: on }) => on,
        SENDS: ({ mode }) => words(mode.kind),
        TO: ({ channel_name: name }) => name,
        FROM: ({ conditions }) => conditions.minimum_severity,
        TYPES: ({ conditions }) => conditions.event_types.join(' '),
      },
    }),
    show('GET /api/v1/notifications/rules/{id}', { act: 'rule' }),
    change('POST /api/v1/notifications/rules', {
      ...{ ...RULE_WORDS, act: 'add' },
      says: ({ id, name }) => `The rule ${JSON.stringify(name)} is added: ${id}`,
    }),
    change('PUT /api/v1/notifications/rules/{id}', {
      ...{ ...RULE_WORDS, act: 'change' },
      says: ({ name }) => `The rule ${JSON.stringify(name)} is changed.`,
    }),
    change('DELETE /api/v1/notifications/rules/{id}', { act: 'remove', says: 'The rule is removed.' }),
    change('POST /api/v1/notifications/rules/preview', {
      ...{ ...RULE_WORDS, act: 'preview' },
      says: ({ matches, messages, samples, is_complete: isWhole }) =>
        [
          `In the last 7 days: ${messages} messages about ${isWhole ? '' : 'at least '}${matches} events.`,
          ...samples.map(({ at, severity, text }) => `  ${atMinute(at)} ${severity} ${text}`),
        ].join('\n'),
    }),
    list('GET /api/v1/notifications/deliveries', {
      act: 'deliveries',
      about: {
        state: 'only those that wait, were delivered or were given up',
        kind: 'only those of this kind',
        'channel-id': 'only those to this channel',
        'rule-id': 'only those of this rule',
      },
      columns: {
        ID: ({ id }) => id,
        STATE: ({ state }) => state,
        AT: ({ created_at: at }) => atMinute(at),
        TO: ({ channel_name: name }) => name,
        SUBJECT: ({ subject }) => subject,
        TRIES: ({ attempts }) => attempts,
        'LAST FAILURE': ({ last_attempt: last }) => last?.reason ?? null,
      },
    }),
    show('GET /api/v1/notifications/deliveries/{id}', { act: 'delivery' }),
    change('POST /api/v1/notifications/deliveries/resend', {
      act: 'resend',
      operands: ['id'],
      says: ({ resent }) => `${resent} messages that were given up are sent again.`,
    }),
    show('GET /api/v1/notifications/notices/{id}', { act: 'notice' }),
  ],
};
