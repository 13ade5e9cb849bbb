import { readFileSync } from 'node:fs';
import { MaxChange } from '@tidegate/protocol/offers';
import { nullable } from '@tidegate/protocol/scalars';
import ipaddr from 'ipaddr.js';
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';

interface Setting<T extends TSchema> {
  env: string;
  doc: string;
  schema: T;
  default: Static<T>;
  /** Never printed. */
  secret?: boolean;
  /** What is allowed, in words, for the error line and the documentation. */
  allowed: string;
  parse: (text: string) => unknown;
}

function setting<T extends TSchema>(s: Setting<T>): Setting<T> {
  return s;
}

const JWT_SECRET_MIN_BYTES = 32;

const text = (s: string) => s;
const number = (s: string) => (/^-?\d+(\.\d+)?$/.test(s.trim()) ? Number(s) : s);
const flag = (s: string) => (s === 'true' || s === 'false' ? s === 'true' : s);
const list = (s: string) =>
  s
    .split(',')
    .map((item) => item.trim())
    .filter((item) => item !== '');
/** The list, or `false` when an entry is no address and no range. */
const ranges = (s: string) => {
  const given = list(s);
  return given.every((range) => ipaddr.isValid(range) || ipaddr.isValidCIDR(range)) && given;
};
/** DNS has no case. */
const names = (s: string) => list(s).map((name) => name.toLowerCase());
const DNS_LABEL = '[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?';
/** The last label has a letter: an address has none. */
const DNS_NAME = `^(?=.{1,253}$)(${DNS_LABEL}\\.)*(?![0-9]+$)${DNS_LABEL}$`;
const HEADER = '[A-Za-z0-9-]{1,64}=([!-$&-+.-~-]|%[2-7][0-9A-Fa-f]){1,2048}';
const secretText = (s: string) => Buffer.byteLength(s) >= JWT_SECRET_MIN_BYTES && s;
const HttpUrl = Type.String({ pattern: '^https?://[^\\s]+$' });

