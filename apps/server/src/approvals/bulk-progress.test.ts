import { once } from 'node:events';
import { describe, expect, test } from 'vitest';
import { createApprovalsApp } from '../testing/approvals-app.ts';
import { ENGINES } from '../testing/engines.ts';
import { createProgress, RUN_KEPT_MS, RUN_SILENT_MS, RUNS_KEPT, readRun } from './bulk-progress.ts';

const ADA = '01900000-0000-7000-a000-000000000001';
const idOf = (n: number) => `01900000-0000-7000-b000-${String(n).padStart(12, '0')}`;
const NOTHING = { approved: [], awaiting_plan: [], blocked: [], skipped: [] };

describe.each(ENGINES)('the progress of a bulk request on $name', (engine) => {
  test('shows the progress, and the answer for an hour, to its sender', async () => {
    const { call, addUpdate, vulnerable, clock, platform } = await createApprovalsApp(engine);
    vulnerable({ name: 'bad' });
    const ids = [
      await addUpdate(),
      await addUpdate({ name: 'bad' }),
      await addUpdate({ name: 'x', plan: null }),
    ];
    const gone = '01900000-0000-7000-8000-00000000beef';
    const request = { update_ids: [...ids, gone], progress_id: idOf(1) };
    const answer = await call('POST', '/api/v1/updates/approve', request);
    expect(answer.status).toBe(200);
    expect((await call('GET', `/api/v1/bulk/${idOf(1)}`)).body).toEqual({
      progress_id: idOf(1),
      state: 'done',
      ...{ done: 4, total: 4, approved: 1, blocked: 1, waiting: 1, skipped: 1 },
      started_at: '2026-11-21T09:00:00.000Z',
      updated_at: '2026-11-21T09:00:00.000Z',
    });
    expect((await call('GET', `/api/v1/bulk/${idOf(1)}/result`)).body).toEqual(answer.body);
    expect(await call('POST', '/api/v1/updates/approve', request)).toMatchObject({
      status: 409,
      code: 'conflict',
    });
    const other = '01900000-0000-7000-a000-000000000002';
    expect(await readRun(platform, { operator_id: other, progress_id: idOf(1) })).toBeNull();
    clock.advance(RUN_KEPT_MS + 1);
    expect((await call('GET', `/api/v1/bulk/${idOf(1)}`)).status).toBe(404);
    expect((await call('GET', `/api/v1/bulk/${idOf(1)}/result`)).status).toBe(404);
  });

  test('is readable while it runs, and after it failed', async () => {
    const { call, platform } = await createApprovalsApp(engine);
    const progress = createProgress(platform, { operator_id: ADA, progress_id: idOf(1) });
    expect(await progress.start(300)).toBe(true);
    const half = { ...NOTHING, awaiting_plan: [idOf(2)] };
    await progress.step(half);
    const url = `/api/v1/bulk/${idOf(1)}`;
    expect((await call('GET', url)).body).toMatchObject({
      state: 'running',
      done: 1,
      total: 300,
      waiting: 1,
    });
    expect(await call('GET', `${url}/result`)).toMatchObject({ status: 409, code: 'conflict' });
    await progress.end(half, 'failed');
    expect((await call('GET', url)).body).toMatchObject({ state: 'failed', done: 1, total: 300 });
    expect((await call('GET', `${url}/result`)).body).toEqual(half);
  });

  test('continues for a client that disconnects midway, and the answer can be fetched', async () => {
    const { app, call, addUpdate, osv } = await createApprovalsApp(engine);
    const ids = [await addUpdate(), await addUpdate({ name: 'x', plan: null })];
    const url = await app.listen({ host: '127.0.0.1', port: 0 });
    const release = osv.hold();
    const [leaving, asked] = [new AbortController(), osv.requests.length];
    const gone = fetch(`${url}/api/v1/updates/approve`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ update_ids: ids, progress_id: idOf(1) }),
      signal: leaving.signal,
    });
    const closed = once(app.server, 'connection').then(([socket]) => once(socket, 'close'));
    await expect.poll(() => osv.requests.length).toBeGreaterThan(asked);
    leaving.abort();
    await expect(gone).rejects.toThrow('aborted');
    await closed;
    expect((await call('GET', `/api/v1/bulk/${idOf(1)}`)).body).toMatchObject({ state: 'running', done: 0 });
    release();
    await expect.poll(async () => (await call('GET', `/api/v1/bulk/${idOf(1)}/result`)).status).toBe(200);
    const { body } = await call('GET', `/api/v1/bulk/${idOf(1)}/result`);
    expect(body).toMatchObject({ approved: [{ update_id: ids[0] }], awaiting_plan: [ids[1]], blocked: [] });
    const again = { update_ids: ids, progress_id: idOf(1) };
    expect(await call('POST', '/api/v1/updates/approve', again)).toMatchObject({
      status: 409,
      code: 'conflict',
    });
  });

  test('counts as failed when its server died midway, and shows how far it came', async () => {
    const { call, platform, clock } = await createApprovalsApp(engine);
    const progress = createProgress(platform, { operator_id: ADA, progress_id: idOf(1) });
    await progress.start(300);
    await progress.step({ ...NOTHING, awaiting_plan: [idOf(2)] });
    clock.advance(RUN_SILENT_MS);
    expect((await call('GET', `/api/v1/bulk/${idOf(1)}`)).body).toMatchObject({ state: 'running' });
    clock.advance(1);
    expect((await call('GET', `/api/v1/bulk/${idOf(1)}`)).body).toMatchObject({ state: 'failed', done: 1 });
    const answer = await call('GET', `/api/v1/bulk/${idOf(1)}/result`);
    expect(answer).toMatchObject({ status: 409, code: 'conflict' });
    expect(answer.body.detail).toContain('after 1 of 300 updates');
  });

  test('is kept for the newest requests of an operator', async () => {
    const { platform, clock } = await createApprovalsApp(engine);
    const keys = Array.from({ length: RUNS_KEPT + 1 }, (_, n) => ({
      operator_id: ADA,
      progress_id: idOf(n),
    }));
    for (const key of keys) {
      clock.advance(1);
      await createProgress(platform, key).start(1);
    }
    const kept = await Promise.all(keys.map((key) => readRun(platform, key)));
    expect(kept.map((row) => row !== null)).toEqual(keys.map((_, n) => n > 0));
  });
});
