import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createSliceApp } from '../../testing/slice-app.ts';
import { createTestPlatform } from '../../testing/test-platform.ts';

const [engine] = ENGINES;

test('a server that closes does not wait for a client that sends nothing', async () => {
  if (!engine) throw new Error('SQLite is always there');
  const app = createSliceApp(createTestPlatform(await engine.open()));
  const accepted = once(app.server, 'connection');
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const client = connect(Number(port), '127.0.0.1').resume();
  const ended = once(client, 'close');
  await accepted;
  await app.close();
  await ended;
  expect(app.server.listening).toBe(false);
});
