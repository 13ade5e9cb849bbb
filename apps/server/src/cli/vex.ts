import { choice, flag } from '@tidegate/command-line/declare';
import { VEX_STATEMENTS_MAX, VexFormat } from '@tidegate/protocol/vex-api';
import { STATEMENTS } from '@tidegate/terminal/lists';
import { EXIT, type ExitCode, readArgs, UsageError } from '@tidegate/terminal/read-args';
import { Value } from 'typebox/value';
import { readFleet } from '../signing-keys/store.ts';
import { exportDocument, NOTHING_TO_EXPORT } from '../vex/export-document.ts';
import { statementView } from '../vex/statement-view.ts';
import { statementsInForce } from '../vex/store.ts';
import { type CliWorld, declareCommand } from './command.ts';
import { CommandFault, type Installation, withInstallation } from './open-installation.ts';
import { showList } from './show-list.ts';

const OPTIONS = {
  format: choice(['openvex', 'cyclonedx'], 'form of the document'),
  json: flag('the result as JSON'),
};

export const vexCommand = declareCommand({
  name: 'vex',
  summary: 'list and export statements about vulnerabilities (VEX)',
  calls: [
    { act: 'list', takes: ['json'] },
    { act: 'export', needs: ['format'] },
  ],
  options: OPTIONS,
  about: `  list     the statements in force, oldest first
  export   the statements in force as one document, on the standard output

Both only read the data directory (SERVICE_DATA_DIR, SERVICE_DATABASE_URL), with or without a running server. A row whose
seal is broken is left out. A statement lets updates pass, so only an admin with a fresh second factor or an API token
with the scope "override" can write, import or revoke one: POST /api/v1/admin/vex-statements and
POST /api/v1/admin/vex-document.`,
  async run(args, world) {
    const { values, positionals } = readArgs(args, OPTIONS);
    const { format, json = false } = values;
    const [act, ...more] = positionals;
    if (act !== 'list' && act !== 'export') throw new UsageError('vex needs one of: list, export');
    if (more.length > 0) throw new UsageError(`unknown words: ${more.join(' ')}`);
    if (act === 'list') {
      if (format !== undefined) throw new UsageError('--format works only with export');
      return withInstallation(world, (installation) => list(installation, world, json));
    }
    if (json) throw new UsageError('export is always JSON: leave out --json');
    if (!Value.Check(VexFormat, format))
      throw new UsageError('export needs --format openvex or --format cyclonedx');
    return withInstallation(world, (installation) => exportAll(installation, world, format));
  },
});

async function list({ platform }: Installation, world: CliWorld, json: boolean): Promise<ExitCode> {
  const nowMs = platform.now();
  const rows = await statementsInForce(platform.database.read, { nowMs, limit: VEX_STATEMENTS_MAX });
  const statements = rows.map((row) => statementView(row, nowMs));
  showList(world, STATEMENTS, { items: statements, json });
  return EXIT.ok;
}

async function exportAll({ platform }: Installation, world: CliWorld, format: VexFormat): Promise<ExitCode> {
  const fleet = await readFleet(platform.database.read);
  if (!fleet) throw new CommandFault('no server has started on this database yet, so it has no statements');
  const document = await exportDocument(platform, { format, fleetId: fleet.fleet_id });
  if (!document) throw new CommandFault(NOTHING_TO_EXPORT);
  world.out(JSON.stringify(document, null, 2));
  return EXIT.ok;
}