/** Every SERVICE_* variable; docs/configuration.md is generated from this table. */
export const SETTINGS = {
  host: setting({
    env: 'SERVICE_HOST',
    doc: 'Address to listen on; localhost takes both loopback addresses, 0.0.0.0 every IPv4 address. An address that other machines reach requires TLS, a trusted proxy or SERVICE_ALLOW_PLAIN_HTTP.',
    schema: Type.String({ minLength: 1 }),
    default: 'localhost',
    allowed: 'an address or host name',
    parse: text,
  }),
  port: setting({
    env: 'SERVICE_PORT',
    doc: 'Port to listen on; 0 takes any free one.',
    schema: Type.Integer({ minimum: 0, maximum: 65_535 }),
    default: 8080,
    allowed: 'a whole number from 0 to 65535',
    parse: number,
  }),
  baseUrl: setting({
    env: 'SERVICE_BASE_URL',
    doc: 'How agents and operators reach this server; used in links, and the name that passkeys are bound to.',
    schema: nullable(HttpUrl),
    default: null,
    allowed: 'an http:// or https:// URL',
    parse: text,
  }),
  dataDir: setting({
    env: 'SERVICE_DATA_DIR',
    doc: 'Folder for the embedded database, keys and secrets.',
    schema: Type.String({ minLength: 1 }),
    default: './data',
    allowed: 'a path',
    parse: text,
  }),
  consoleDir: setting({
    env: 'SERVICE_CONSOLE_DIR',
    doc: 'Folder of another build of the console; empty means the one that comes with the program.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    allowed: 'empty, or a path',
    parse: text,
  }),
  agentsDir: setting({
    env: 'SERVICE_AGENTS_DIR',
    doc: 'Folder with the packages of the agent that hosts download from this server, and their SHA256SUMS; empty means /usr/share/tidegate/agents, and dist/agents in the repository. Without the folder the server offers none.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    allowed: 'empty, or a path',
    parse: text,
  }),
  databaseUrl: setting({
    env: 'SERVICE_DATABASE_URL',
    doc: 'PostgreSQL to use; empty means SQLite in the data folder. `pgbouncer=true` among its parameters: through a pooler that works by transaction.',
    schema: nullable(Type.String({ pattern: '^postgres(ql)?://(?!.*[?&]pgbouncer=(?!(true|false)(&|$)))' })),
    default: null,
    secret: true,
    allowed: 'empty, or a postgres:// URL; if it has the parameter pgbouncer, that is true or false',
    parse: text,
  }),
  signingPrivateKey: setting({
    env: 'SERVICE_SIGNING_PRIVATE_KEY',
    doc: 'Ed25519 key for commands and approvals: 64 bytes as hex, seed then public half. Created in the data folder when absent.',
    schema: nullable(Type.String({ pattern: '^[0-9a-fA-F]{128}$' })),
    default: null,
    secret: true,
    allowed: '128 hex digits (seed then public half)',
    parse: (s) => s.trim(),
  }),
  signingPreviousPrivateKey: setting({
    env: 'SERVICE_SIGNING_PREVIOUS_PRIVATE_KEY',
    doc: 'The old signing key, needed to vouch for a new one when the data folder does not hold it.',
    schema: nullable(Type.String({ pattern: '^[0-9a-fA-F]{128}$' })),
    default: null,
    secret: true,
    allowed: '128 hex digits (seed then public half)',
    parse: (s) => s.trim(),
  }),
  jwtSecret: setting({
    env: 'SERVICE_JWT_SECRET',
    doc: 'Secret that access tokens are derived from. Created in the data folder when absent.',
    schema: nullable(Type.String()),
    default: null,
    secret: true,
    allowed: 'text of 32 bytes or more',
    parse: secretText,
  }),
  adminUsername: setting({
    env: 'SERVICE_ADMIN_USERNAME',
    doc: 'Creates the first operator without the link, together with the password; ignored once one exists.',
    schema: nullable(Type.String({ pattern: '^[A-Za-z0-9._@-]{1,64}$' })),
    default: null,
    allowed: '1 to 64 letters, digits and . _ @ -',
    parse: text,
  }),
  adminPassword: setting({
    env: 'SERVICE_ADMIN_PASSWORD',
    doc: 'Password of the first operator.',
    schema: nullable(Type.String({ minLength: 15, maxLength: 256 })),
    default: null,
    secret: true,
    allowed: '15 to 256 characters',
    parse: text,
  }),
  secondFactor: setting({
    env: 'SERVICE_SECOND_FACTOR',
    doc: 'Who must have a second factor: nobody (optional), admins, or everyone. After the grace period, an operator without one can only enrol one.',
    schema: Type.Enum(['optional', 'admins', 'everyone']),
    default: 'optional',
    allowed: 'optional, admins or everyone',
    parse: text,
  }),
  secondFactorGraceDays: setting({
    env: 'SERVICE_SECOND_FACTOR_GRACE_DAYS',
    doc: 'Grace period in days to enrol a second factor, from the first login that requires one.',
    schema: Type.Integer({ minimum: 0, maximum: 90 }),
    default: 7,
    allowed: 'a whole number of days from 0 to 90',
    parse: number,
  }),
  sessionIdleMinutes: setting({
    env: 'SERVICE_SESSION_IDLE_MINUTES',
    doc: "Minutes without activity after which an operator's session ends; it always ends after eight hours.",
    schema: Type.Integer({ minimum: 1, maximum: 480 }),
    default: 30,
    allowed: 'a whole number of minutes from 1 to 480',
    parse: number,
  }),
  gateEnforcement: setting({
    env: 'SERVICE_SUPPLY_CHAIN_GATE_ENFORCEMENT',
    doc: 'Package age gate: block stops an approval, warn only informs, off ignores ages.',
    schema: Type.Enum(['warn', 'block', 'off']),
    default: 'warn',
    allowed: 'warn, block or off',
    parse: text,
  }),
  minAgeHours: setting({
    env: 'SERVICE_SUPPLY_CHAIN_MIN_AGE_HOURS',
    doc: 'Minimum age that passes the age gate, in hours.',
    schema: Type.Number({ minimum: 0, maximum: 87_600 }),
    default: 72,
    allowed: 'a number of hours from 0 to 87600',
    parse: number,
  }),
  vulnerabilityPolicy: setting({
    env: 'SERVICE_SUPPLY_CHAIN_VULNERABILITY_POLICY',
    doc: 'any: every known vulnerability in what would be installed stops an update. introduced: only those that the host does not have already. Malicious packages always stop. Set here, it cannot be changed in the console; unset, an admin chooses under Settings, and it is any until then.',
    schema: nullable(Type.Enum(['any', 'introduced'])),
    default: null,
    allowed: 'any or introduced',
    parse: text,
  }),
  uncovered: setting({
    env: 'SERVICE_SUPPLY_CHAIN_UNCOVERED',
    doc: "Outcome of an approval for apt and dnf when no database covers the host's distribution.",
    schema: Type.Enum(['block', 'warn']),
    default: 'block',
    allowed: 'block or warn',
    parse: text,
  }),
  unimportant: setting({
    env: 'SERVICE_SUPPLY_CHAIN_UNIMPORTANT',
    doc: 'pass: a vulnerability that Debian itself calls unimportant is listed and does not stop. block: it stops like any other. Malicious packages and vulnerabilities known to be exploited always stop.',
    schema: Type.Enum(['pass', 'block']),
    default: 'pass',
    allowed: 'pass or block',
    parse: text,
  }),
  unchecked: setting({
    env: 'SERVICE_SUPPLY_CHAIN_UNCHECKED',
    doc: 'Outcome of an approval whose packages could not all be checked for known vulnerabilities. warn: npm and PyPI pass with a warning, apt and dnf are blocked. block: all package managers are blocked, also where SERVICE_SUPPLY_CHAIN_UNCOVERED would warn.',
    schema: Type.Enum(['warn', 'block']),
    default: 'warn',
    allowed: 'warn or block',
    parse: text,
  }),
  maxChange: setting({
    env: 'SERVICE_MAX_CHANGE',
    doc: 'npm and PyPI: the greatest change of a version that is recommended. Lists and counts have the recommended version of each package; the others are offered beside it. Below 1.0 the second number counts as the major one.',
    schema: MaxChange,
    default: 'any',
    allowed: 'patch, minor or any',
    parse: text,
  }),
  drainSeconds: setting({
    env: 'SERVICE_DRAIN_SECONDS',
    doc: 'How long a server that is asked to stop goes on serving while GET /api/ready is 503, so that a balancer sends requests to another one; 0 where there is no other.',
    schema: Type.Integer({ minimum: 0, maximum: 40 }),
    default: 0,
    allowed: 'a whole number of seconds from 0 to 40',
    parse: number,
  }),
  sweepIntervalSeconds: setting({
    env: 'SERVICE_SWEEP_INTERVAL_SECONDS',
    doc: 'Interval at which approvals that wait for a plan are checked. Below 30 seconds it is also that at which new updates get their verdict and their smallest fix, below 15 that of the queue of reboots.',
    schema: Type.Integer({ minimum: 1, maximum: 86_400 }),
    default: 60,
    allowed: 'a whole number of seconds from 1 to 86400',
    parse: number,
  }),
  advisorySource: setting({
    env: 'SERVICE_ADVISORY_SOURCE',
    doc: 'Where vulnerabilities come from.',
    schema: Type.Enum(['mirror+api', 'mirror', 'api', 'off']),
    default: 'mirror+api',
    allowed: 'mirror+api, mirror, api or off',
    parse: text,
  }),
  advisoryApiUrl: setting({
    env: 'SERVICE_ADVISORY_API_URL',
    doc: 'OSV API.',
    schema: HttpUrl,
    default: 'https://api.osv.dev',
    allowed: 'an http:// or https:// URL',
    parse: text,
  }),
  advisoryExportUrl: setting({
    env: 'SERVICE_ADVISORY_EXPORT_URL',
    doc: "OSV's exports, the source of the mirror: a folder per ecosystem with all.zip and modified_id.csv. With `none` the mirror is loaded only from files (`tidegate advisories import`).",
    schema: Type.Union([Type.Literal('none'), HttpUrl]),
    default: 'https://storage.googleapis.com/osv-vulnerabilities',
    allowed: 'none, or an http:// or https:// URL',
    parse: text,
  }),
  kevUrl: setting({
    env: 'SERVICE_KEV_URL',
    doc: "CISA's list of exploited vulnerabilities, as JSON; empty disables it. It orders the queue and relaxes no rule. While it is disabled, was not fetched for 7 days, or was released more than 30 days ago, nothing is known not to be exploited; what it named still counts as exploited.",
    schema: nullable(HttpUrl),
    default: null,
    allowed: 'empty, or an http:// or https:// URL',
    parse: text,
  }),
  epssUrl: setting({
    env: 'SERVICE_EPSS_URL',
    doc: 'EPSS scores as CSV, gzip or plain; empty disables them. They order the queue and relax no rule. Scores of more than 7 days ago by their own score_date, or without one, are not known.',
    schema: nullable(HttpUrl),
    default: null,
    allowed: 'empty, or an http:// or https:// URL',
    parse: text,
  }),
  npmRegistryUrl: setting({
    env: 'SERVICE_NPM_REGISTRY_URL',
    doc: 'npm registry for release times and provenance.',
    schema: HttpUrl,
    default: 'https://registry.npmjs.org',
    allowed: 'an http:// or https:// URL',
    parse: text,
  }),
  pypiUrl: setting({
    env: 'SERVICE_PYPI_URL',
    doc: 'Python package index for release times and provenance.',
    schema: HttpUrl,
    default: 'https://pypi.org',
    allowed: 'an http:// or https:// URL',
    parse: text,
  }),
  sigstoreTrustedRoot: setting({
    env: 'SERVICE_SIGSTORE_TRUSTED_ROOT',
    doc: 'File with a sigstore trusted root as JSON, for verifying provenance; when empty, provenance is shown as not verified.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    allowed: 'empty, or the path of a JSON file',
    parse: text,
  }),
  advisoryMaxAgeHours: setting({
    env: 'SERVICE_ADVISORY_MAX_AGE_HOURS',
    doc: 'Maximum age of a vulnerability answer that a decision may rest on, in hours.',
    schema: Type.Number({ minimum: 0.001, maximum: 8_760 }),
    default: 24,
    allowed: 'a number of hours from 0.001 to 8760',
    parse: number,
  }),
  eventsRetentionDays: setting({
    env: 'SERVICE_EVENTS_RETENTION_DAYS',
    doc: 'Events older than this many days are pruned, up to a signed checkpoint; empty keeps them forever.',
    schema: nullable(Type.Integer({ minimum: 30, maximum: 3_650 })),
    default: null,
    allowed: 'empty, or a whole number of days from 30 to 3650',
    parse: number,
  }),
  minAgentVersion: setting({
    env: 'SERVICE_MIN_AGENT_VERSION',
    doc: 'Agents below this version are offered only their own update, and cannot enrol (426).',
    schema: nullable(Type.String({ pattern: '^\\d+\\.\\d+\\.\\d+([-+][0-9A-Za-z.-]+)?$' })),
    default: null,
    allowed: 'a version such as 1.2.3',
    parse: text,
  }),
  tlsCert: setting({
    env: 'SERVICE_TLS_CERT',
    doc: 'Certificate chain in PEM: the text, or the path of a file, which is read again when it changes. Requires SERVICE_TLS_KEY.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    allowed: 'PEM text or a path',
    parse: text,
  }),
  tlsKey: setting({
    env: 'SERVICE_TLS_KEY',
    doc: 'Private key of the certificate in PEM: the text, or the path of a file.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    secret: true,
    allowed: 'PEM text or a path',
    parse: text,
  }),
  tlsCaCert: setting({
    env: 'SERVICE_TLS_CA_CERT',
    doc: 'Certificate of the private CA that the certificate of this server, or of the proxy in front of it, is of, in PEM: the text, or the path of a file, read at start. Hosts that join trust it by its fingerprint. Empty: a self-signed certificate at the end of SERVICE_TLS_CERT, if there is one; otherwise hosts trust public CAs.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    allowed: 'empty, PEM text or a path',
    parse: text,
  }),
  acmeDomains: setting({
    env: 'SERVICE_ACME_DOMAINS',
    doc: 'DNS names of this server, separated by commas, for which it gets and renews a certificate by ACME. The first is where plain HTTP is redirected to without SERVICE_BASE_URL. Requires SERVICE_ACME_TERMS_AGREED=true.',
    schema: Type.Array(Type.String({ pattern: DNS_NAME }), { maxItems: 100 }),
    default: [],
    allowed: 'at most 100 DNS names separated by commas, without wildcards and addresses',
    parse: names,
  }),
  acmeTermsAgreed: setting({
    env: 'SERVICE_ACME_TERMS_AGREED',
    doc: 'true: you agree to the terms of service of the certificate authority of SERVICE_ACME_DIRECTORY_URL.',
    schema: Type.Boolean(),
    default: false,
    allowed: 'true or false',
    parse: flag,
  }),
  acmeEmail: setting({
    env: 'SERVICE_ACME_EMAIL',
    doc: 'Address that the certificate authority may write to.',
    schema: nullable(Type.String({ pattern: '^[^\\s@,?]{1,64}@[^\\s@,?]{1,190}$' })),
    default: null,
    allowed: 'empty, or one e-mail address',
    parse: text,
  }),
  acmeDirectoryUrl: setting({
    env: 'SERVICE_ACME_DIRECTORY_URL',
    doc: "Directory of the certificate authority's ACME server (RFC 8555).",
    schema: Type.String({ pattern: '^https://[^\\s]+$' }),
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    allowed: 'an https:// URL',
    parse: text,
  }),
  acmeCaCert: setting({
    env: 'SERVICE_ACME_CA_CERT',
    doc: 'Certificate that a private ACME server is trusted by, in PEM: the text, or the path of a file. Empty: the public ones.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    allowed: 'empty, PEM text or a path',
    parse: text,
  }),
  acmeChallenge: setting({
    env: 'SERVICE_ACME_CHALLENGE',
    doc: 'How the certificate authority checks the names: http-01 asks port 80 of each, which must reach SERVICE_ACME_HTTP_PORT; tls-alpn-01 asks port 443 of each, which must reach SERVICE_PORT without a proxy that terminates TLS.',
    schema: Type.Enum(['http-01', 'tls-alpn-01']),
    default: 'http-01',
    allowed: 'http-01 or tls-alpn-01',
    parse: text,
  }),
  acmeHttpPort: setting({
    env: 'SERVICE_ACME_HTTP_PORT',
    doc: 'Port for http-01, on SERVICE_HOST. It answers challenges, and redirects browsers to https.',
    schema: Type.Integer({ minimum: 0, maximum: 65_535 }),
    default: 80,
    allowed: 'a whole number from 0 to 65535',
    parse: number,
  }),
  acmeEabKeyId: setting({
    env: 'SERVICE_ACME_EAB_KEY_ID',
    doc: 'Key id of the external account binding, for certificate authorities that require one. Requires SERVICE_ACME_EAB_HMAC_KEY.',
    schema: nullable(Type.String({ minLength: 1, maxLength: 1_024 })),
    default: null,
    allowed: 'empty, or at most 1024 characters',
    parse: text,
  }),
  acmeEabHmacKey: setting({
    env: 'SERVICE_ACME_EAB_HMAC_KEY',
    doc: 'Key of the external account binding, in base64url.',
    schema: nullable(Type.String({ pattern: '^[A-Za-z0-9_-]{16,1024}$' })),
    default: null,
    secret: true,
    allowed: 'empty, or 16 to 1024 characters of base64url',
    parse: text,
  }),
  hstsMaxAgeSeconds: setting({
    env: 'SERVICE_HSTS_MAX_AGE_SECONDS',
    doc: 'How long browsers that reached this server by https use only https for its name (Strict-Transport-Security), in seconds. 0 makes them forget it.',
    schema: Type.Integer({ minimum: 0, maximum: 63_072_000 }),
    default: 31_536_000,
    allowed: 'a whole number of seconds from 0 to 63072000',
    parse: number,
  }),
  refreshFamilyMaxDays: setting({
    env: 'SERVICE_REFRESH_FAMILY_MAX_DAYS',
    doc: 'Age in days at which a host must enrol again, however often it renewed its token; empty means never.',
    schema: nullable(Type.Integer({ minimum: 1, maximum: 3_650 })),
    default: null,
    allowed: 'empty, or a whole number of days from 1 to 3650',
    parse: number,
  }),
  allowPlainHttp: setting({
    env: 'SERVICE_ALLOW_PLAIN_HTTP',
    doc: 'true: allows other machines to connect without TLS and without a trusted proxy. Passwords and tokens then cross the network unencrypted.',
    schema: Type.Boolean(),
    default: false,
    allowed: 'true or false',
    parse: flag,
  }),
  backupRecipients: setting({
    env: 'SERVICE_BACKUP_RECIPIENTS',
    doc: 'age public keys (`age1…`), separated by commas, to which every `tidegate backup` is encrypted.',
    schema: Type.Array(Type.String({ pattern: '^age1[0-9a-z]{10,4000}$' }), { maxItems: 16 }),
    default: [],
    allowed: 'public keys of age (age1…) separated by commas',
    parse: list,
  }),
  backupBeforeUpgrade: setting({
    env: 'SERVICE_BACKUP_BEFORE_UPGRADE',
    doc: 'true: a new release backs the database up before it changes its tables, into the folder "backups" of the data folder, and does not start if it cannot.',
    schema: Type.Boolean(),
    default: true,
    allowed: 'true or false',
    parse: flag,
  }),
  agentCacheMb: setting({
    env: 'SERVICE_AGENT_CACHE_MB',
    doc: 'Megabytes that the server, and each of its workers, may use to remember what check-ins have shown: verified tokens and last addresses. It takes about 150 bytes for each agent, when needed. A fleet beyond it is served too, and each check-in that is not remembered costs about twice the CPU.',
    schema: Type.Integer({ minimum: 1, maximum: 4_096 }),
    default: 72,
    allowed: 'a whole number from 1 to 4096',
    parse: number,
  }),
  workers: setting({
    env: 'SERVICE_WORKERS',
    doc: 'Processes that answer on the port, so that more than one core is used: the server itself, and for each further one a worker beside it. Workers speak TLS, answer check-ins without news and pass all other requests to the server, which alone writes. More than the machine has cores gains nothing. With SERVICE_ACME_CHALLENGE=tls-alpn-01 only 1 is possible.',
    schema: Type.Integer({ minimum: 1, maximum: 64 }),
    default: 1,
    allowed: 'a whole number from 1 to 64',
    parse: number,
  }),
  trustedProxies: setting({
    env: 'SERVICE_TRUSTED_PROXIES',
    doc: 'Addresses or CIDR ranges, separated by commas, whose X-Forwarded-For is trusted.',
    schema: Type.Array(Type.String(), { maxItems: 64 }),
    default: [],
    allowed: 'addresses or CIDR ranges separated by commas',
    parse: ranges,
  }),
  privateDestinations: setting({
    env: 'SERVICE_PRIVATE_DESTINATIONS',
    doc: 'Addresses or CIDR ranges of your own networks, separated by commas, in which servers that operators enter in the console may be: mail servers, webhooks, identity providers. Public addresses are always allowed; 127.0.0.1 and cloud metadata are reachable only if they are in this list.',
    schema: Type.Array(Type.String(), { maxItems: 64 }),
    default: [],
    allowed: 'addresses or CIDR ranges separated by commas',
    parse: ranges,
  }),
  metricsToken: setting({
    env: 'SERVICE_METRICS_TOKEN',
    doc: 'Bearer token with which Prometheus reads /metrics; empty: there are no metrics, and nothing is counted for them.',
    schema: nullable(Type.String({ pattern: '^[\\x21-\\x7e]{32,512}$' })),
    default: null,
    secret: true,
    allowed: 'empty, or 32 to 512 printable ASCII characters without spaces',
    parse: text,
  }),
  syslogUrl: setting({
    env: 'SERVICE_SYSLOG_URL',
    doc: 'Syslog receiver to which every event is sent as RFC 5424 over TLS, such as syslog+tls://logs.example:6514; empty: none.',
    schema: nullable(Type.String({ pattern: '^syslog\\+tls://[^/?#@\\s]+$' })),
    default: null,
    allowed: 'empty, or syslog+tls://HOST:PORT',
    parse: text,
  }),
  syslogCa: setting({
    env: 'SERVICE_SYSLOG_CA',
    doc: 'Certificate that the receiver of SERVICE_SYSLOG_URL is trusted by, in PEM: the text, or the path of a file. Empty: the public ones.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    allowed: 'empty, PEM text or a path',
    parse: text,
  }),
  syslogCert: setting({
    env: 'SERVICE_SYSLOG_CERT',
    doc: 'Certificate of this server for the receiver of SERVICE_SYSLOG_URL, in PEM: the text, or the path of a file. Requires SERVICE_SYSLOG_KEY.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    allowed: 'empty, PEM text or a path',
    parse: text,
  }),
  syslogKey: setting({
    env: 'SERVICE_SYSLOG_KEY',
    doc: 'Private key of SERVICE_SYSLOG_CERT in PEM: the text, or the path of a file.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    secret: true,
    allowed: 'empty, PEM text or a path',
    parse: text,
  }),
  otlpLogsUrl: setting({
    env: 'SERVICE_OTLP_LOGS_URL',
    doc: 'OpenTelemetry collector to which every event is sent as a log record by OTLP/HTTP, such as https://otel.example:4318/v1/logs; empty: none. http:// only to a loopback address.',
    schema: nullable(
      Type.String({ pattern: '^(https://|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])[:/])[^\\s]+$' }),
    ),
    default: null,
    allowed: 'empty, an https:// URL, or an http:// URL of a loopback address',
    parse: text,
  }),
  otlpLogsCa: setting({
    env: 'SERVICE_OTLP_LOGS_CA',
    doc: 'Certificate that the collector of SERVICE_OTLP_LOGS_URL is trusted by, in PEM: the text, or the path of a file. Empty: the public ones.',
    schema: nullable(Type.String({ minLength: 1 })),
    default: null,
    allowed: 'empty, PEM text or a path',
    parse: text,
  }),
  otlpLogsHeaders: setting({
    env: 'SERVICE_OTLP_LOGS_HEADERS',
    doc: 'Headers for the collector, such as authorization=Bearer%20TOKEN, separated by commas; values are percent-encoded.',
    schema: nullable(Type.String({ pattern: `^${HEADER}(,${HEADER}){0,15}$` })),
    default: null,
    secret: true,
    allowed: 'empty, or at most 16 NAME=VALUE separated by commas, with percent-encoded ASCII values',
    parse: text,
  }),
  logLevel: setting({
    env: 'SERVICE_LOG_LEVEL',
    doc: 'Lowest level that is logged; security lines are always logged.',
    schema: Type.Enum(['debug', 'info', 'warn', 'error']),
    default: 'info',
    allowed: 'debug, info, warn or error',
    parse: text,
  }),
  logSlowQueryMs: setting({
    env: 'SERVICE_LOG_SLOW_QUERY_MS',
    doc: 'Statements that take at least so many milliseconds are logged, with their waits and without values; 0 logs none.',
    schema: Type.Integer({ minimum: 0, maximum: 3_600_000 }),
    default: 1_000,
    allowed: 'a whole number of milliseconds from 0 to 3600000',
    parse: number,
  }),
  logSlowRequestMs: setting({
    env: 'SERVICE_LOG_SLOW_REQUEST_MS',
    doc: 'Requests that take at least so many milliseconds, the network of the client included, are logged with the pattern of their route; 0 logs none. Streams never count.',
    schema: Type.Integer({ minimum: 0, maximum: 3_600_000 }),
    default: 5_000,
    allowed: 'a whole number of milliseconds from 0 to 3600000',
    parse: number,
  }),
  logFormat: setting({
    env: 'SERVICE_LOG_FORMAT',
    doc: 'text: lines as in the specification. json: one object per line with the same text in msg.',
    schema: Type.Enum(['text', 'json']),
    default: 'text',
    allowed: 'text or json',
    parse: text,
  }),
};

