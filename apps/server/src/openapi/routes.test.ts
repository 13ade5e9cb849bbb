import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createOperatorApp } from '../testing/operator-app.ts';

const [engine] = ENGINES.slice(0, 1);
if (!engine) throw new Error('SQLite is always there');

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
    expect(put.responses.default.content['application/problem+json'].schema.properties.code).toEqual({
      type: 'string',
    });
    expect(put.description).toContain('admin_operations');
    expect(put.description).toContain('fresh second factor');
    expect(document.paths['/api/v1/admin/rate-limits'].get.description).not.toContain('second factor');
    expect(document.paths['/api/health'].get.security).toEqual([]);
    expect(document.paths['/api/v1/admin/operators/{id}'].delete.responses['204']).toEqual({
      description: 'Done',
    });
    expect(Object.keys(document.components.securitySchemes)).toHaveLength(4);
    expect(Object.keys(document.paths)).not.toContain('/setup/{secret}');
  });

  test('is also a page without script', async () => {
    const { send } = await createOperatorApp(engine);
    const page = await send('GET', '/api/docs');
    expect([page.statusCode, page.headers['content-type']]).toEqual([200, 'text/html; charset=utf-8']);
    expect(page.body).toContain('<code>PUT /api/v1/admin/rate-limits</code>');
    expect(page.body).not.toContain('<script');
    expect(page.headers['content-security-policy']).toContain("default-src 'none'; style-src 'sha256-");
  });
});

describe('security headers', () => {
  test.each(['/api/health', '/nowhere', '/api/v1/admin/operators', '/api/docs'])('are on %s', async (url) => {
    const { send } = await createOperatorApp(engine, { secure: true });
    const { headers } = await send('GET', url);
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

  test('promises https only over https', async () => {
    const { send } = await createOperatorApp(engine);
    expect((await send('GET', '/api/health')).headers).not.toHaveProperty('strict-transport-security');
  });
});
