import {
  NOTIFIABLE_EVENT_TYPES,
  type NotificationRule,
  RuleRequest,
} from '@tidegate/protocol/notifications-api';
import { Value } from 'typebox/value';
import { expect, test } from 'vitest';
import {
  conditionsText,
  draftOf,
  MODE_KEYS,
  modeText,
  NOTIFIABLE,
  requestOf,
  SEVERITY_KEYS,
  switchedRule,
} from './rule-draft.ts';

const ID = '01920000-0000-7000-8000-000000000001';
const NEW = draftOf(null, { channelId: ID, zone: 'Europe/Berlin' });
const STORED: NotificationRule = {
  ...{ id: ID, name: 'Night', is_enabled: true, channel_id: ID, channel_name: 'Ops' },
  conditions: {
    ...{ event_types: ['update_failed'], minimum_severity: 'warning', groups: ['web'] },
    ...{ ecosystems: ['apt'], exploited_only: true },
  },
  quiet_hours: { from: '20:00', until: '07:00', zone: 'UTC', weekdays: [1, 2] },
  mode: { kind: 'digest', at: '08:00', zone: 'UTC', weekdays: [1, 2, 3, 4, 5] },
  ...{ next_digest_at: null, quiet_until: null, created_by: 'ada' },
  ...{ created_at: '2026-11-28T09:00:00Z', updated_at: '2026-11-28T09:00:00Z' },
};

test.each(MODE_KEYS)('a new rule that tells %s is one that the protocol takes', (mode) => {
  const request = requestOf({ ...NEW, name: 'x', mode, isQuiet: true }, true);
  expect(Value.Errors(RuleRequest, request)).toEqual([]);
  expect(request.mode.kind).toBe(mode);
});

test('a stored rule that is opened and saved stays as it is', () => {
  const { name, channel_id, is_enabled, conditions, quiet_hours, mode } = STORED;
  const saved = requestOf(draftOf(STORED, { channelId: '', zone: 'Asia/Tokyo' }), true);
  expect(saved).toEqual({ name, channel_id, is_enabled, conditions, quiet_hours, mode });
  expect(switchedRule(STORED)).toEqual({ ...saved, is_enabled: false });
});

test('an escalation names no event types, whatever was chosen before', () => {
  const request = requestOf({ ...NEW, mode: 'escalation', types: ['update_failed'] }, true);
  expect(request.conditions.event_types).toEqual([]);
});

test('the types on offer are those that the protocol takes', () => {
  expect(new Set(NOTIFIABLE)).toEqual(new Set(NOTIFIABLE_EVENT_TYPES));
  expect(SEVERITY_KEYS).toHaveLength(4);
});

test('a rule reads as a sentence', () => {
  expect(modeText(STORED.mode)).toBe('digest on working days at 08:00 (UTC)');
  expect(conditionsText(STORED)).toBe('an update failed, warning or worse, exploited, of web, apt');
  expect(modeText({ kind: 'at_once', batch_seconds: 60 })).toBe('at once, one message for all within 1 min');
  expect(modeText({ kind: 'escalation', after_hours: 4, repeat_hours: 24, repeats_max: 3 })).toBe(
    'when an exploited fix waits for 4 h, again each 24 h, 3 times',
  );
  expect(modeText({ kind: 'escalation', after_hours: 4, repeat_hours: 24, repeats_max: 0 })).toBe(
    'when an exploited fix waits for 4 h',
  );
});
