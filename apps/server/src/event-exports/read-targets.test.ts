import { createAuthority } from '@tidegate/testkit/certificates';
import { expect, test } from 'vitest';
import { defaultConfig, readConfig } from '../config.ts';
import { readExportTargets } from './read-targets.ts';

test('without settings nothing is exported', () => {
  expect(readExportTargets(defaultConfig())).toEqual({ ok: true, targets: { syslog: null, otlp: null } });
});

test.each([
  ['syslog+tls://logs.example', { host: 'logs.example', port: 6514 }],
  ['syslog+tls://logs.example:1514', { host: 'logs.example', port: 1514 }],
  ['syslog+tls://[::1]:1', { host: '::1', port: 1 }],
])('%s', (syslogUrl, syslog) => {
  const read = readExportTargets(defaultConfig({ syslogUrl }));
  expect(read).toMatchObject({ ok: true, targets: { syslog, otlp: null } });
});

test('headers are decoded, by their names in lower case', () => {
  const otlpLogsHeaders = 'Authorization=Bearer%20a%2Cb=,x-tenant=1';
  const read = readExportTargets(
    defaultConfig({ otlpLogsUrl: 'https://otel.example/v1/logs', otlpLogsHeaders }),
  );
  expect(read).toMatchObject({
    targets: { otlp: { headers: { authorization: 'Bearer a,b=', 'x-tenant': '1' } } },
  });
});

test.each([
  ['SERVICE_SYSLOG_URL', 'tcp://logs.example:514'],
  ['SERVICE_SYSLOG_URL', 'syslog+tls://logs.example/path'],
  ['SERVICE_OTLP_LOGS_URL', 'http://otel.example:4318/v1/logs'],
  ['SERVICE_OTLP_LOGS_URL', 'http://127.0.0.1.example/v1/logs'],
  ['SERVICE_OTLP_LOGS_HEADERS', 'authorization'],
  ['SERVICE_OTLP_LOGS_HEADERS', 'a=%0d%0ab'],
  ['SERVICE_SYSLOG_CERT', 'alone.pem'],
])('%s=%s is refused', (name, value) => {
  const outcome = readConfig({ [name]: value });
  expect(outcome).toMatchObject({ ok: false, fault: expect.stringContaining(name) });
});

test('certificates that cannot be used are named before anything is opened', async () => {
  const given = { syslogUrl: 'syslog+tls://logs.example' };
  const { cert, key } = await (await createAuthority()).issue(['a']);
  const { key: other } = await (await createAuthority()).issue(['a']);
  const faults = [
    readExportTargets(defaultConfig({ ...given, syslogCa: '/no/such/file' })),
    readExportTargets(defaultConfig({ ...given, syslogCa: key })),
    readExportTargets(defaultConfig({ ...given, syslogCert: cert, syslogKey: other })),
  ].map((read) => (read.ok ? '' : read.fault));
  expect(faults).toEqual([
    'SERVICE_SYSLOG_CA: a value that cannot be used (ENOENT); allowed: PEM text, or the path of a readable file with it',
    'SERVICE_SYSLOG_CA: a value that cannot be used (no PEM); allowed: PEM text, or the path of a readable file with it',
    expect.stringMatching(/^SERVICE_SYSLOG_CERT and SERVICE_SYSLOG_KEY: a value that cannot be used \(/),
  ]);
  expect(readExportTargets(defaultConfig({ ...given, syslogCert: cert, syslogKey: key })).ok).toBe(true);
});