type Settings = typeof SETTINGS;
export type Config = { readonly [K in keyof Settings]: Static<Settings[K]['schema']> };

export type ConfigOutcome = { ok: true; config: Config } | { ok: false; fault: string };

/**
 * Reads every setting from the environment; `NAME_FILE` names a file with the value. An empty value counts as absent. A
 * fault is one line with the setting, the given value (secrets hidden) and what is allowed.
 */
export function readConfig(env: Readonly<Record<string, string | undefined>>): ConfigOutcome {
  const values: Record<string, unknown> = {};
  for (const [name, s] of Object.entries(SETTINGS)) {
    const given = read(env, s.env);
    if (!given.ok) return given;
    if (given.text === null) {
      values[name] = s.default;
      continue;
    }
    const value: unknown = s.parse(given.text);
    if (!Value.Check(s.schema, value)) {
      const shown = s.secret ? 'a hidden value' : JSON.stringify(given.text.slice(0, 100));
      return { ok: false, fault: `${given.from} is ${shown}; allowed: ${s.allowed}` };
    }
    values[name] = value;
  }
  if (!isConfig(values)) return { ok: false, fault: 'the default settings are not valid' };
  return consistent(values);
}

type Given = { ok: true; text: string | null; from: string } | { ok: false; fault: string };

