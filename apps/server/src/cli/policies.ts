import { readFileSync } from 'node:fs';
import { file, flag, many, text } from '@tidegate/command-line/declare';
import { canonicalJson } from '@tidegate/protocol/canonical-json';
import { PolicyRequest } from '@tidegate/protocol/policies-api';
import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { signEnvelope } from '@tidegate/signing/sign';
import { POLICIES } from '@tidegate/terminal/lists';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { Check, Errors } from 'typebox/value';
import { findOperatorByName } from '../operators/store.ts';
import type { Tx } from '../platform/db/engine.ts';
import { followUpFault, lostRight, type PossibleAuthor } from '../policies/author-rules.ts';
import { revokePolicy } from '../policies/end-policies.ts';
import { payloadOf, policyView, requestOf } from '../policies/policy-view.ts';
import {
  type Author,
  changePolicy,
  type PolicyDeps,
  policyFault,
  publishPolicy,
} from '../policies/publish-policy.ts';
import { type AnyPolicyRow, listPolicies, runsOf } from '../policies/store.ts';
import { backtestPolicy } from '../policy-runs/backtest-policy.ts';
import { backtestLines } from './backtest-lines.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { type KeyContext, withKeyContext } from './key-context.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { showList } from './show-list.ts';
import { windowLines } from './window-lines.ts';

/** Every change is an event with this actor; the author of a policy is an operator. */
const ACTOR = 'cli';
const PAGE = 200;
/** Largest file that is read. */
const FILE_MAX_BYTES = 4 * 1024 * 1024;

const OPTIONS = {
  file: { ...many(file('a policy or a list of them, as JSON')), short: 'f' },
  author: text('OPERATOR', 'in whose name the policies approve: an approver or admin of the whole fleet'),
  'dry-run': flag('say what would change, and change nothing'),
  all: flag('also the policies that have ended'),
  json: flag('the result as JSON'),
};

export const policiesCommand = declareCommand({
  name: 'policies',
  summary: 'policies that approve by themselves: list, show, apply from files, revoke',
  calls: [
    { act: 'list', takes: ['all', 'json'] },
    { act: 'show', operands: ['NAME'] },
    { act: 'backtest', operands: ['NAME'], takes: ['json'] },
    { act: 'apply', needs: ['file', 'author'], takes: ['dry-run', 'json'] },
    { act: 'revoke', operands: ['NAME'], takes: ['json'] },
  ],
  options: OPTIONS,
  about: `  list      the policies in force
  show      the newest version of a policy, in the form that apply reads
  backtest  what it would have done in the last 30 days, from the recorded decisions
  apply     publishes what the files say: a new policy, or a new version where something differs. Each file has one
            policy or a list of them, in the form of POST /api/v1/policies. All of them are published, or none.
            Policies that no file names are left as they are, and named
  revoke    ends a policy; what it approved keeps its token

All of them work on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server.
Whoever may read the data directory can sign, so no second factor is asked for; the event "policy_published" names the
actor "cli".`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { file: files = [], author, 'dry-run': isDry = false, all: isAll = false, json = false } = values;
    const [act, ...words] = positionals;
    if (act === undefined || !ACTS.includes(act))
      throw new UsageError(`policies needs one of: ${ACTS.join(', ')}`);
    if (act !== 'apply' && (files.length > 0 || author !== undefined || isDry)) {
      throw new UsageError('--file, --author and --dry-run work only with apply');
    }
    if (isAll && act !== 'list') throw new UsageError('--all works only with list');
    const [name, ...more] = words;
    const isNamed = act !== 'list' && act !== 'apply';
    if (isNamed && (name === undefined || more.length > 0)) throw new UsageError(`${act} needs a NAME`);
    if (!isNamed && name !== undefined) throw new UsageError(`unknown words: ${words.join(' ')}`);
    switch (act) {
      case 'list':
        return withInstallation(world, (installation) => list(installation, world, { isAll, json }));
      case 'show':
        return withInstallation(world, (installation) => show(installation, world, name ?? ''));
      case 'backtest':
        return withInstallation(world, (installation) =>
          backtest(installation, world, { name: name ?? '', json }),
        );
      case 'revoke':
        return withInstallation(world, (installation) =>
          revoke(installation, world, { name: name ?? '', json }),
        );
      default: {
        if (files.length === 0) throw new UsageError('apply needs --file FILE');
        if (author === undefined) throw new UsageError('apply needs --author OPERATOR');
        return withKeyContext(world, (context) => apply(context, world, { files, author, isDry, json }));
      }
    }
  },
});

const ACTS = ['list', 'show', 'backtest', 'apply', 'revoke'];

