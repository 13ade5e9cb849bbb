import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { tmpDir } from '@tidegate/testkit/tmp';
import { describe, expect, test } from 'vitest';
import { defaultConfig, readConfig, SETTINGS } from './config.ts';

function faultOf(env: Record<string, string>): string {
  const outcome = readConfig(env);
  return outcome.ok ? 'accepted' : outcome.fault;
}

function settingOf(env: Record<string, string>, name: keyof typeof SETTINGS): unknown {
  const outcome = readConfig(env);
  return outcome.ok ? outcome.config[name] : outcome.fault;
}

const POSTGRES_URL = 'empty, or a postgres:// URL; if it has the parameter pgbouncer, that is true or false';

describe('defaults', () => {
  test('no setting is required, and empty counts as absent', () => {
    expect(readConfig({})).toEqual({ ok: true, config: defaultConfig() });
    const empty = Object.fromEntries(Object.values(SETTINGS).map(({ env }) => [env, '']));
    expect(readConfig(empty)).toEqual(readConfig({}));
  });

  test('are those of the interface specification', () => {
    expect(defaultConfig()).toMatchObject({
      port: 8080,
      dataDir: './data',
      databaseUrl: null,
      gateEnforcement: 'warn',
      minAgeHours: 72,
      vulnerabilityPolicy: null,
      uncovered: 'block',
      sweepIntervalSeconds: 60,
      advisorySource: 'mirror+api',
      advisoryMaxAgeHours: 24,
      trustedProxies: [],
      logLevel: 'info',
      logFormat: 'text',
    });
  });

  test('every variable begins with SERVICE_ and is unique', () => {
    const names = Object.values(SETTINGS).map(({ env }) => env);
    expect(new Set(names).size).toBe(names.length);
    expect(names.every((name) => /^SERVICE_[A-Z_]+$/.test(name))).toBe(true);
  });
});

