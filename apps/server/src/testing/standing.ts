import type { BlackoutRequest } from '@tidegate/protocol/blackouts-api';
import type { HoldRequest } from '@tidegate/protocol/holds-api';
import type { ChannelRequest, RuleRequest } from '@tidegate/protocol/notifications-api';
import type { PolicyRequest, PolicyTerms } from '@tidegate/protocol/policies-api';
import type { RebootAsk, SlotLimits } from '@tidegate/protocol/reboots-api';

/** Terms under which everything that is clear is approved. */
export const STANDING_TERMS: PolicyTerms = {
  ecosystems: ['apt'],
  packages: ['*'],
  except_packages: [],
  origins: [],
  security_only: false,
  minimum_severity: null,
  max_change: 'any',
  min_age_hours: null,
  remaining_vulnerabilities: 'ask',
};

/** A policy for the whole fleet, until shortly after the clock of test servers. */
export const STANDING: PolicyRequest = {
  name: 'Nightly',
  text: 'Everything clear, by itself.',
  scope: { kind: 'all' },
  terms: STANDING_TERMS,
  windows: [],
  ends_at: '2026-12-01T00:00:00Z',
};

/** A blackout of the whole fleet, after the clock of test servers. */
export const BLACKOUT: BlackoutRequest = {
  name: 'Year end',
  reason: 'The shop earns its year.',
  scope: { kind: 'all' },
  times: { kind: 'once', starts_at: '2026-11-21T12:00:00Z', ends_at: '2026-11-22T12:00:00Z' },
};

/** A hold of openssl on the whole fleet, until after the clock of test servers. */
export const HOLD: HoldRequest = {
  ecosystems: ['apt'],
  packages: ['openssl'],
  scope: { kind: 'all' },
  reason: 'The appliance needs this one.',
  ends_at: '2026-12-01T00:00:00Z',
};

/** A request for reboots of the whole fleet. */
export const REBOOT_ASK: RebootAsk = {
  ...{ kind: 'reboot', scope: { kind: 'all' }, reason: 'the new kernel', deadline: '2026-11-22T09:00:00Z' },
};

export const SLOT_LIMITS: SlotLimits = { group: 'web', max_at_once: 1, min_healthy: 0, halt_after: 2 };

/** A channel that is never called. */
export const CHANNEL: ChannelRequest = {
  ...{ name: 'Pager', is_enabled: false },
  config: { kind: 'webhook', url: 'https://receiver.example/hook', allow_http: false },
};

/** A rule for everything, to this channel. */
export function notificationRule(channelId: string): RuleRequest {
  return {
    ...{ name: 'Everything', is_enabled: true, channel_id: channelId, quiet_hours: null },
    conditions: {
      event_types: [],
      minimum_severity: 'info',
      groups: [],
      ecosystems: [],
      exploited_only: false,
    },
    mode: { kind: 'at_once', batch_seconds: 10 },
  };
}
