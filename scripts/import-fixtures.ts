/** A small set of modules: path -> its imports, with `type ` before a type-only import. */
export type ImportFixture = Readonly<Record<string, readonly string[]>>;

/** For each import rule, modules that violate only this rule; several sets if it can be violated in several ways. */
export const IMPORT_FIXTURES: Readonly<Record<string, ImportFixture | readonly ImportFixture[]>> = {
  'no-cycles': [
    { 'apps/server/src/agents/a.ts': ['./b.ts'], 'apps/server/src/agents/b.ts': ['./a.ts'] },
    { 'apps/server/src/agents/a.ts': ['./b.ts'], 'apps/server/src/agents/b.ts': ['type ./a.ts'] },
    { 'apps/server/src/agents/a.ts': ['type ./b.ts'], 'apps/server/src/agents/b.ts': ['type ./a.ts'] },
  ],
  'no-unresolved': { 'apps/server/src/agents/a.ts': ['./nowhere.ts'] },
  'apps-never-import-another-app': {
    'apps/agent/src/a.ts': ['../../server/src/config.ts'],
    'apps/server/src/config.ts': [],
  },
  'packages-never-import-apps': {
    'packages/testkit/src/a.ts': ['../../../apps/server/src/config.ts'],
    'apps/server/src/config.ts': [],
  },
  'agent-never-signs': {
    'apps/agent/src/a.ts': ['../../../packages/signing/src/sign.ts'],
    'packages/signing/src/sign.ts': [],
  },
  'verify-never-depends-on-sign': {
    'packages/signing/src/verify.ts': ['./shared.ts'],
    'packages/signing/src/shared.ts': ['./sign.ts'],
    'packages/signing/src/sign.ts': [],
  },
  'packages-import-only-their-own': {
    'packages/versions/src/a.ts': ['../../protocol/src/plan.ts'],
    'packages/protocol/src/plan.ts': [],
  },
  'pure-code-does-no-io': { 'apps/server/src/approvals/gate.ts': ['node:fs'] },
  'signing-uses-crypto-alone': { 'packages/signing/src/a.ts': ['node:fs'] },
  'capability-depends-on-nothing': { 'packages/capability/src/a.ts': ['typebox'] },
  'capability-reads-toml-in-one-file': { 'packages/capability/src/a.ts': ['smol-toml'] },
  'only-programs-of-operators-use-the-client': {
    'apps/agent/src/session/a.ts': ['../../../../packages/client/src/client.ts'],
    'packages/client/src/client.ts': [],
  },
  'ctl-uses-the-api-alone': {
    'apps/ctl/src/a.ts': ['../../../packages/signing/src/sign.ts'],
    'packages/signing/src/sign.ts': [],
  },
  'shell-core-knows-no-backend': {
    'apps/shell/src/core/a.ts': ['../webview/b.ts'],
    'apps/shell/src/webview/b.ts': [],
  },
  'windows-hold-no-secret': {
    'apps/shell/src/webview/child-main.ts': ['./page.ts'],
    'apps/shell/src/webview/page.ts': ['../secrets/store.ts'],
    'apps/shell/src/secrets/store.ts': [],
  },
  'shipped-code-never-imports-testkit': {
    'apps/server/src/agents/a.ts': ['../../../../packages/testkit/src/clock.ts'],
    'packages/testkit/src/clock.ts': [],
  },
  'platform-never-imports-a-slice': {
    'apps/server/src/platform/a.ts': ['../agents/store.ts'],
    'apps/server/src/agents/store.ts': [],
  },
  'agent-rooms-are-named': { 'apps/agent/src/attic/a.ts': ['node:fs'] },
  'sql-only-in-stores': { 'apps/server/src/agents/routes.ts': ['kysely'] },
  'only-app-imports-composition': {
    'apps/server/src/console/a.ts': ['../composition/parts.ts'],
    'apps/server/src/composition/parts.ts': [],
  },
  'component-libraries-only-in-ui': {
    'apps/console/src/pages/a.ts': ['../../radix-ui/index.ts'],
    'apps/console/radix-ui/index.ts': [],
  },
};

/** The fixture of a slice-order rule: the slice imports the composition root, which comes after every slice. */
export function sliceFixture(slice: string): ImportFixture {
  return { [`apps/server/src/${slice}/a.ts`]: ['../app.ts'], 'apps/server/src/app.ts': [] };
}

/** For each room (module folder) of the agent, one that it must not import. */
const ABOVE: Readonly<Record<string, string>> = {
  platform: 'identity',
  ecosystems: 'identity',
  identity: 'trust',
  journal: 'trust',
  trust: 'session',
  'host-policy': 'session',
  session: 'commands',
  jobs: 'executor',
  executor: 'session',
  output: 'executor',
  restarts: 'session',
  reboots: 'session',
  probes: 'session',
  hooks: 'session',
  inventory: 'commands',
  commands: 'executor',
  polling: 'executor',
  enrolment: 'polling',
  checks: 'enrolment',
};

/** The fixture of an agent-room rule; null if the room is not in the list above. */
export function roomFixture(room: string): ImportFixture | null {
  const above = ABOVE[room];
  if (above === undefined) return null;
  return { [`apps/agent/src/${room}/a.ts`]: [`../${above}/b.ts`], [`apps/agent/src/${above}/b.ts`]: [] };
}
