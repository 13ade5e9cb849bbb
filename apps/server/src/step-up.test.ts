import { describe, expect, test } from 'vitest';
import type { Request } from './testing/app-clients.ts';
import { ENGINES } from './testing/engines.ts';
import { openIncidentScene } from './testing/incident-scene.ts';
import { CHANNEL } from './testing/standing.ts';
import { TEST_ADMIN } from './testing/test-app.ts';

const NOBODY = '01900000-0000-7000-8000-00000000beef';
const ADMIN = '/api/v1/admin';
const ASKED = '403 step_up_required';
const OVERRIDE = { override_supply_chain: true, override_reason: 'read by hand' };

const TERMS = { scope: { kind: 'all' }, ends_at: '2026-12-01T00:00:00Z' };
const STATEMENT = {
  ...{ vulnerability: 'CVE-2024-1', ecosystem: 'npm', package: 'left-pad', distribution: null, ...TERMS },
  ...{ versions: ['1.0.0'], status: 'accepted', justification: null, text: 'test' },
};
const IMPORT = { format: 'openvex', document: {}, ...TERMS };

/** Routes that require a fresh second factor once one is enrolled, and their answer with one. */
const ASKING: [string, Request['method'], string, object | null, string][] = [
  ['an override', 'POST', '/api/v1/updates/{update}/approve', OVERRIDE, '200'],
  ['a rebind (E2)', 'POST', '/api/admin/agents/{agent}/rebind-machine-id', { reason: 'new board' }, '200'],
  ['a repair', 'POST', '/api/v1/agents/{agent}/repair', { repair_sha256: 'a'.repeat(64) }, '409 conflict'],
  ['a new signing key', 'POST', `${ADMIN}/signing-keys`, {}, '201'],
  ['another key in use', 'POST', `${ADMIN}/signing-keys/999/use`, null, '404 not_found'],
  ['a revoked key', 'POST', `${ADMIN}/signing-keys/999/revoke`, null, '404 not_found'],
  ['a new operator', 'POST', `${ADMIN}/operators`, operatorNamed('newcomer'), '201'],
  ['a changed operator', 'PATCH', `${ADMIN}/operators/${NOBODY}`, { disabled: true }, '404 not_found'],
  ['a deleted operator', 'DELETE', `${ADMIN}/operators/${NOBODY}`, null, '404 not_found'],
  ['factors taken away', 'DELETE', `${ADMIN}/operators/${NOBODY}/factors`, null, '404 not_found'],
  ['a withdrawn API token', 'DELETE', `${ADMIN}/api-tokens/${NOBODY}`, null, '404 not_found'],
  ['a statement about a vulnerability', 'POST', `${ADMIN}/vex-statements`, STATEMENT, '201'],
  ['a revoked statement', 'DELETE', `${ADMIN}/vex-statements/${NOBODY}`, null, '404 not_found'],
  ['an imported document', 'POST', `${ADMIN}/vex-document`, IMPORT, '400 invalid_request'],
  ['rate limits (E5)', 'PUT', `${ADMIN}/rate-limits`, { classes: { login: { requests: 77 } } }, '200'],
  ['the vulnerability policy', 'PUT', `${ADMIN}/vulnerability-policy`, { policy: 'any' }, '200'],
  ['a channel of notifications', 'POST', '/api/v1/notifications/channels', CHANNEL, '201'],
  ['a rule of notifications', 'DELETE', `/api/v1/notifications/rules/${NOBODY}`, null, '404 not_found'],
  ['the default rate limits', 'POST', `${ADMIN}/rate-limits/reset`, null, '200'],
];

/** The same paths with less critical requests. */
const NOT_ASKING: [string, Request['method'], string, object | null, string][] = [
  ['an approval without an override', 'POST', '/api/v1/updates/{update}/approve', {}, '409 approval_blocked'],
  ['several approvals', 'POST', '/api/v1/updates/approve', { update_ids: [NOBODY] }, '200'],
  ['a preview', 'POST', '/api/v1/updates/{update}/preview', null, '200'],
  ['a list of keys', 'GET', `${ADMIN}/signing-keys`, null, '200'],
  ['a list of operators', 'GET', `${ADMIN}/operators`, null, '200'],
  ['the rate limits', 'GET', `${ADMIN}/rate-limits`, null, '200'],
];

function operatorNamed(username: string) {
  return { username, password: 'a long enough password', role: 'viewer' };
}

describe.each(ENGINES)('a fresh second factor, on $name', (engine) => {
  test('is required by irreversible acts, before any other check, and by nothing else', async () => {
    const scene = await openIncidentScene(engine);
    const { admin, agent, send, app } = scene;
    const update = await scene.planned('apt');
    const outcomeOf = async ([, method, path, body]: (typeof ASKING)[number]) => {
      const url = path.replace('{update}', update).replace('{agent}', agent.agentId);
      const { status, code } = await send({ method, url, token: admin, ...(body === null ? {} : { body }) });
      return [status, code].filter(Boolean).join(' ');
    };
    const outcomes = async (rows: typeof ASKING) => {
      const found: string[] = [];
      for (const row of rows) found.push(`${row[0]}: ${await outcomeOf(row)}`);
      return found;
    };
    const expected = (rows: typeof ASKING) => rows.map(([what, , , , outcome]) => `${what}: ${outcome}`);

    const { code } = await scene.enrolTotp(admin);
    app.platform.clock.advance(600_000);
    expect(await outcomes(NOT_ASKING)).toEqual(expected(NOT_ASKING));
    expect(await outcomes(ASKING)).toEqual(ASKING.map(([what]) => `${what}: ${ASKED}`));
    for (const proof of [{ totp: code() }, { password: TEST_ADMIN.password }]) {
      await scene.must(scene.asAdmin('/api/v1/auth/step-up', proof));
    }
    expect(await outcomes(ASKING)).toEqual(expected(ASKING));
  });
});