function read(env: Readonly<Record<string, string | undefined>>, name: string): Given {
  const direct = env[name];
  const file = env[`${name}_FILE`];
  if (direct && file)
    return { ok: false, fault: `${name} and ${name}_FILE are both set; allowed: one of them` };
  if (!file) return { ok: true, text: direct || null, from: name };
  try {
    return { ok: true, text: readFileSync(file, 'utf8').replace(/\r?\n$/, '') || null, from: `${name}_FILE` };
  } catch {
    return {
      ok: false,
      fault: `${name}_FILE is ${JSON.stringify(file)}; allowed: the path of a readable file`,
    };
  }
}

function isConfig(values: Record<string, unknown>): values is Config {
  return Object.entries(SETTINGS).every(([name, s]) => Value.Check(s.schema, values[name]));
}

function consistent(config: Config): ConfigOutcome {
  const fault = pairFault(config) ?? acmeFault(config) ?? workersFault(config);
  return fault === null ? { ok: true, config } : { ok: false, fault };
}

/** Settings that are nothing without each other. */
const PAIRS = [
  ['tlsCert', 'tlsKey'],
  ['adminUsername', 'adminPassword'],
  ['acmeEabKeyId', 'acmeEabHmacKey'],
  ['syslogCert', 'syslogKey'],
] as const;

