import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { startFakeOsvExport } from '@tidegate/testkit/fake-osv-export';
import { createFleet } from '@tidegate/testkit/fleet';
import { findTool, runTool, SYSTEM_PATH } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { TestEngine } from '../apps/server/src/testing/engines.ts';
import { startChild } from './harness/child.ts';
import { liftLimits, logIn } from './harness/operator.ts';
import { ecosystemsOfThisHost } from './harness/os-release.ts';
import { OFTEN, startServer } from './harness/server-process.ts';
import { storyEngines } from './harness/story-engines.ts';

const EXAMPLES = fileURLToPath(new URL('../examples', import.meta.url));
const TOKEN = 'metrics-token-of-the-story-0123456789';
const HOSTS = 12;
const STORY_MS = 180_000;

/** Queries of the dashboard that find nothing in this story, and why. */
const EMPTY: Readonly<Record<string, string>> = {
  tidegate_oldest_undelivered_command_age_seconds: 'no command waits for a host',
  tidegate_exploited_feed_age_seconds: 'no feed is in the settings',
  tidegate_gate_decisions_total: 'nothing was decided',
  tidegate_http_rate_limited_total: 'nobody was over a limit',
};

const Dashboard = Type.Object({
  panels: Type.Array(
    Type.Object({
      title: Type.String(),
      targets: Type.Optional(Type.Array(Type.Object({ expr: Type.String() }))),
    }),
  ),
});
const QueryAnswer = Type.Object({
  status: Type.Literal('success'),
  data: Type.Object({ result: Type.Array(Type.Unknown()) }),
});

const missing = ['prometheus', 'promtool'].find((name) => findTool(name, SYSTEM_PATH) === null);
if (missing !== undefined) console.log(`skipped: Prometheus reads the metrics: ${missing} is not installed`);

describe.skipIf(missing !== undefined)('Prometheus', () => {
  test('takes the alert rules, and their tests pass', async () => {
    const cwd = join(EXAMPLES, 'prometheus');
    const checked = await runTool('promtool', ['check', 'rules', 'tidegate-alerts.yaml'], { cwd });
    expect(checked).toContain('SUCCESS: 17 rules found');
    const tested = await runTool('promtool', ['test', 'rules', 'tidegate-alerts.test.yaml'], { cwd });
    expect(tested).toContain('SUCCESS');
  });

  describe.each(storyEngines('postgres'))('on $name', (engine) => {
    test(
      'scrapes a server with hosts, and every query of the dashboard finds what there is',
      async () => {
        const { server, query } = await openStory(engine);
        const scraped = await fetch(`${server.url}/metrics`, {
          headers: { authorization: `Bearer ${TOKEN}` },
        });
        const text = await scraped.text();
        expect(await runTool('promtool', ['check', 'metrics'], { input: ours(text) })).toBe('');
        expect(text).not.toMatch(/sim-?\d|machine-/);

        const dashboard = await readFile(join(EXAMPLES, 'grafana/tidegate.json'), 'utf8');
        const { panels } = Value.Parse(Dashboard, JSON.parse(dashboard));
        const queries = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
        expect(queries.length).toBeGreaterThan(30);
        const mayBeEmpty = {
          ...EMPTY,
          ...(engine.name === 'sqlite' && { tidegate_database_connections: 'no pool' }),
        };
        for (const expr of queries) {
          const asked = expr.replaceAll('$job', 'tidegate');
          if (Object.keys(mayBeEmpty).some((name) => expr.includes(name))) await query(asked);
          else await expect.poll(() => query(asked), { message: asked }).not.toEqual([]);
        }
        expect(await query('sum(tidegate_hosts{state!="revoked"})')).toMatchObject([
          { value: [expect.anything(), '12'] },
        ]);
        expect(await query('tidegate_collector_up == 0')).toEqual([]);
      },
      STORY_MS,
    );
  });
});

/** A server with hosts and an exporter, and a Prometheus that scrapes it. */
async function openStory(engine: TestEngine) {
  const folder = tmpDir('tidegate-metrics-');
  onTestFinished(() => folder.remove());
  const osv = await startFakeOsv({ covered: ecosystemsOfThisHost() });
  onTestFinished(() => osv.stop());
  const exported = await startFakeOsvExport(osv);
  onTestFinished(() => exported.stop());
  const server = await startServer({
    ...(await engine.place()),
    ...{ advisoryUrl: osv.url, exportUrl: exported.url },
    env: { ...OFTEN, SERVICE_METRICS_TOKEN: TOKEN, SERVICE_OTLP_LOGS_URL: await startCollector() },
  });
  onTestFinished(async () => void (await server.stop()));
  const query = await startPrometheus(folder.path, server.url);
  // Rates need a scrape from before anything happens.
  await expect.poll(() => query('tidegate_events_total')).not.toEqual([]);
  const operator = await logIn(server.url);
  await liftLimits(operator);
  const fleet = createFleet({
    ...{ serverUrl: server.url, agents: HOSTS, registrationToken: await operator.registrationToken(HOSTS) },
    ...{ clock: { now: Date.now }, inventory: { packages: 40, updates: 5 } },
  });
  onTestFinished(() => fleet.stop());
  await fleet.enrolAll();
  await fleet.checkInAll();
  await fleet.reportAll();
  await fleet.checkInAll();
  return { server, query };
}

/** Takes every record. */
async function startCollector(): Promise<string> {
  const collector = createServer((request, response) => {
    request
      .resume()
      .on('end', () => response.writeHead(200, { 'content-type': 'application/json' }).end('{}'));
  });
  collector.listen(0, '127.0.0.1');
  await once(collector, 'listening');
  onTestFinished(() => void collector.close());
  const address = collector.address();
  if (address === null || typeof address === 'string') throw new Error('the collector has no port');
  return `http://127.0.0.1:${address.port}/v1/logs`;
}

/** Resolves to what a query finds. */
async function startPrometheus(folder: string, serverUrl: string) {
  const config = join(folder, 'prometheus.yaml');
  await writeFile(join(folder, 'token'), TOKEN);
  await writeFile(
    config,
    JSON.stringify({
      global: { scrape_interval: '1s' },
      rule_files: [join(EXAMPLES, 'prometheus/tidegate-alerts.yaml')],
      scrape_configs: [
        {
          job_name: 'tidegate',
          authorization: { credentials_file: join(folder, 'token') },
          static_configs: [{ targets: [new URL(serverUrl).host] }],
        },
      ],
    }),
  );
  const child = startChild(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
    ],
    { env: { PATH: SYSTEM_PATH } },
  );
  onTestFinished(async () => {
    child.signal('SIGTERM');
    await child.ended;
  });
  const line = await child.line(/Listening on" address=127\.0\.0\.1:\d+/);
  const base = `http://${/address=(\S+)/.exec(line)?.[1]}/api/v1`;
  return async (expr: string): Promise<unknown[]> => {
    const answer = await fetch(`${base}/query?query=${encodeURIComponent(expr)}`);
    return Value.Parse(QueryAnswer, await answer.json()).data.result;
  };
}

/** Without the metrics of the library, some of whose names promtool does not like. */
function ours(text: string): string {
  return text
    .split('\n')
    .filter((line) => /^(# (HELP|TYPE) )?tidegate_/.test(line))
    .map((line) => `${line}\n`)
    .join('');
}
