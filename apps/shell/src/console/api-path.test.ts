import { once } from 'node:events';
import { createServer } from 'node:http';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { createEventHub } from '../core/event-hub.ts';
import { createFakeShell } from '../testing/fake-backend.ts';
import { apiCommands } from './api-commands.ts';
import { connectServer } from './server-connection.ts';

const LONG = process.env.TIDEGATE_LONG === '1';

/** All readings of a path that a server could make: decoded repeatedly, with every kind of slash and dot segment. */
function readingsOf(path: string): Set<string> {
  const readings = new Set<string>();
  const queue = [path.split('?')[0] ?? ''];
  for (let next = queue.pop(); next !== undefined && readings.size < 200; next = queue.pop()) {
    if (readings.has(next)) continue;
    readings.add(next);
    const codes = next.replace(/%([0-9a-f]{2})/gi, (_, hex: string) =>
      String.fromCharCode(parseInt(hex, 16)),
    );
    queue.push(codes, Buffer.from(codes, 'latin1').toString('utf8'), next.replaceAll('\\', '/'));
    queue.push(next.normalize('NFKC'), next.replace(/\/{2,}/g, '/'), next.replace(/[\t\r\n\0]/g, ''));
    queue.push(new URL(next, 'http://x.invalid').pathname);
  }
  return readings;
}

/** Spellings of one character: plain, percent-encoded once or more, full width. */
function spelled(character: string): fc.Arbitrary<string> {
  const hex = character.charCodeAt(0).toString(16).padStart(2, '0');
  const wide = String.fromCharCode(character.charCodeAt(0) + 0xfee0);
  const plain = fc.constant(character);
  const other = fc.constantFrom(
    ...[`%${hex}`, `%${hex.toUpperCase()}`, `%25${hex}`, `%2525${hex}`, wide, encodeURIComponent(wide)],
    ...[`${character}\t`, `${character}%00`, character.toUpperCase()],
  );
  return fc.oneof({ weight: 8, arbitrary: plain }, { weight: 1, arbitrary: other });
}

const slash = fc.oneof(
  { weight: 8, arbitrary: fc.constant('/') },
  fc.constantFrom('//', '/./', '/x/../', '/x/%2e%2e/', '%2f', '%5c', '\\', '/.%2e/x/', '/%252e%252e/', '/;/'),
);
const word = (text: string) => fc.tuple(...[...text].map(spelled)).map((parts) => parts.join(''));
const path = fc
  .tuple(
    ...[slash, word('api'), slash, word('v1'), slash],
    fc.oneof(word('admin'), word('updates')),
    ...[slash, word('x'), fc.constantFrom('', '?a=/api/v1/admin/', '?%2f..', '#/admin')],
  )
  .map((parts) => parts.join(''));

test('no spelling of a path that a server could route to a denied path reaches the server', async () => {
  const seen: string[] = [];
  const server = createServer((request, response) => {
    seen.push(request.url ?? '');
    response.end('{}');
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no address');
  const connection = connectServer(`http://127.0.0.1:${address.port}`, {
    authorization: () => ({}),
    withhold: async ({ body }) => body,
    isThere: () => true,
    forget: async () => {},
  });
  const commands = apiCommands(
    connection,
    createEventHub(() => {}),
    new AbortController().signal,
  );
  const permissions = [
    {
      identifier: 'allow-api-request',
      allow: [{ method: 'GET', path: '/api/v1/*' }],
      deny: [{ path: '/api/v1/admin/*' }],
    },
  ];
  let passed = 0;
  await fc.assert(
    fc.asyncProperty(path, async (asked) => {
      // A new shell for each, as the calls of a webview are limited.
      const shell = await createFakeShell({ identifier: 'api', windows: ['main'], permissions }, commands);
      const before = seen.length;
      const answer = await shell.call('api-request', { method: 'GET', path: asked, headers: {}, body: null });
      const called = seen.slice(before);
      expect(answer).toMatchObject({ ok: called.length === 1 });
      passed += called.length;
      for (const one of called)
        for (const reading of readingsOf(one)) expect(reading).not.toMatch(/^\/+api\/+v1\/+admin(?:\/|$)/);
    }),
    { numRuns: LONG ? 20_000 : 1_500, examples: [['/api/v1/%61dmin/x'], ['/api/v1/updates/x']] },
  );
  expect(passed).toBeGreaterThan(20);
});
