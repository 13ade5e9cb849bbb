import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { RESTART_REPORT_MAX_BYTES, RestartReport, type StaleService } from '@tidegate/protocol/restarts';
import { Value } from 'typebox/value';
import { afterEach, beforeEach, expect, test } from 'vitest';
import type { Runtime } from '../commands/runtime.ts';
import { USUAL_PLACES } from '../ecosystems/host-places.ts';
import { ownUid } from '../platform/file-layer.ts';
import { runOnce } from '../polling/loop.ts';
import { shorten } from '../restarts/report-form.ts';
import { watchRestarts } from '../restarts/restart-watch.ts';
import { type ServiceFile, writeServiceFile } from '../restarts/service-file.ts';
import { createAgent, type TestAgent } from '../testing/agent-runtime.ts';
import { NOW_MS } from '../testing/fleet.ts';
import { problem } from '../testing/scripted-server.ts';
import { sendRestarts } from './send-restarts.ts';

const SERVICE: StaleService = {
  ...{ name: 'nginx.service', kind: 'service', processes: 1, more_files: 0 },
  files: [{ path: '/srv/lib.so' }],
};
let agent: TestAgent;
let nowMs: number;
let root: string;
beforeEach(async () => {
  agent = await createAgent();
  nowMs = NOW_MS;
  root = join(agent.folder, 'root');
  mkdirSync(join(root, 'boot'), { recursive: true });
});
afterEach(() => agent.stop());

function see(file: Partial<ServiceFile>): void {
  const observed_at = new Date(nowMs).toISOString();
  const empty = { v: 1 as const, observed_at, boot_id: 'boot', cannot: null, stale: [], more_services: 0 };
  writeServiceFile(join(root, 'seen.json'), { ...empty, ...file });
}

function start(): Runtime {
  const restarts = watchRestarts({
    ...{ serviceFile: join(root, 'seen.json'), writerUid: ownUid(), bootId: 'boot', root, observe: null },
    paths: { ...USUAL_PLACES, aptConfig: '/nonexistent' },
    nowMs: () => nowMs,
  });
  return agent.start({ restarts });
}

const reported = () => agent.server.received('restarts').map((body) => Value.Parse(RestartReport, body));

test('a round reports what runs old code after the check-in, and nothing while nothing changes', async () => {
  see({ stale: [SERVICE] });
  const runtime = start();
  const paths: string[] = [];
  agent.server.override = (path) => {
    paths.push(path);
    return null;
  };
  expect(await runOnce(runtime)).toBeNull();
  expect(reported().map(({ services }) => services.need)).toEqual(['needed']);
  expect(paths.indexOf('restarts')).toBeGreaterThan(paths.indexOf('check-in'));

  see({ stale: [{ ...SERVICE, processes: 4 }] }); // another look that found the same
  expect(await sendRestarts(runtime)).toBeNull();
  expect(reported()).toHaveLength(1);

  see({ stale: [] });
  expect(await sendRestarts(runtime)).toBeNull();
  expect(reported().map(({ services }) => services.need)).toEqual(['needed', 'not_needed']);
});

test('an unchanged report is sent again after a day', async () => {
  see({});
  const runtime = start();
  await runOnce(runtime);
  nowMs += 24 * 3_600_000 - 1;
  see({});
  await sendRestarts(runtime);
  expect(reported()).toHaveLength(1);
  nowMs += 1;
  await sendRestarts(runtime);
  expect(reported()).toHaveLength(2);
});

test('a server that cannot take it now gets it later; one that refuses it is not asked again', async () => {
  see({ stale: [SERVICE] });
  const runtime = start();
  await runtime.restarts.refresh();
  agent.server.override = (name) => (name === 'restarts' ? { status: 503, body: '{}' } : null);
  expect(await sendRestarts(runtime)).toMatchObject({ kind: 'retryable' });
  expect(await sendRestarts(runtime)).toMatchObject({ kind: 'retryable' });
  expect(reported()).toHaveLength(2);
  agent.server.override = (name) => (name === 'restarts' ? problem('invalid_request') : null);
  expect(await sendRestarts(runtime)).toBeNull();
  expect(await sendRestarts(runtime)).toBeNull();
  expect(reported()).toHaveLength(3);
});

test('the longest hostile names still fit into a request, and the verdict stays', async () => {
  const files = Array.from({ length: 8 }, (_, i) => ({ path: `${i}${'\u{1f600}'.repeat(127)}` }));
  see({
    stale: Array.from({ length: 64 }, (_, i) => ({
      ...SERVICE,
      name: `${i}${'\u{1f600}'.repeat(127)}`,
      files,
    })),
  });
  const { restarts } = start();
  await restarts.refresh();
  const report = Value.Parse(RestartReport, restarts.unsent());
  expect(Buffer.byteLength(JSON.stringify(report))).toBeLessThan(RESTART_REPORT_MAX_BYTES);
  expect(report.services).toMatchObject({ need: 'needed', more_services: 48 });
  expect(report.services.stale[0]?.more_files).toBe(6);
});

test('shortening counts what it leaves out', () => {
  const services = { need: 'needed' as const, stale: [SERVICE, SERVICE, SERVICE], more_services: 5 };
  const reboot = { need: 'unknown' as const, evidence: [], packages: [], livepatch: 'unknown' as const };
  const report = { observed_at: '2026-01-01T00:00:00Z', boot_id: 'b', services, reboot };
  const short = shorten(report, { services: 2, files: 0 });
  expect([short.services.stale.length, short.services.more_services]).toEqual([2, 6]);
  expect(short.services.stale[0]?.more_files).toBe(1);
});