async function list(
  { platform }: Installation,
  world: CliWorld,
  { isAll, json }: { isAll: boolean; json: boolean },
): Promise<ExitCode> {
  const db = platform.database.read;
  const rows = await newestVersions({ platform });
  const runs = await runsOf(
    db,
    rows.map(({ policy_id: id }) => id),
  );
  const nowMs = platform.now();
  const policies = rows
    .map((row) => policyView(row, { run: runs.get(row.policy_id) ?? null, nowMs }))
    .filter(({ state }) => isAll || state === 'in_force');
  showList(world, POLICIES, { items: policies, json });
  return EXIT.ok;
}

async function show(installation: Installation, world: CliWorld, name: string): Promise<ExitCode> {
  world.out(JSON.stringify(requestOf(payloadOf(await named(installation, name))), null, 2));
  return EXIT.ok;
}

async function backtest(
  installation: Installation,
  world: CliWorld,
  { name, json }: { name: string; json: boolean },
): Promise<ExitCode> {
  const told = await backtestPolicy(installation, payloadOf(await named(installation, name)));
  if (json) {
    world.out(JSON.stringify(told, null, 2));
    return EXIT.ok;
  }
  for (const line of backtestLines(told)) world.out(line);
  return EXIT.ok;
}

async function revoke(
  installation: Installation,
  world: CliWorld,
  { name, json }: { name: string; json: boolean },
): Promise<ExitCode> {
  const { platform } = installation;
  const { policy_id: policyId } = await named(installation, name);
  const isEnded = await platform.database.transact((tx) =>
    revokePolicy(tx, platform, { policyId, actor: ACTOR }),
  );
  if (!isEnded) throw new CommandFault(`the policy ${JSON.stringify(name)} has ended already`);
  world.out(
    json
      ? JSON.stringify({ revoked: policyId })
      : `The policy ${JSON.stringify(name)} is revoked. What it approved keeps its token.`,
  );
  return EXIT.ok;
}

/** What `apply` does with one policy of its files. */
interface Step {
  act: 'publish' | 'change' | 'keep';
  name: string;
  request: PolicyRequest;
  before: AnyPolicyRow | null;
  /** The members that differ. */
  differs: string[];
}

async function apply(
  context: KeyContext,
  world: CliWorld,
  asked: { files: readonly string[]; author: string; isDry: boolean; json: boolean },
): Promise<ExitCode> {
  const { platform } = context;
  const author = await authorOf(context, asked.author);
  const requests = asked.files.flatMap(readRequests);
  const twice = requests.find(({ name }, i) => requests.findIndex((one) => one.name === name) !== i);
  if (twice) throw new CommandFault(`two of the policies are named ${JSON.stringify(twice.name)}`);
  for (const request of requests) {
    const fault =
      followUpFault(request, author) ?? (await policyFault(platform.database.read, request, platform.now()));
    if (fault) throw new CommandFault(`${JSON.stringify(request.name)}: ${fault.path} ${fault.message}`);
  }
  const known = await newestVersions(context);
  const steps = requests.map((request) => stepOf(request, { known, author }));
  if (!asked.isDry) {
    const deps = { platform, keyRing: signingHere(context) };
    await platform.database.transact(async (tx) => {
      for (const step of steps) await carryOut(tx, deps, { step, author });
    });
  }
  const nowMs = platform.now();
  const others = known
    .filter((row) => policyView(row, { run: null, nowMs }).state === 'in_force')
    .filter(({ name }) => !requests.some((request) => request.name === name))
    .map(({ name }) => name);
  const said = {
    dry_run: asked.isDry,
    steps: steps.map(({ act, name, differs, request }) => ({
      ...{ act, name, differs },
      windows: act === 'keep' ? [] : windowLines(request),
    })),
    others,
  };
  world.out(asked.json ? JSON.stringify(said, null, 2) : textOf(said));
  return EXIT.ok;
}

function textOf({
  dry_run: isDry,
  steps,
  others,
}: {
  dry_run: boolean;
  steps: readonly (Pick<Step, 'act' | 'name' | 'differs'> & { windows: readonly string[] })[];
  others: readonly string[];
}): string {
  const words = isDry
    ? { publish: 'would publish', change: 'would change', keep: 'unchanged' }
    : { publish: 'published', change: 'changed', keep: 'unchanged' };
  return [
    ...steps.flatMap(({ act, name, differs, windows }) => [
      [`${words[act]}: ${name}`, ...(differs.length > 0 ? [`(${differs.join(', ')})`] : [])].join(' '),
      ...(isDry ? windows : []),
    ]),
    ...others.map((name) => `in no file, left as it is: ${name}`),
  ].join('\n');
}

