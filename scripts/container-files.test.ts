import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv } from 'ajv';
import { Type } from 'typebox';
import { Value } from 'typebox/value';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readBaseLock } from './release/base-lock.ts';
import { imageConfig, imageName } from './release/image.ts';

const ROOT = join(import.meta.dirname, '..');
const { version: VERSION } = Value.Parse(
  Type.Object({ version: Type.String() }),
  JSON.parse(read('package.json')),
);
const CONFIG = imageConfig(VERSION);
const COMPOSE = ['compose.yaml', 'compose.postgres.yaml', 'compose.https.yaml'];

const Service = Type.Partial(
  Type.Object({
    image: Type.String(),
    user: Type.String(),
    read_only: Type.Boolean(),
    privileged: Type.Boolean(),
    cap_drop: Type.Array(Type.String()),
    cap_add: Type.Array(Type.String()),
    security_opt: Type.Array(Type.String()),
    ports: Type.Array(Type.String()),
    pull_policy: Type.String(),
    environment: Type.Record(Type.String(), Type.String()),
    healthcheck: Type.Object({ test: Type.Array(Type.String()), interval: Type.String() }),
  }),
);
const Compose = Type.Object({ services: Type.Record(Type.String(), Service) });

describe('the compose files', () => {
  test('every container has a read-only root, no capability that it does not need, and no way to get others', () => {
    const services = COMPOSE.flatMap((name) => Object.entries(composeFile(name).services));
    const defined = services.filter(([, { image }]) => image !== undefined);
    expect(defined.map(([name]) => name)).toEqual(['tidegate', 'postgres', 'caddy']);
    for (const [name, service] of defined) {
      expect([name, service]).toMatchObject([
        name,
        { read_only: true, cap_drop: ['ALL'], security_opt: ['no-new-privileges:true'] },
      ]);
      expect(service.cap_add ?? [], name).toEqual(name === 'caddy' ? ['NET_BIND_SERVICE'] : []);
      expect(service.privileged, name).toBeUndefined();
    }
  });

  test('the server is the image of this release, as its user, with its health check, for this machine alone', () => {
    const { tidegate } = composeFile('compose.yaml').services;
    expect(tidegate).toMatchObject({
      user: CONFIG.User,
      pull_policy: 'never',
      ports: ['127.0.0.1:8080:8080'],
      healthcheck: { test: CONFIG.Healthcheck.Test, interval: '30s' },
    });
    expect(tidegate?.image?.replace(/\$\{TIDEGATE_VERSION:-(.*)\}/, '$1')).toBe(imageName(VERSION));
  });

  test('behind Caddy, plain HTTP is off and only the address of Caddy is believed', () => {
    const { services, networks } = Value.Parse(
      Type.Object({ ...Compose.properties, networks: Type.Object({ proxy: Type.Unknown() }) }),
      parse(read('packaging/container/compose.https.yaml')),
    );
    const { environment } = services.tidegate ?? {};
    expect(environment).toMatchObject({
      SERVICE_ALLOW_PLAIN_HTTP: 'false',
      SERVICE_TRUSTED_PROXIES: '10.73.0.2',
    });
    expect(services.caddy).toMatchObject({ networks: { proxy: { ipv4_address: '10.73.0.2' } } });
    expect(networks.proxy).toMatchObject({ internal: true, ipam: { config: [{ subnet: '10.73.0.0/28' }] } });
  });
});

test('the Containerfile runs the server as the image of the release does', () => {
  const lines = read('packaging/container/Containerfile')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n');
  const last = (name: string) =>
    lines.findLast((line) => line.startsWith(`${name} `))?.slice(name.length + 1);
  expect(last('USER')).toBe(CONFIG.User);
  expect(last('VOLUME')).toBe(Object.keys(CONFIG.Volumes).join());
  expect(last('EXPOSE')).toBe(Object.keys(CONFIG.ExposedPorts).join());
  expect(last('WORKDIR')).toBe(CONFIG.WorkingDir);
  expect(last('STOPSIGNAL')).toBe(CONFIG.StopSignal);
  expect(last('ENTRYPOINT')).toBe(JSON.stringify(CONFIG.Entrypoint));
  expect(last('CMD')).toBe(JSON.stringify(CONFIG.Cmd));
  expect(last('ENV')?.split(' ')).toEqual(CONFIG.Env.filter((pair) => !pair.startsWith('PATH=')));
  const [kind, ...words] = CONFIG.Healthcheck.Test;
  expect(last('HEALTHCHECK')).toBe(
    `--interval=30s --timeout=10s --start-period=60s --retries=3 ${kind} ${JSON.stringify(words).replaceAll(',', ', ')}`,
  );
  expect(last('ARG')).toBe('TARGET=linux-x64');
  expect(lines).toContain(`ARG VERSION=${VERSION}`);
});

test('both architectures of the image have the same packages of Debian, in the same versions', () => {
  const { amd64, arm64 } = readBaseLock().packages;
  const versionsOf = (packages: typeof amd64) =>
    Object.entries(packages).map(([name, { version }]) => `${name} ${version}`);
  expect(versionsOf(arm64)).toEqual(versionsOf(amd64));
});

describe('the chart', () => {
  const validate = new Ajv({ strict: false }).compile(
    JSON.parse(read('packaging/helm/tidegate/values.schema.json')),
  );

  test('has the version of the release', () => {
    const chart: unknown = parse(read('packaging/helm/tidegate/Chart.yaml'));
    expect(chart).toMatchObject({ version: VERSION, appVersion: VERSION });
  });

  test('its defaults fit its schema', () => {
    expect([validate(parse(read('packaging/helm/tidegate/values.yaml'))), validate.errors]).toEqual([
      true,
      null,
    ]);
  });

  test.each<[string, unknown]>([
    ['a misspelt value', { baseURL: 'https://updates.example.org' }],
    ['a base URL without TLS', { baseUrl: 'http://updates.example.org' }],
    ['a name as trusted proxy', { trustedProxies: ['ingress'] }],
    ['a setting that the chart makes', { settings: { SERVICE_HOST: '0.0.0.0' } }],
    ['a name that is no setting', { settings: { ALLOW_PLAIN_HTTP: 'true' } }],
    ['a secret among the settings', { settings: { SERVICE_DATABASE_URL: 'postgres://tidegate' } }],
    ['a setting that is no text', { settings: { SERVICE_SWEEP_INTERVAL_SECONDS: 60 } }],
    ['two replicas', { replicas: 2 }],
  ])('its schema refuses %s', (_, values) => {
    expect(validate(values)).toBe(false);
  });
});

function composeFile(name: string) {
  return Value.Parse(Compose, parse(read(`packaging/container/${name}`)));
}

function read(path: string): string {
  return readFileSync(join(ROOT, path), 'utf8');
}
