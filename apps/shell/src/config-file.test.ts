import { chmodSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { expect, test } from 'vitest';
import { chooseServer, readConfig } from './config-file.ts';

const SERVERS = [
  { name: 'prod', url: 'https://updates.example.org/' },
  { name: 'lab', url: 'http://lab.example.org:8080', allow_insecure_http: true },
];

function configOf(text: string, mode = 0o600) {
  const folder = tmpDir();
  const path = join(folder.path, 'shell.json');
  writeFileSync(path, text);
  chmodSync(path, mode);
  return { path, [Symbol.dispose]: () => folder.remove() };
}

test('servers are chosen by name or address; the default is the first one', () => {
  using config = configOf(JSON.stringify({ servers: SERVERS }));
  const read = readConfig(config.path);
  if (!read.ok) throw new Error(read.detail);
  expect(chooseServer(read.servers, null)).toEqual({
    ok: true,
    name: 'prod',
    url: 'https://updates.example.org',
  });
  expect(chooseServer(read.servers, 'lab')).toMatchObject({ ok: true, url: 'http://lab.example.org:8080' });
  expect(chooseServer(read.servers, 'nowhere')).toEqual({
    ok: false,
    detail: 'there is no server "nowhere"; there are prod, lab',
  });
});

test('without a file the server is that of this machine', () => {
  expect(readConfig('/nonexistent/shell.json')).toEqual({ ok: true, servers: [] });
  expect(chooseServer([], null)).toMatchObject({ ok: true, url: 'http://localhost:8080' });
});

test.each([
  ['http://updates.example.org', 'is not https'],
  ['http://127.0.0.1.evil.example', 'is not https'],
  ['ftp://localhost', 'is not https'],
  ['https://olga:secret@updates.example.org', 'no user name'],
  ['https://updates.example.org/?a=1', 'no user name, query'],
  ['https://', 'is not a URL'],
])('the session is not sent to %s', (asked, detail) => {
  expect(chooseServer([], asked)).toMatchObject({ ok: false, detail: expect.stringContaining(detail) });
});

test.each([0o620, 0o602, 0o666])('a file that others can write is refused (mode %o)', (mode) => {
  using config = configOf(JSON.stringify({ servers: SERVERS }), mode);
  expect(readConfig(config.path)).toMatchObject({ ok: false, detail: expect.stringContaining('chmod 600') });
});

test.each([
  '{"servers":[],"servers":[]}',
  '{"servers":[{"name":"a b","url":"https://x"}]}',
  '{"server":[]}',
  'no',
])('%s is refused', (text) => {
  using config = configOf(text);
  expect(readConfig(config.path).ok).toBe(false);
});
