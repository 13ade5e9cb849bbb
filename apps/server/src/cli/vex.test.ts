import { describe, expect, test } from 'vitest';
import { createServedPlace } from '../testing/cli-place.ts';
import { SAMPLED_ENGINES } from '../testing/engines.ts';

const PASSWORD = 'correct horse battery';
const STATEMENT = {
  ...{ vulnerability: 'CVE-2024-1', ecosystem: 'npm', package: 'left', distribution: null },
  ...{ versions: ['1.0.0'], scope: { kind: 'all' }, status: 'not_affected' },
  ...{ justification: 'component_not_present', text: 'Not built.', ends_at: '2026-12-01T00:00:00.000Z' },
};

describe.each(SAMPLED_ENGINES)('tidegate vex on $name', (engine) => {
  test('a fleet without statements has an empty list, and no document: that would be none of either format', async () => {
    const it = await createServedPlace(engine);
    const listed = await it.run(['vex', 'list', '--json']);
    expect({ code: listed.code, ...JSON.parse(listed.out) }).toEqual({ code: 0, items: [] });
    for (const format of ['openvex', 'cyclonedx']) {
      const exported = await it.run(['vex', 'export', '--format', format]);
      expect(exported.code).not.toBe(0);
      expect(exported.out).toBe('');
      expect(exported.err).toContain('No statement is in force');
    }
  });

  test('lists and exports a statement that an admin wrote through the API; a revoked one is gone', async () => {
    const it = await createServedPlace(engine);
    await it.run(['operators', 'add', 'olga', '--role', 'admin'], { stdin: `${PASSWORD}\n` });
    const { url } = await it.start();
    const call = async (method: string, path: string, body?: object, token = '') => {
      const answer = await fetch(`${url}/api/v1${path}`, {
        method,
        headers: {
          ...(body && { 'content-type': 'application/json' }),
          ...(token && { authorization: `Bearer ${token}` }),
        },
        ...(body && { body: JSON.stringify(body) }),
      });
      return { status: answer.status, text: await answer.text() };
    };
    const { token } = JSON.parse(
      (await call('POST', '/auth/login', { username: 'olga', password: PASSWORD })).text,
    );
    const written = await call('POST', '/admin/vex-statements', STATEMENT, token);
    expect(written.status, written.text).toBe(201);
    const { id } = JSON.parse(written.text);
    const { items: statements } = JSON.parse((await it.run(['vex', 'list', '--json'])).out);
    expect(statements).toMatchObject([{ id, ...STATEMENT, created_by: 'olga', state: 'in_force' }]);
    expect((await it.run(['vex', 'list'])).out).toContain(`${id}  CVE-2024-1     npm:left`);
    const exported = JSON.parse((await it.run(['vex', 'export', '--format', 'openvex'])).out);
    const answered = JSON.parse(
      (await call('GET', '/admin/vex-document?format=openvex', undefined, token)).text,
    );
    expect(exported.statements).toEqual(answered.statements);
    expect(exported.statements).toHaveLength(1);
    expect((await call('DELETE', `/admin/vex-statements/${id}`, undefined, token)).status).toBe(204);
    expect(JSON.parse((await it.run(['vex', 'list', '--json'])).out)).toEqual({ items: [] });
  });

  test.each<[string, string]>([
    ['', 'needs one of: list, export'],
    ['import', 'needs one of: list, export'],
    ['export', 'needs --format openvex or --format cyclonedx'],
    ['export --format csaf', 'needs --format openvex or --format cyclonedx'],
    ['export --format openvex --json', 'leave out --json'],
    ['list --format openvex', '--format works only with export'],
    ['list all', 'unknown words: all'],
  ])('%s says what is allowed', async (words, message) => {
    const it = await createServedPlace(engine);
    const ran = await it.run(['vex', ...words.split(' ').filter(Boolean)]);
    expect(ran).toMatchObject({ code: 2, out: '', err: expect.stringContaining(message) });
  });
});
