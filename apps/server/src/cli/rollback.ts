import { choice, flag, text } from '@tidegate/command-line/declare';
import { ROLLBACKS_MAX, type RollbackAnswer, RollbackRequest } from '@tidegate/protocol/rollbacks';
import { ECOSYSTEMS } from '@tidegate/protocol/scalars';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { showTable } from '@tidegate/terminal/show-table';
import { scopeText } from '@tidegate/terminal/words';
import { Check, Errors } from 'typebox/value';
import { activeHostsIn } from '../agents/host-scope.ts';
import { findOperatorByName } from '../operators/store.ts';
import type { Db } from '../platform/db/engine.ts';
import { lostRight } from '../policies/author-rules.ts';
import { requestRollbacks } from '../rollbacks/request-rollbacks.ts';
import { hosts } from '../rollouts/gate-rules.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { SCOPE_OPTIONS, type ScopeWords, scopeOf } from './scope-words.ts';

/** Every rollback is an event with this actor; it is approved in the name of an operator. */
const ACTOR = 'cli';

const OPTIONS = {
  author: text('OPERATOR', 'an approver or admin of the whole fleet'),
  reason: text('TEXT', 'why'),
  ecosystem: choice(ECOSYSTEMS, 'whose package (apt)'),
  'dry-run': flag('say what would change, and change nothing'),
  json: flag('the result as JSON'),
  ...SCOPE_OPTIONS,
};

export const rollbackCommand = declareCommand({
  name: 'rollback',
  summary: 'undo the installation of a version on hosts',
  calls: [
    {
      ...{ operands: ['NAME', 'VERSION'], needs: ['author', 'reason'] },
      takes: ['ecosystem', 'group', 'tag', 'host', 'dry-run', 'json'],
    },
  ],
  options: OPTIONS,
  about: `Takes the installations that brought VERSION of the package NAME back, each with everything that its approval changed. Each is an
update that its host plans, that the gate judges, and that is approved in the name of the author if it is clear; an old version with
a known vulnerability waits for an override. Without --group, --tag and --host it is for all hosts.

It works on the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { author, reason, ecosystem = 'apt', 'dry-run': isDry = false, json = false } = values;
    const { group, host, tag } = values;
    const [name, version, ...more] = positionals;
    if (name === undefined || version === undefined || more.length > 0)
      throw new UsageError('rollback needs a NAME and a VERSION');
    if (author === undefined) throw new UsageError('rollback needs --author OPERATOR');
    if (reason === undefined) throw new UsageError('rollback needs --reason TEXT');
    return withInstallation(world, (installation) =>
      rollBack(installation, world, {
        ...{ name, version, author, reason, ecosystem, isDry, json },
        scope: { group, host, tag },
      }),
    );
  },
});

async function rollBack(
  { platform }: Installation,
  world: CliWorld,
  asked: {
    name: string;
    version: string;
    author: string;
    reason: string;
    ecosystem: string;
    scope: ScopeWords;
    isDry: boolean;
    json: boolean;
  },
): Promise<ExitCode> {
  const { name, version, ecosystem, reason, isDry, json } = asked;
  const db = platform.database.read;
  const operator = await rollbackAuthor(db, asked.author);
  const scope = await scopeOf(db, asked.scope);
  const hosts = await activeHostsIn(db, scope).select('a.id').orderBy('a.id').execute();
  if (hosts.length === 0) throw new CommandFault(`there are no active hosts in ${scopeText(scope)}`);
  const told: RollbackAnswer = { requested: [], skipped: [] };
  for (let i = 0; i < hosts.length; i += ROLLBACKS_MAX) {
    const agentIds = hosts.slice(i, i + ROLLBACKS_MAX).map(({ id }) => id);
    const request: unknown = { installed: { ecosystem, name, version, agent_ids: agentIds }, reason };
    if (!Check(RollbackRequest, request) || request.installed === undefined) {
      const [fault] = Errors(RollbackRequest, request);
      throw new CommandFault(`${fault?.instancePath ?? 'the request'} ${fault?.message ?? 'is not valid'}`);
    }
    const by = { operator, actor: ACTOR, scope: null };
    const answer = await requestRollbacks(platform, { of: request.installed, reason, dryRun: isDry, ...by });
    told.requested.push(...answer.requested);
    told.skipped.push(...answer.skipped);
  }
  world.out(
    json
      ? JSON.stringify({ dry_run: isDry, ...told }, null, 2)
      : rollbackText(told, { what: `${name} ${version}`, isDry }),
  );
  return EXIT.ok;
}

/** What a command did, or would do, for people. `what`: the installations, such as `curl 8.1`. */
export function rollbackText(
  { requested, skipped }: RollbackAnswer,
  { what, isDry }: { what: string; isDry: boolean },
): string {
  const table = requested.map((one) => [
    ...[one.agent_id, one.update_id ?? '-', `${one.undoes.length}`, `${one.action_count}`],
  ]);
  const reasons = Map.groupBy(skipped, ({ code }) => code);
  return [
    `${isDry ? 'Would undo' : 'Asked to undo'} ${what} on ${hosts(requested.length)}.`,
    ...(table.length > 0 ? [showTable([['HOST', 'ROLLBACK', 'UPDATES', 'PACKAGES'], ...table])] : []),
    ...[...reasons].map(([code, hosts]) => {
      const text = `Skipped: ${hosts.length} (${code.replaceAll('_', ' ')})`;
      // In a whole fleet most hosts may not have the version; the others need a look.
      return code === 'not_installed' ? `${text}.` : [`${text}:`, ...hosts.map(hostLine)].join('\n');
    }),
  ].join('\n');
}

function hostLine({ agent_id: id, update_id: updateId }: RollbackAnswer['skipped'][number]): string {
  return `  ${id ?? updateId ?? '-'}`;
}

/** The operator in whose name rollbacks are approved. Throws unless that is an approver or admin of the whole fleet. */
export async function rollbackAuthor(db: Db, name: string): Promise<string> {
  const row = await findOperatorByName(db, name);
  if (!row)
    throw new CommandFault(`there is no operator ${JSON.stringify(name)}; see tidegate operators list`);
  if (lostRight(row) === null) return row.username;
  throw new CommandFault(
    `${name} cannot ask for rollbacks: it takes an approver or admin of the whole fleet`,
  );
}
