import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { runTool } from '@tidegate/testkit/run-tool';
import { tmpDir } from '@tidegate/testkit/tmp';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { goTool, hasGo } from './harness/go-tool.ts';
import { kubernetesFaults } from './harness/kubernetes-schemas.ts';

const PACKAGING = fileURLToPath(new URL('../packaging', import.meta.url));
const CHART = join(PACKAGING, 'helm/tidegate');
const HELM = { path: 'helm.sh/helm/v4/cmd/helm', version: 'v4.3.1' };
/** The loader of Docker Compose. */
const COMPOSE = { path: 'github.com/compose-spec/compose-go/v2/cmd', version: 'v2.16.2' };
/** Helm is compiled from its sources: minutes on two cores. */
const COMPILE_MAX_MS = 1_200_000;

const missing = hasGo() ? null : 'Go is not installed';

describe.skipIf(missing !== null)(`deployment files${missing === null ? '' : ` (${missing})`}`, () => {
  test.each([
    [['compose.yaml'], ['tidegate']],
    [
      ['compose.yaml', 'compose.postgres.yaml'],
      ['postgres', 'tidegate'],
    ],
    [
      ['compose.yaml', 'compose.https.yaml'],
      ['caddy', 'tidegate'],
    ],
    [
      ['compose.yaml', 'compose.postgres.yaml', 'compose.https.yaml'],
      ['caddy', 'postgres', 'tidegate'],
    ],
  ])('Compose loads %j together', { timeout: COMPILE_MAX_MS }, async (files, services) => {
    const loaded = await loadCompose(files, (text) =>
      text.replaceAll(/\$\{TIDEGATE_DOMAIN[^}]*\}/g, 'updates.example.org'),
    );
    expect(Object.keys(loaded.services)).toEqual(services);
    expect(loaded.services.tidegate).toMatchObject({
      image: 'localhost/tidegate:0.2.0',
      read_only: true,
      cap_drop: ['ALL'],
      user: '65532:65532',
      ports: [{ host_ip: '127.0.0.1', published: '8080', target: 8080 }],
    });
  });

  test('Compose names the missing domain', { timeout: COMPILE_MAX_MS }, async () => {
    const loaded = loadCompose(['compose.yaml', 'compose.https.yaml'], (text) => text);
    await expect(loaded).rejects.toThrow(
      /TIDEGATE_DOMAIN is missing a value: the name that hosts and operators use/,
    );
  });

  test('helm lint --strict has nothing to say', { timeout: COMPILE_MAX_MS }, async () => {
    expect(await helm(['lint', '--strict', CHART])).toContain('0 chart(s) failed');
  });

  const EXPOSED = { baseUrl: 'https://updates.example.org', trustedProxies: ['10.0.0.0/8', 'fd00::/8'] };
  const RENDERED: [string, Record<string, unknown>, string[]][] = [
    ['nothing', {}, ['Service', 'StatefulSet']],
    [
      'everything',
      {
        ...EXPOSED,
        image: { digest: `sha256:${'a'.repeat(64)}`, pullSecrets: ['registry'] },
        tls: { secretName: 'tls' },
        secrets: {
          existingSecret: 'tidegate',
          databaseUrlKey: 'url',
          signingPrivateKeyKey: 'key',
          jwtSecretKey: 'jwt',
        },
        settings: { SERVICE_SUPPLY_CHAIN_GATE_ENFORCEMENT: 'block' },
        persistence: { size: '20Gi', storageClass: 'fast' },
        service: { type: 'LoadBalancer', annotations: { a: 'b' } },
        ingress: {
          enabled: true,
          host: 'updates.example.org',
          className: 'nginx',
          tlsSecretName: 'web',
          annotations: { a: 'b' },
        },
        networkPolicy: { enabled: true, from: [{ namespaceSelector: { matchLabels: { a: 'b' } } }] },
        podLabels: { team: 'security' },
        podAnnotations: { a: 'b' },
        nodeSelector: { disk: 'ssd' },
        tolerations: [{ key: 'a', operator: 'Exists' }],
        affinity: { nodeAffinity: {} },
      },
      ['Ingress', 'NetworkPolicy', 'Service', 'StatefulSet'],
    ],
    ['a claim of your own', { persistence: { existingClaim: 'data' } }, ['Service', 'StatefulSet']],
    [
      'a policy that lets nobody in',
      { networkPolicy: { enabled: true } },
      ['NetworkPolicy', 'Service', 'StatefulSet'],
    ],
  ];

  describe.each(RENDERED)('the chart with %s', (_, values, kinds) => {
    test('is valid for the oldest and the newest Kubernetes', { timeout: COMPILE_MAX_MS }, async () => {
      const manifests = await render(values);
      expect(manifests.map(({ kind }) => kind).sort()).toEqual(kinds);
      for (const version of ['1.29', '1.37']) {
        const faults = kubernetesFaults(version);
        expect(manifests.flatMap(faults), version).toEqual([]);
      }
    });

    test('fits the restricted profile of Kubernetes', { timeout: COMPILE_MAX_MS }, async () => {
      const { spec } = await statefulSet(values);
      expect(spec).toMatchObject({ replicas: 1 });
      const pod = spec.template.spec;
      expect(pod).toMatchObject({
        automountServiceAccountToken: false,
        enableServiceLinks: false,
        securityContext: {
          runAsNonRoot: true,
          runAsUser: 65_532,
          fsGroup: 65_532,
          fsGroupChangePolicy: 'OnRootMismatch',
          seccompProfile: { type: 'RuntimeDefault' },
        },
        containers: [
          {
            securityContext: {
              allowPrivilegeEscalation: false,
              readOnlyRootFilesystem: true,
              capabilities: { drop: ['ALL'] },
            },
          },
        ],
      });
      expect(pod).not.toHaveProperty('hostNetwork');
      expect((pod.volumes ?? []).filter((volume) => 'hostPath' in volume)).toEqual([]);
    });
  });

  test('without TLS or a proxy the server listens in its pod alone, and is asked by a command', {
    timeout: COMPILE_MAX_MS,
  }, async () => {
    const { env, livenessProbe } = await container({});
    expect(env).toContainEqual({ name: 'SERVICE_HOST', value: 'localhost' });
    expect(livenessProbe).toMatchObject({ exec: { command: ['/usr/bin/tidegate', 'doctor', '--running'] } });
    expect(env.map(({ name }) => name)).not.toContain('SERVICE_ALLOW_PLAIN_HTTP');
  });

  test.each([
    ['HTTP', EXPOSED],
    ['HTTPS', { baseUrl: EXPOSED.baseUrl, tls: { secretName: 'tls' } }],
  ])('a server that is reached by %s is asked by it', { timeout: COMPILE_MAX_MS }, async (scheme, values) => {
    const { env, startupProbe, readinessProbe, livenessProbe } = await container(values);
    expect(env).toContainEqual({ name: 'SERVICE_HOST', value: '0.0.0.0' });
    for (const probe of [startupProbe, livenessProbe]) {
      expect(probe).toMatchObject({ httpGet: { path: '/api/health', port: 'web', scheme } });
    }
    expect(readinessProbe).toMatchObject({ httpGet: { path: '/api/ready', port: 'web', scheme } });
  });

  test.each([
    ['no base URL', { trustedProxies: ['10.0.0.1'] }, /baseUrl is missing/],
    [
      'an ingress that the server does not believe',
      { ingress: { enabled: true, host: 'a.example' } },
      /needs trustedProxies/,
    ],
    ['an ingress without a host', { ...EXPOSED, ingress: { enabled: true } }, /needs ingress.host/],
    ['keys of no secret', { secrets: { databaseUrlKey: 'url' } }, /existingSecret is missing/],
    ['a secret without keys', { secrets: { existingSecret: 'a' } }, /none of databaseUrlKey/],
    ['a misspelt value', { baseURL: 'https://a.example' }, /additional properties 'baseURL' not allowed/],
  ])('the chart refuses %s', { timeout: COMPILE_MAX_MS }, async (_, values, fault) => {
    await expect(render(values)).rejects.toThrow(fault);
  });
});

