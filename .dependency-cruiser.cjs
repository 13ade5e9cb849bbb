// The import rules of the house. Each has a fixture in scripts/import-fixtures.ts that breaks it: a rule that
// nothing can break is not a rule. Paths match anywhere, so that a fixture is a small house of its own.

/** Slices of the server in the order data meets them: a slice imports only slices that stand before it. */
const SLICES = [
  'tls',
  'events',
  'event-exports',
  'outsiders',
  'rate-limits',
  'agent-packages',
  'agent-credentials',
  'installed',
  'vulnerability-index',
  'agents',
  'windows',
  'blackouts',
  'holds',
  'signing-keys',
  'enrolment',
  'release-times',
  'artifacts',
  'updates',
  'approval-tokens',
  'reboot-slots',
  'commands',
  'probes',
  'reboots',
  'fleet-lock',
  'inventory',
  'package-history',
  'advisories',
  'origins',
  'vex',
  'policies',
  'rollouts',
  'provenance',
  'check-in',
  'approvals',
  'operators',
  'api-tokens',
  'identity-providers',
  'policy-runs',
  'unfixed',
  'vulnerabilities',
  'sboms',
  'withheld',
  'host-faults',
  'rollbacks',
  'rollout-runs',
  'progress',
  'restore',
  'evidence',
  'stream',
  'overview',
  'calendar',
  'notifications',
  'health',
  'metrics',
  'client-errors',
  'views',
  'openapi',
  'console',
  'workers',
];
/** Rooms of the agent that know neither commands nor the executor. */
const BELOW_COMMANDS = [
  'inventory',
  'restarts',
  'probes',
  'output',
  'jobs',
  'session',
  'host-policy',
  'trust',
  'journal',
  'identity',
  'ecosystems',
  'platform',
];
/** Rooms of the agent from the lowest up, each with the rooms that it imports (decision 0029). */
const AGENT_ROOMS = {
  platform: [],
  ecosystems: ['platform'],
  identity: ['ecosystems', 'platform'],
  journal: ['identity', 'platform'],
  trust: ['identity', 'platform'],
  'host-policy': ['trust', 'identity', 'platform'],
  session: ['trust', 'journal', 'identity', 'platform'],
  probes: ['host-policy', 'platform'],
  hooks: ['probes', 'host-policy', 'platform'],
  jobs: ['probes', 'trust', 'identity', 'ecosystems', 'platform'],
  // Root without network: neither the session nor anything that uses it.
  executor: [
    'reboots',
    'restarts',
    'hooks',
    'probes',
    'jobs',
    'host-policy',
    'trust',
    'journal',
    'identity',
    'ecosystems',
    'platform',
  ],
  // Root's observer is here too: no session.
  restarts: ['identity', 'ecosystems', 'platform'],
  // What root sees and does of the running host.
  reboots: ['restarts', 'host-policy', 'identity', 'ecosystems', 'platform'],
  output: ['jobs', 'session', 'identity', 'platform'],
  inventory: ['session', 'restarts', 'probes', 'ecosystems', 'platform'],
  // The agent leaves jobs for the executor and never runs its code.
  commands: BELOW_COMMANDS,
  polling: ['commands', ...BELOW_COMMANDS],
  // What doctor and preflight share.
  checks: ['session', 'probes', 'jobs', 'identity', 'ecosystems', 'platform'],
  enrolment: ['jobs', 'session', 'trust', 'journal', 'identity', 'platform'],
};
const TESTS = String.raw`\.test\.ts$|/testing/`;
const PURE_CLOCKLESS = 'packages/(protocol|versions|capability|command-line)/src/';

const sliceRules = SLICES.map((slice, i) => ({
  name: `slice-order-${slice}`,
  comment: 'A slice imports platform, packages and the slices before it.',
  severity: 'error',
  from: { path: `(^|/)apps/server/src/${slice}/`, pathNot: TESTS },
  to: {
    path: `(^|/)apps/server/src/(${SLICES.slice(i + 1).join('|') || 'none'}|app\\.ts|main\\.ts|start\\.ts)`,
  },
}));