function stepOf(
  request: PolicyRequest,
  { known, author }: { known: readonly AnyPolicyRow[]; author: Author },
): Step {
  const { name } = request;
  // Of several with this name, the one in force, else the newest; a revoked one stays revoked.
  const same = known.filter((row) => row.name === name && row.end_reason !== 'revoked');
  const before = same.find(({ ended_at: endedAt }) => endedAt === null) ?? same[0] ?? null;
  if (!before) return { act: 'publish', name, request, before, differs: [] };
  const old: Record<string, unknown> = { ...requestOf(payloadOf(before)), author: before.author };
  const wanted: Record<string, unknown> = { ...request, author: author.username };
  // Also of members that the file leaves out.
  const differs = Object.keys({ ...old, ...wanted }).filter(
    (key) => canonicalJson(wanted[key] ?? null) !== canonicalJson(old[key] ?? null),
  );
  if (before.ended_at !== null) differs.push('state');
  return { act: differs.length === 0 ? 'keep' : 'change', name, request, before, differs };
}

async function carryOut(
  tx: Tx,
  deps: PolicyDeps,
  { step, author }: { step: Step; author: Author },
): Promise<void> {
  const { request, before } = step;
  if (step.act === 'keep') return;
  if (!before) return void (await publishPolicy(tx, deps, { request, author, actor: ACTOR }));
  const { policy_id: policyId, sha256: replaces } = before;
  await changePolicy(tx, deps, { policyId, replaces, request, author, actor: ACTOR });
}

function readRequests(path: string): PolicyRequest[] {
  const bytes = readBytes(path);
  if (bytes.length > FILE_MAX_BYTES) throw new CommandFault(`${path} is larger than ${FILE_MAX_BYTES} bytes`);
  const parsed = parseStrictJson(bytes);
  if (!parsed.ok) throw new CommandFault(`${path} ${parsed.reason}`);
  const { value } = parsed;
  const list: unknown[] = Array.isArray(value) ? value : [value];
  return list.map((one, i) => {
    if (Check(PolicyRequest, one)) return one;
    const [fault] = Errors(PolicyRequest, one);
    const where = `${Array.isArray(value) ? `/${i}` : ''}${fault?.instancePath ?? ''}` || '/';
    throw new CommandFault(`${path}: ${where} ${fault?.message ?? 'is not that of a policy'}`);
  });
}

function readBytes(path: string): Buffer {
  try {
    return readFileSync(path);
  } catch (error) {
    throw new CommandFault(`${path} cannot be read: ${error instanceof Error ? error.message : error}`);
  }
}

async function authorOf(
  { platform }: KeyContext,
  name: string,
): Promise<Author & Pick<PossibleAuthor, 'role'>> {
  const row = await findOperatorByName(platform.database.read, name);
  if (!row)
    throw new CommandFault(`there is no operator ${JSON.stringify(name)}; see tidegate operators list`);
  const lost = lostRight(row);
  if (lost === null) return { id: row.id, username: row.username, role: row.role };
  throw new CommandFault(`${name} cannot stand behind a policy: ${LOST[lost]}`);
}

const LOST: Readonly<Record<NonNullable<ReturnType<typeof lostRight>>, string>> = {
  author_deleted: 'the operator is deleted',
  author_disabled: 'the operator is disabled',
  author_demoted: 'a viewer approves nothing; use an approver or admin',
  author_bound: 'the operator is limited to some groups',
};

/** The key that a server of this data directory signs with. */
function signingHere({ rows, held, fleetId }: KeyContext): PolicyDeps['keyRing'] {
  const row = rows.find((one) => one.in_use === 1);
  const key = row && held.get(row.key_id);
  if (!row || !key) throw new CommandFault('the private half of the signing key in use is not here');
  return {
    fleetId,
    signer: () => ({
      ...{ keyId: row.key_id, keyVersion: row.version },
      sign: (payloadType, bytes) => signEnvelope(key, payloadType, bytes),
    }),
  };
}

async function named(installation: Installation, name: string): Promise<AnyPolicyRow> {
  const same = (await newestVersions(installation)).filter((row) => row.name === name);
  const row = same.find(({ ended_at: endedAt }) => endedAt === null) ?? same[0];
  if (row) return row;
  throw new CommandFault(`there is no policy ${JSON.stringify(name)}; see tidegate policies list --all`);
}

/** The newest version of every policy, the newest policy first. */
async function newestVersions({ platform }: Pick<Installation, 'platform'>): Promise<AnyPolicyRow[]> {
  const rows: AnyPolicyRow[] = [];
  for (let after: string | null = null; ; ) {
    const page = await listPolicies(platform.database.read, { limit: PAGE, after });
    rows.push(...page);
    // A row with a broken seal leaves its page shorter.
    after = page.at(-1)?.policy_id ?? null;
    if (after === null) return rows;
  }
}