const Probe = Type.Object({}, { additionalProperties: true });
const StatefulSet = Type.Object({
  kind: Type.Literal('StatefulSet'),
  spec: Type.Object({
    template: Type.Object({
      spec: Type.Object({
        volumes: Type.Optional(Type.Array(Type.Object({}))),
        containers: Type.Array(
          Type.Object({
            env: Type.Array(Type.Object({ name: Type.String(), value: Type.String() })),
            startupProbe: Probe,
            readinessProbe: Probe,
            livenessProbe: Probe,
          }),
        ),
      }),
    }),
  }),
});
const Manifest = Type.Object({ kind: Type.String() });
const Loaded = Type.Object({ services: Type.Record(Type.String(), Type.Unknown()) });

async function container(values: Record<string, unknown>) {
  const { spec } = await statefulSet(values);
  const [only] = spec.template.spec.containers;
  if (only === undefined) throw new Error('the pod has no container');
  return only;
}

async function statefulSet(values: Record<string, unknown>) {
  const found = (await render(values)).find(({ kind }) => kind === 'StatefulSet');
  return Value.Parse(StatefulSet, found);
}

async function render(values: Record<string, unknown>) {
  const folder = tmpDir('tidegate-helm-');
  onTestFinished(() => folder.remove());
  const file = join(folder.path, 'values.json');
  writeFileSync(file, JSON.stringify(values));
  const text = await helm(['template', 'tidegate', CHART, '--namespace', 'ops', '--values', file]);
  return parseAllDocuments(text).map((document) => Value.Parse(Manifest, document.toJS()));
}

async function helm(args: readonly string[]): Promise<string> {
  const home = tmpDir('tidegate-helm-');
  onTestFinished(() => home.remove());
  return runTool(goTool(HELM), args, { env: { HOME: home.path } });
}

async function loadCompose(files: readonly string[], change: (text: string) => string) {
  const folder = tmpDir('tidegate-compose-');
  onTestFinished(() => folder.remove());
  for (const name of files) {
    writeFileSync(join(folder.path, name), change(readFileSync(join(PACKAGING, 'container', name), 'utf8')));
  }
  mkdirSync(join(folder.path, 'secrets'));
  for (const name of ['database-url', 'postgres-password'])
    writeFileSync(join(folder.path, 'secrets', name), 'x');
  const text = await runTool(goTool(COMPOSE), ['-format', 'json', ...files], { cwd: folder.path });
  return Value.Parse(Loaded, JSON.parse(text));
}
