import { type FakeOsv, startFakeOsv } from '@tidegate/testkit/fake-osv';
import { createFleet, type Fleet } from '@tidegate/testkit/fleet';
import { tmpDir } from '@tidegate/testkit/tmp';
import { liftLimits, logIn, type Operator } from './operator.ts';
import { type ServerProcess, startServer } from './server-process.ts';

/** Ecosystems of the simulated systems, as OSV names them. */
const COVERED = ['Debian:12', 'Ubuntu:24.04:LTS', 'AlmaLinux:9'];

export interface ConsoleStageOptions {
  /** The number of simulated hosts; default 6. */
  readonly hosts?: number;
  /** The packages and updates of each; default 40 and 6. */
  readonly inventory?: { readonly packages: number; readonly updates: number };
  /** The prefix of the host names. */
  readonly prefix?: string;
  /** More settings of the server. */
  readonly env?: Record<string, string>;
  /** Keeps the rate limits; by default they are lifted, as the whole fleet has one address here. */
  readonly keepLimits?: boolean;
}

/** The real server on SQLite, a fake OSV, and a simulated fleet that has reported its packages. */
export interface ConsoleStage extends AsyncDisposable {
  readonly server: ServerProcess;
  readonly dataDir: string;
  /** The API session of the first operator, an admin. */
  readonly operator: Operator;
  readonly osv: FakeOsv;
  readonly fleet: Fleet;
  /** Creates another operator. */
  addOperator(operator: {
    username: string;
    password: string;
    role: 'viewer' | 'approver' | 'admin';
  }): Promise<void>;
}

/** Starts the stage of the console stories. */
export async function openConsoleStage(options: ConsoleStageOptions = {}): Promise<ConsoleStage> {
  const { hosts = 6, inventory = { packages: 40, updates: 6 }, prefix = 'web', env = {} } = options;
  const stack = new AsyncDisposableStack();
  try {
    const folder = stack.use(tmpDir('tidegate-console-'));
    const osv = await startFakeOsv({ covered: COVERED });
    stack.defer(osv.stop);
    const server = await startServer({ dataDir: folder.path, advisoryUrl: osv.url, env });
    stack.defer(async () => void (await server.stop()));
    const operator = await logIn(server.url);
    if (!options.keepLimits) await liftLimits(operator);
    const fleet = createFleet({
      serverUrl: server.url,
      agents: hosts,
      registrationToken: hosts === 0 ? '' : await operator.registrationToken(hosts),
      clock: { now: Date.now },
      inventory,
      prefix,
    });
    stack.defer(async () => fleet.stop());
    for (const round of [fleet.enrolAll, fleet.checkInAll, fleet.reportAll]) await round();
    const { ok, problems } = fleet.verdict();
    if (hosts > 0 && !ok) throw new Error(`the fleet failed: ${problems.join('; ')}`);
    const held = stack.move();
    return {
      ...{ server, operator, osv, fleet },
      dataDir: folder.path,
      async addOperator(added) {
        const answer = await operator.call('POST', '/api/v1/admin/operators', added);
        if (answer.status !== 201) throw new Error(`operator not created: ${JSON.stringify(answer.body)}`);
      },
      [Symbol.asyncDispose]: () => held.disposeAsync(),
    };
  } finally {
    await stack.disposeAsync();
  }
}
