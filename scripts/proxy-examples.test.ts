import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { INVENTORY_MAX_BYTES } from '../packages/protocol/src/agent-api.ts';

const read = (name: string) => readFileSync(join(import.meta.dirname, '../examples/proxies', name), 'utf8');

/** e2e/proxies.test.ts runs the first of them. */
test.each([
  ['nginx.conf', /^ +client_max_body_size (\d+)m;$/m],
  ['Caddyfile', /^\t+max_size (\d+)MiB$/m],
])('%s lets the largest report of a host pass', (name, limit) => {
  expect(Number(limit.exec(read(name))?.[1]) * 1024 * 1024).toBe(INVENTORY_MAX_BYTES);
});

test('traefik.yaml has no middleware that holds back live changes', () => {
  expect(read('traefik.yaml').replace(/^#.*$/gm, '')).not.toMatch(/buffering|middlewares/);
});