describe('a bad value is one line that names the variable, what was given and what is allowed', () => {
  test.each([
    ['SERVICE_PORT', '65536', 'a whole number from 0 to 65535'],
    ['SERVICE_PORT', '80a', 'a whole number from 0 to 65535'],
    ['SERVICE_PORT', '8080.5', 'a whole number from 0 to 65535'],
    ['SERVICE_PORT', '0x50', 'a whole number from 0 to 65535'],
    ['SERVICE_BASE_URL', 'fleet.example', 'an http:// or https:// URL'],
    // A7: any other mode refuses to start (reading 1).
    ['SERVICE_SUPPLY_CHAIN_GATE_ENFORCEMENT', 'Block', 'warn, block or off'],
    ['SERVICE_SUPPLY_CHAIN_GATE_ENFORCEMENT', 'true', 'warn, block or off'],
    ['SERVICE_SUPPLY_CHAIN_MIN_AGE_HOURS', '-1', 'a number of hours from 0 to 87600'],
    ['SERVICE_SUPPLY_CHAIN_VULNERABILITY_POLICY', 'all', 'any or introduced'],
    ['SERVICE_SUPPLY_CHAIN_UNCOVERED', 'allow', 'block or warn'],
    ['SERVICE_SUPPLY_CHAIN_UNCHECKED', 'stop', 'warn or block'],
    ['SERVICE_SWEEP_INTERVAL_SECONDS', '0', 'a whole number of seconds from 1 to 86400'],
    ['SERVICE_ADVISORY_SOURCE', 'osv', 'mirror+api, mirror, api or off'],
    ['SERVICE_MIN_AGENT_VERSION', 'v1', 'a version such as 1.2.3'],
    ['SERVICE_ADMIN_USERNAME', 'a b', '1 to 64 letters, digits and . _ @ -'],
    ['SERVICE_TRUSTED_PROXIES', '10.0.0.0/8, proxy', 'addresses or CIDR ranges separated by commas'],
    ['SERVICE_BACKUP_RECIPIENTS', 'AGE1X', 'public keys of age (age1…) separated by commas'],
    ['SERVICE_ALLOW_PLAIN_HTTP', 'yes', 'true or false'],
    ['SERVICE_LOG_LEVEL', 'trace', 'debug, info, warn or error'],
    ['SERVICE_LOG_FORMAT', 'xml', 'text or json'],
  ])('%s=%s', (name, given, allowed) => {
    expect(faultOf({ [name]: given })).toBe(`${name} is ${JSON.stringify(given)}; allowed: ${allowed}`);
  });

  test.each([
    ['SERVICE_SIGNING_PRIVATE_KEY', 'abcdef', '128 hex digits (seed then public half)'],
    ['SERVICE_SIGNING_PREVIOUS_PRIVATE_KEY', 'abcdef', '128 hex digits (seed then public half)'],
    ['SERVICE_JWT_SECRET', 'abcdef', 'text of 32 bytes or more'],
    ['SERVICE_DATABASE_URL', 'mysql://root:abcdef@db', POSTGRES_URL],
    ['SERVICE_DATABASE_URL', 'postgres://u:p@db/t?a=b&pgbouncer=yes', POSTGRES_URL],
    ['SERVICE_ADMIN_PASSWORD', 'abcdef', '15 to 256 characters'],
  ])('%s is secret: what was given is hidden', (name, given, allowed) => {
    expect(faultOf({ [name]: given })).toBe(`${name} is a hidden value; allowed: ${allowed}`);
  });

  test('a long value or one with line ends is still reported in one short line', () => {
    const fault = faultOf({ SERVICE_LOG_LEVEL: `info\n${'x'.repeat(1_000)}` });
    expect(fault).not.toContain('\n');
    expect(fault.length).toBeLessThan(200);
  });

  test.each([
    ['SERVICE_TLS_CERT', 'SERVICE_TLS_CERT and SERVICE_TLS_KEY go together'],
    ['SERVICE_TLS_KEY', 'SERVICE_TLS_CERT and SERVICE_TLS_KEY go together'],
    ['SERVICE_ADMIN_USERNAME', 'SERVICE_ADMIN_USERNAME and SERVICE_ADMIN_PASSWORD go together'],
    ['SERVICE_ADMIN_PASSWORD', 'SERVICE_ADMIN_USERNAME and SERVICE_ADMIN_PASSWORD go together'],
    ['SERVICE_ACME_EAB_KEY_ID', 'SERVICE_ACME_EAB_KEY_ID and SERVICE_ACME_EAB_HMAC_KEY go together'],
    ['SERVICE_ACME_EAB_HMAC_KEY', 'SERVICE_ACME_EAB_KEY_ID and SERVICE_ACME_EAB_HMAC_KEY go together'],
  ])('%s alone is refused', (name, said) => {
    expect(faultOf({ [name]: 'a-name-or-password' })).toBe(`${said}; allowed: both or neither`);
  });
});

describe('settings of ACME that do not go together are one line that says what is allowed', () => {
  const acme = { SERVICE_ACME_DOMAINS: 'tidegate.example', SERVICE_ACME_TERMS_AGREED: 'true' };
  test.each<[string, Record<string, string>, string]>([
    [
      'a certificate beside it',
      { ...acme, SERVICE_TLS_CERT: 'c', SERVICE_TLS_KEY: 'k' },
      'SERVICE_ACME_DOMAINS and SERVICE_TLS_CERT are both set; allowed: one of them',
    ],
    [
      'terms that nobody agreed to',
      { SERVICE_ACME_DOMAINS: 'tidegate.example' },
      'SERVICE_ACME_TERMS_AGREED is false; allowed with SERVICE_ACME_DOMAINS: true, if you agree to the terms of service of https://acme-v02.api.letsencrypt.org/directory',
    ],
    ...['SERVICE_ACME_EMAIL', 'SERVICE_ACME_TERMS_AGREED'].map(
      (name): [string, Record<string, string>, string] => [
        `${name} without a name`,
        { [name]: name === 'SERVICE_ACME_EMAIL' ? 'olga@example.org' : 'true' },
        'settings of ACME are set without SERVICE_ACME_DOMAINS; allowed: both or neither',
      ],
    ),
  ])('%s', (_, env, fault) => {
    expect(faultOf(env)).toBe(fault);
  });

  test.each([
    '*.example',
    '192.0.2.1',
    '2001:db8::1',
    'a b',
    'a_b.example',
    '-a.example',
    `${'a'.repeat(64)}.example`,
    'a..b',
  ])('%s is no name that it can get a certificate for', (name) => {
    const allowed = 'at most 100 DNS names separated by commas, without wildcards and addresses';
    expect(faultOf({ ...acme, SERVICE_ACME_DOMAINS: `tidegate.example,${name}` })).toContain(
      `allowed: ${allowed}`,
    );
  });

  test('names are taken in any case', () => {
    const env = { ...acme, SERVICE_ACME_DOMAINS: 'Tidegate.Example, tidegate, 1.b2' };
    expect(settingOf(env, 'acmeDomains')).toEqual(['tidegate.example', 'tidegate', '1.b2']);
  });
});

