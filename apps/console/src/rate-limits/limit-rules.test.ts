import type { RateLimits } from '@tidegate/protocol/rate-limits-api';
import { expect, test } from 'vitest';
import { changesOf, limitFaults, NO_DRAFT } from './limit-rules.ts';

const BUDGET = { requests: 60, window_seconds: 60, enabled: true };
const CLASSES: RateLimits['classes'] = {
  ...{ agent_registration: BUDGET, agent_renewal: BUDGET, agent_checkin: BUDGET, agent_reports: BUDGET },
  ...{ admin_operations: BUDGET, approvals: BUDGET, admin_reads: BUDGET, public_access: BUDGET },
  ...{ login: BUDGET, client_errors: BUDGET, fleet_lock: BUDGET },
};

test('only changed fields are sent: another operator may have changed the rest', () => {
  expect(changesOf(NO_DRAFT, CLASSES)).toBeNull();
  const draft = {
    texts: { 'login/requests': '5', 'login/window_seconds': '60', 'approvals/requests': '60' },
    switches: { login: true, client_errors: false },
  };
  expect(changesOf(draft, CLASSES)).toEqual({
    classes: { login: { requests: 5 }, client_errors: { enabled: false } },
  });
});

test('a refusal is shown beside its field or its class', () => {
  const faults = limitFaults([
    { path: '/classes/login/requests', message: 'must be at least 1' },
    { path: '/classes/admin_operations', message: 'must allow at least 10 requests a minute' },
  ]);
  expect(faults).toEqual({
    'login/requests': 'must be at least 1',
    admin_operations: 'must allow at least 10 requests a minute',
  });
});