function pairFault(config: Config): string | null {
  const half = PAIRS.find(([one, other]) => (config[one] === null) !== (config[other] === null));
  if (!half) return null;
  const [one, other] = half;
  return `${SETTINGS[one].env} and ${SETTINGS[other].env} go together; allowed: both or neither`;
}

function acmeFault(config: Config): string | null {
  const { acmeDomains, acmeTermsAgreed, acmeEmail, acmeEabKeyId, acmeDirectoryUrl, tlsCert } = config;
  if (acmeDomains.length === 0) {
    const given = acmeTermsAgreed || acmeEmail !== null || acmeEabKeyId !== null;
    return given ? 'settings of ACME are set without SERVICE_ACME_DOMAINS; allowed: both or neither' : null;
  }
  if (tlsCert !== null) {
    return 'SERVICE_ACME_DOMAINS and SERVICE_TLS_CERT are both set; allowed: one of them';
  }
  if (!acmeTermsAgreed) {
    return `SERVICE_ACME_TERMS_AGREED is false; allowed with SERVICE_ACME_DOMAINS: true, if you agree to the terms of service of ${acmeDirectoryUrl}`;
  }
  return null;
}

/** The certificate authority's connection would reach any of the processes, and only the server has the answer. */
function workersFault({ workers, acmeDomains, acmeChallenge }: Config): string | null {
  if (workers === 1 || acmeDomains.length === 0 || acmeChallenge !== 'tls-alpn-01') return null;
  return `SERVICE_WORKERS is ${workers}; allowed: 1, because SERVICE_ACME_CHALLENGE is tls-alpn-01`;
}

/** Default settings for tests and embedding; the given values are not validated. */
export function defaultConfig(values: Partial<Config> = {}): Config {
  const outcome = readConfig({});
  if (!outcome.ok) throw new Error(outcome.fault);
  return { ...outcome.config, ...values };
}