describe('good values', () => {
  test.each([
    ['SERVICE_PORT', '0', 'port', 0],
    ['SERVICE_SUPPLY_CHAIN_MIN_AGE_HOURS', '1.5', 'minAgeHours', 1.5],
    ['SERVICE_SUPPLY_CHAIN_GATE_ENFORCEMENT', 'block', 'gateEnforcement', 'block'],
    ['SERVICE_ALLOW_PLAIN_HTTP', 'true', 'allowPlainHttp', true],
    ['SERVICE_ALLOW_PLAIN_HTTP', 'false', 'allowPlainHttp', false],
    ['SERVICE_TRUSTED_PROXIES', '10.0.0.0/8, ::1,', 'trustedProxies', ['10.0.0.0/8', '::1']],
    [
      'SERVICE_BACKUP_RECIPIENTS',
      'age1qqqqqqqqqqqq, age1pppppppppppp',
      'backupRecipients',
      ['age1qqqqqqqqqqqq', 'age1pppppppppppp'],
    ],
    ['SERVICE_DATABASE_URL', 'postgresql://u:p@h/db', 'databaseUrl', 'postgresql://u:p@h/db'],
    [
      'SERVICE_DATABASE_URL',
      'postgres://h/db?pgbouncer=true',
      'databaseUrl',
      'postgres://h/db?pgbouncer=true',
    ],
    ['SERVICE_SIGNING_PRIVATE_KEY', ` ${'aB'.repeat(64)}\n`, 'signingPrivateKey', 'aB'.repeat(64)],
    ['SERVICE_MIN_AGENT_VERSION', '1.2.3-rc.1', 'minAgentVersion', '1.2.3-rc.1'],
  ] as const)('%s=%s', (name, given, key, value) => {
    expect(settingOf({ [name]: given }, key)).toEqual(value);
  });
});

describe('NAME_FILE', () => {
  test('contains the value, without its last line end', () => {
    using folder = tmpDir();
    const path = join(folder.path, 'secret');
    writeFileSync(path, `${'s'.repeat(32)}\n`);
    expect(settingOf({ SERVICE_JWT_SECRET_FILE: path }, 'jwtSecret')).toBe('s'.repeat(32));
    writeFileSync(path, 'info\r\n');
    expect(settingOf({ SERVICE_LOG_LEVEL_FILE: path }, 'logLevel')).toBe('info');
    writeFileSync(path, '\n');
    expect(settingOf({ SERVICE_LOG_LEVEL_FILE: path }, 'logLevel')).toBe('info');
  });

  test('a bad value in it names the _FILE variable, and a secret stays hidden', () => {
    using folder = tmpDir();
    const path = join(folder.path, 'secret');
    writeFileSync(path, 'abcdef');
    expect(faultOf({ SERVICE_JWT_SECRET_FILE: path })).toBe(
      'SERVICE_JWT_SECRET_FILE is a hidden value; allowed: text of 32 bytes or more',
    );
  });

  test('that cannot be read names the path', () => {
    expect(faultOf({ SERVICE_JWT_SECRET_FILE: '/nowhere/x' })).toBe(
      'SERVICE_JWT_SECRET_FILE is "/nowhere/x"; allowed: the path of a readable file',
    );
  });

  test('and the variable itself exclude each other', () => {
    expect(faultOf({ SERVICE_PORT: '1', SERVICE_PORT_FILE: '/nowhere/x' })).toBe(
      'SERVICE_PORT and SERVICE_PORT_FILE are both set; allowed: one of them',
    );
  });
});
