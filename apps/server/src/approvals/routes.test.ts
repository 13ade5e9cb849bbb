import { describe, expect, test } from 'vitest';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';

describe.each(ENGINES)('not_before of an approval (E3) on $name', (engine) => {
  test.each(['9999-12-31T23:59:59Z', '2027-11-22T00:00:00Z'])(
    '%s is too far away: what was judged now would be installed then',
    async (not_before) => {
      const it = await createApprovalsApp(engine);
      const id = await it.addUpdate();
      const answer = await it.approve(id, { not_before });
      expect(answer).toMatchObject({
        status: 400,
        code: 'invalid_request',
        body: { errors: [{ path: '/not_before', message: expect.stringContaining('365 days') }] },
      });
      expect(await it.database.read.selectFrom('approvals').selectAll().execute()).toEqual([]);
    },
  );

  test('within a year it is taken', async () => {
    const it = await createApprovalsApp(engine);
    const id = await it.addUpdate();
    expect((await it.approve(id, { not_before: '2027-11-20T00:00:00Z' })).status).toBe(200);
  });
});