const roomRules = Object.entries(AGENT_ROOMS).map(([room, below]) => ({
  name: `agent-room-${room}`,
  comment: 'A room of the agent imports packages, itself and the rooms named above.',
  severity: 'error',
  from: { path: `(^|/)apps/agent/src/${room}/`, pathNot: TESTS },
  to: { path: '(^|/)apps/agent/src/', pathNot: `(^|/)apps/agent/src/(${[room, ...below].join('|')})/` },
}));

module.exports = {
  forbidden: [
    {
      name: 'no-cycles',
      comment: 'Also of types alone: whoever reads one file of a circle has to read the others.',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    {
      name: 'no-unresolved',
      comment: 'An import that does not resolve is an import that no rule has judged.',
      severity: 'error',
      from: {},
      to: { couldNotResolve: true, pathNot: '^(bun:)?ffi$' },
    },
    {
      name: 'apps-never-import-another-app',
      severity: 'error',
      from: { path: '(^|/)apps/([^/]+)/' },
      to: { path: '(^|/)apps/[^/]+/', pathNot: '(^|/)apps/$2/' },
    },
    {
      name: 'packages-never-import-apps',
      severity: 'error',
      from: { path: '(^|/)packages/' },
      to: { path: '(^|/)apps/' },
    },
    {
      name: 'agent-never-signs',
      comment: 'The agent has no business with private keys.',
      severity: 'error',
      from: { path: '(^|/)apps/agent/src/', pathNot: TESTS },
      to: { path: '(^|/)packages/signing/src/sign\\.ts$' },
    },
    {
      name: 'verify-never-depends-on-sign',
      severity: 'error',
      from: { path: '(^|/)packages/signing/src/verify\\.ts$' },
      to: { path: '(^|/)packages/signing/src/sign\\.ts$', reachable: true },
    },
    {
      name: 'packages-import-only-their-own',
      comment:
        'protocol, signing, versions, capability, command-line, support and client stand on their own; only testkit may use the others.',
      severity: 'error',
      from: {
        path: '(^|/)packages/(protocol|signing|versions|capability|command-line|support|client)/src/',
        pathNot: TESTS,
      },
      to: { path: '(^|/)packages/', pathNot: '(^|/)packages/$2/' },
    },
    {
      name: 'pure-code-does-no-io',
      comment: 'Rules and libraries decide from plain data: no node: module but what hashing needs.',
      severity: 'error',
      from: {
        path: `(^|/)(${PURE_CLOCKLESS}|apps/[^/]+/src/.*(gate|-rules)\\.ts$)`,
        pathNot: `${TESTS}|/cli\\.ts$`,
      },
      to: { dependencyTypes: ['core'] },
    },
    {
      name: 'signing-uses-crypto-alone',
      severity: 'error',
      from: { path: '(^|/)packages/signing/src/', pathNot: `${TESTS}|agreement-probe` },
      to: { dependencyTypes: ['core'], pathNot: '^(node:)?crypto$' },
    },
    {
      name: 'capability-depends-on-nothing',
      severity: 'error',
      comment: 'What is published has no dependency; the reader of TOML is bundled into it.',
      from: { path: '(^|/)packages/capability/src/', pathNot: TESTS },
      to: {
        dependencyTypes: ['npm', 'npm-dev', 'npm-optional', 'npm-peer', 'npm-no-pkg', 'npm-unknown'],
        pathNot: 'node_modules/smol-toml/',
      },
    },
    {
      name: 'capability-reads-toml-in-one-file',
      severity: 'error',
      from: { path: '(^|/)packages/capability/src/', pathNot: `${TESTS}|/toml\\.ts$` },
      to: { path: 'node_modules/smol-toml/' },
    },
    {
      name: 'only-programs-of-operators-use-the-client',
      severity: 'error',
      comment:
        'An agent has no credential of an operator, and the console has its own calls (decision 0070).',
      from: { path: '(^|/)(apps/(agent|console)|packages)/', pathNot: `${TESTS}|(^|/)packages/client/` },
      to: { path: '(^|/)packages/client/' },
    },
    {
      name: 'ctl-uses-the-api-alone',
      severity: 'error',
      comment: 'What an operator runs on any machine has no database, no keys and no rule (decision 0077).',
      from: { path: '(^|/)apps/ctl/src/', pathNot: TESTS },
      to: { path: '(^|/)packages/', pathNot: '(^|/)packages/(client|command-line|protocol|terminal)/' },
    },
    {
      name: 'shell-core-knows-no-backend',
      comment:
        'The gate is above every backend: it is tested without windows, and none of them can go around it.',
      severity: 'error',
      from: { path: '(^|/)apps/shell/src/(core|commands)/', pathNot: TESTS },
      to: { path: '(^|/)apps/shell/src/(chromium|webview|page|console|secrets|watch)/' },
    },
    {
      name: 'windows-hold-no-secret',
      comment: 'The process that draws what a server sent knows neither the session nor the server.',
      severity: 'error',
      from: { path: '(^|/)apps/shell/src/webview/child-main\\.ts$' },
      to: { path: '(^|/)apps/shell/src/(console|secrets|watch|core)/', reachable: true },
    },
    {
      name: 'shipped-code-never-imports-testkit',
      severity: 'error',
      from: { path: '(^|/)(apps|packages)/', pathNot: `${TESTS}|(^|/)packages/testkit/` },
      to: { path: '(^|/)packages/testkit/' },
    },
    {
      name: 'platform-never-imports-a-slice',
      severity: 'error',
      from: { path: '(^|/)apps/server/src/platform/', pathNot: TESTS },
      to: { path: '(^|/)apps/server/src/', pathNot: '(^|/)apps/server/src/platform/' },
    },
    {
      name: 'sql-only-in-stores',
      comment:
        'kysely and pg are for schema.ts, store.ts and the platform; `read-callers.ts` is the hot path (decision 0004).',
      severity: 'error',
      from: {
        path: '(^|/)apps/server/src/',
        pathNot: `${TESTS}|/schema\\.ts$|/store\\.ts$|-store\\.ts$|/platform/db/|/read-callers\\.ts$|/last-seen\\.ts$`,
      },
      to: { path: 'node_modules/(kysely|pg)/' },
    },
    {
      name: 'component-libraries-only-in-ui',
      severity: 'error',
      from: { path: '(^|/)apps/console/src/', pathNot: '(^|/)apps/console/src/ui/' },
      to: { path: '(radix-ui|uplot|cmdk)' },
    },
    {
      name: 'only-app-imports-composition',
      comment: 'What slices share is opened above them and reaches them as arguments.',
      severity: 'error',
      from: {
        path: '(^|/)apps/server/src/',
        pathNot: `${TESTS}|(^|/)apps/server/src/(composition/|app\\.ts$)`,
      },
      to: { path: '(^|/)apps/server/src/composition/' },
    },
    ...sliceRules,
    ...roomRules,
    {
      name: 'agent-rooms-are-named',
      comment: 'A new room says what it imports.',
      severity: 'error',
      from: {
        path: '(^|/)apps/agent/src/[^/]+/',
        pathNot: `${TESTS}|(^|/)apps/agent/src/(${Object.keys(AGENT_ROOMS).join('|')})/`,
      },
      to: {},
    },
  ],
  options: {
    parser: 'swc',
    doNotFollow: { path: 'node_modules' },
    // The parser does not know `using`, which tests like; tests may import what they want anyway.
    exclude: { path: '(^|/)(apps|packages)/[^/]+/dist/|\\.test\\.ts$' },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: {
      exportsFields: ['exports'],
      conditionNames: ['import', 'types', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.js', '.mjs', '.cjs', '.json', '.d.ts'],
    },
  },
};
