import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createOperatorApp } from '../testing/operator-app.ts';

const [engine] = ENGINES.slice(0, 1);
if (!engine) throw new Error('SQLite is always there');

/** Where the requests of these tests come from. */
const BEHIND_PROXY = { trustedProxies: ['127.0.0.1'] };
const askedOf = (host: string, scheme: string) => ({ headers: { host, 'x-forwarded-proto': scheme } });

describe('the document', () => {
  test('is OpenAPI 3.1 with the validating schemas, access rules, and problems', async () => {
    const { send } = await createOperatorApp(engine);
    const answer = await send('GET', '/api/openapi.json');
    expect(answer.headers['content-type']).toBe('application/json; charset=utf-8');
    const document = answer.json();
    expect(document.openapi).toBe('3.1.0');
    expect(document.info.version).toBe('1.2.3');
    const put = document.paths['/api/v1/admin/rate-limits'].put;
    expect(document.paths['/api/v1/auth/logout'].post).not.toHaveProperty('requestBody');
    expect(put.requestBody.content['application/json'].schema.properties.classes.additionalProperties).toBe(
      false,
    );
    expect(put.security).toEqual([{ operatorToken: [] }, { operatorCookie: [] }]);
    expect(put.responses).not.toHaveProperty('default');
    const forbidden =
      document.components.responses[put.responses['403'].$ref.replace('#/components/responses/', '')];
    const { schema } = forbidden.content['application/problem+json'];
    expect(schema.allOf[0]).toEqual({ $ref: '#/components/schemas/Problem' });
    expect(schema.allOf[1].properties).toEqual({
      status: { const: 403 },
      code: { enum: ['forbidden', 'second_factor_missing', 'step_up_required'] },
    });
    expect(put.description).toContain('admin_operations');
    expect(put.description).toContain('fresh second factor');
    expect(document.paths['/api/v1/admin/rate-limits'].get.description).not.toContain('second factor');
    expect(document.paths['/api/health'].get.security).toEqual([]);
    expect(document.paths['/api/v1/admin/operators/{id}'].delete.responses['204']).toEqual({
      description: 'Done',
      headers: { 'x-request-id': { $ref: '#/components/headers/RequestId' } },
    });
    expect(Object.keys(document.components.securitySchemes)).toHaveLength(7);
    expect(Object.keys(document.paths)).not.toContain('/setup/{secret}');
  });

  test('is also a page without script', async () => {
    const { send } = await createOperatorApp(engine);
    const page = await send('GET', '/api/docs');
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.body).toContain('<code>PUT /api/v1/admin/rate-limits</code>');
    expect(page.body).toContain('<li>403 Forbidden: forbidden, second_factor_missing, step_up_required</li>');
    expect(page.body).not.toContain('<script');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'; style-src 'sha256-");
  });
});

describe('security headers', () => {
  test.each(['/api/health', '/nowhere', '/api/v1/admin/operators', '/api/docs'])('are on %s', async (url) => {
    const { send } = await createOperatorApp(engine, BEHIND_PROXY);
    const { headers } = await send('GET', url, askedOf('tidegate.example', 'https'));
    expect(headers).toMatchObject({
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'no-store',
      'strict-transport-security': 'max-age=31536000',
      'x-request-id': expect.any(String),
    });
    const policy = String(headers['content-security-policy']);
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).toContain("base-uri 'none'");
    expect(policy).not.toContain('unsafe');
  });

  test.each<[string, string, boolean]>([
    ['https', 'tidegate.example', true],
    ['https', 'tidegate.example:8443', true],
    ['https', 'TIDEGATE', true],
    ['http', 'tidegate.example', false],
    ['https', 'localhost:8080', false],
    ['https', 'tidegate.localhost', false],
    ['https', '192.0.2.7', false],
    ['https', '[2001:db8::7]:8443', false],
  ])('promise https to a browser that came by %s to %s: %s', async (scheme, host, isPromised) => {
    const { send } = await createOperatorApp(engine, BEHIND_PROXY);
    const { headers } = await send('GET', '/api/health', askedOf(host, scheme));
    expect('strict-transport-security' in headers).toBe(isPromised);
  });

  test('do not believe an untrusted peer that the browser came by https', async () => {
    const { send } = await createOperatorApp(engine);
    const { headers } = await send('GET', '/api/health', askedOf('tidegate.example', 'https'));
    expect(headers).not.toHaveProperty('strict-transport-security');
  });
});
