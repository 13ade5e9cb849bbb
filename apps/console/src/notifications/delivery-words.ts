import type { Delivery } from '@tidegate/protocol/notifications-api';

export const DELIVERIES = '/api/v1/notifications/deliveries';

export const STATE_WORDS: Readonly<Record<Delivery['state'], string>> = {
  waiting: 'waiting',
  delivered: 'delivered',
  dead: 'given up',
};

/** Whether it can be sent again: a test is made anew instead. */
export function isResendable({ state, kind }: Pick<Delivery, 'state' | 'kind'>): boolean {
  return state === 'dead' && kind !== 'test';
}

export const KIND_WORDS: Readonly<Record<Delivery['kind'], string>> = {
  events: 'events',
  digest: 'digest',
  escalation: 'escalation',
  test: 'test',
};
