import { expect, onTestFinished, test } from 'vitest';
import { ENGINES } from '../../testing/engines.ts';
import { createSliceApp } from '../../testing/slice-app.ts';
import { createTestPlatform } from '../../testing/test-platform.ts';

test.each(ENGINES.slice(0, 1))(
  'what is not expected is 500 after a whole body too, and is logged',
  async (engine) => {
    const platform = createTestPlatform(await engine.open());
    const app = createSliceApp(platform);
    onTestFinished(() => app.close());
    app.route({
      method: 'POST',
      url: '/boom',
      config: { access: { kind: 'public', limit: 'public_access' } },
      handler: async () => {
        throw new Error('not foreseen');
      },
    });
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const headers = { 'content-type': 'application/json' };
    const answer = await fetch(`${url}/boom`, { method: 'POST', headers, body: '{}' });
    expect([answer.status, await answer.json()]).toMatchObject([500, { code: 'internal_error' }]);
    expect(platform.lines.join('\n')).toContain('not foreseen');
  },
);
