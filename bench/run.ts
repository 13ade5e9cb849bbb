import { parseArgs } from 'node:util';
import { benchAbuse } from './abuse.ts';
import { benchAdvisories } from './advisories.ts';
import { benchAgent } from './agent.ts';
import { benchBulk } from './bulk.ts';
import { benchCapability } from './capability.ts';
import { benchCheckIn } from './check-in.ts';
import { benchConnections } from './connections.ts';
import { benchCurve, type CurveOptions } from './curve.ts';
import { benchEvents } from './events.ts';
import { benchEvidence } from './evidence.ts';
import { benchHerd } from './herd.ts';
import { benchInventory } from './inventory.ts';
import { benchInventoryScale } from './inventory-scale.ts';
import type { FleetSize } from './list-fleet.ts';
import { benchLists } from './lists.ts';
import { benchOverview } from './overview.ts';
import { benchPlan } from './plan.ts';
import { benchPolicies } from './policies.ts';
import { benchRenewals } from './renewals.ts';
import { benchSlowLog } from './slow-log.ts';
import { benchSoak, type SoakOptions } from './soak.ts';
import { benchVersions } from './versions.ts';

const BENCHES = {
  'check-in': benchCheckIn,
  curve: benchCurve,
  connections: benchConnections,
  renewals: benchRenewals,
  inventory: benchInventory,
  agent: benchAgent,
  plan: benchPlan,
  advisories: benchAdvisories,
  versions: benchVersions,
  lists: benchLists,
  bulk: benchBulk,
  overview: benchOverview,
  policies: benchPolicies,
  capability: benchCapability,
  abuse: benchAbuse,
  'slow-log': benchSlowLog,
  evidence: benchEvidence,
  events: benchEvents,
  herd: benchHerd,
  soak: benchSoak,
  'inventory-scale': benchInventoryScale,
} as const;

const USAGE = `Usage: npm run bench -- <${Object.keys(BENCHES).join('|')}> [--json] [--rounds N] [--seconds N] [--engine E]

  check-in    idle check-ins of --agents agents against a bare node:http server in the same run
  curve       the same at each size of --sizes: a record and a page with plots in bench/out; --baseline FILE compares
              (bench/baseline.json is kept), --target FILE measures another server (bench/target.ts)
  connections idle sockets of --agents hosts: memory for each, and check-ins on them and on new connections, with TLS too
  renewals    durable renewals (E1) of 10,000 agents against the same bare server
  inventory   reports of 1,500 packages: unchanged, with 10 changed, and as deltas; 20,000 packages in parts
  agent       start-up time and idle memory of the agent
  plan        scan and plans of apt hosts with 120 and 400 updates, of a place of npm and one of PyPI, and of this machine, on one core
  advisories  10,000 packages, and closures of 500, judged from a mirror of AlmaLinux's size
  lists       every list of the console with every filter and sort, over --hosts and --updates
  versions    comparisons of versions of npm, PyPI, dpkg and rpm, from text and parsed
  bulk        10,000 updates with clear plans approved by one request (E4)
  overview    the first screen of a fleet of 100,000 hosts and 500,000 updates
  policies    which of 200,000 updates on 10,000 hosts 100 policies ask for
  capability  decisions of 100 capability files, a file of 1 MB, and hostile patterns
  abuse       CPU of each refused request, by route; fails above 2 ms
  evidence    a year of --hosts hosts with 2,000 updates each: a bundle, its verification, an SBOM and a VEX
  events      acts of the same moment with an event each, and the walk over a chain of --updates events
  herd        --agents that come back within a minute of a start, after an hour, with --tokens valid or expired
  inventory-scale  size of --hosts inventories of 1,500 packages, and questions about the fleet
  slow-log    a prepared read of SQLite, with and without the log of slow queries
  soak        half an hour of a fleet's day: fails if memory goes on growing or files stay open

  --json      last line of the output is one JSON object with the medians
  --rounds    alternating rounds of each candidate (default 5)
  --seconds   length of a round (default 2)
  --agents    agents that check in (default 10,000)
  --minutes   length of the soak (default 30)
  --sizes     sizes of the fleet for the curve (default 1000,10000,100000,500000)
  --hosts     hosts of the lists and inventories (default 100,000) or of the evidence (20; 300 for the figures of bench/README.md)
  --updates   updates of the lists, and as many events (default 500,000)
  --list      only this list: agents, updates, packages or events
  --tokens    of a herd: valid or expired (default expired)
  --engine    only sqlite or only postgres (default both)`;

export interface BenchOptions {
  rounds: number;
  seconds: number;
  /** Agents that check in. */
  agents: number;
  /** Hosts of a bundle of evidence. */
  evidenceHosts: number;
  engines: readonly ('sqlite' | 'postgres')[];
  /** The one list to measure; all of them unless given. */
  list?: string | undefined;
  /** Access tokens of a herd. */
  tokens?: 'valid' | 'expired' | undefined;
  /** Prints progress for people; the result is printed separately. */
  say: (line: string) => void;
}

const options = readOptions();
if (options === null) {
  process.stderr.write(`${USAGE}\n`);
  process.exitCode = 2;
} else {
  const result = await BENCHES[options.bench](options);
  process.stdout.write(`${options.json ? JSON.stringify(result) : JSON.stringify(result, null, 2)}\n`);
}

function readOptions():
  | (BenchOptions & FleetSize & CurveOptions & SoakOptions & { bench: keyof typeof BENCHES; json: boolean })
  | null {
  try {
    const { values, positionals } = parseArgs({
      allowPositionals: true,
      options: {
        json: { type: 'boolean', default: false },
        rounds: { type: 'string', default: '5' },
        seconds: { type: 'string', default: '2' },
        engine: { type: 'string' },
        agents: { type: 'string', default: '10000' },
        hosts: { type: 'string' },
        updates: { type: 'string', default: '500000' },
        list: { type: 'string' },
        sizes: { type: 'string', default: '1000,10000,100000,500000' },
        minutes: { type: 'string', default: '30' },
        target: { type: 'string' },
        baseline: { type: 'string' },
        tokens: { type: 'string', default: 'expired' },
      },
    });
    const [bench = ''] = positionals;
    const rounds = Number(values.rounds);
    const seconds = Number(values.seconds);
    const agents = Number(values.agents);
    const minutes = Number(values.minutes);
    const hosts = Number(values.hosts ?? 100_000);
    const evidenceHosts = Number(values.hosts ?? 20);
    const updates = Number(values.updates);
    const engines = (['sqlite', 'postgres'] as const).filter((e) => !values.engine || e === values.engine);
    if (!isBench(bench) || positionals.length !== 1 || engines.length === 0) return null;
    if (!(rounds >= 1 && seconds > 0 && agents >= 1 && minutes > 0 && updates >= 100 && evidenceHosts >= 1))
      return null;
    if (hosts < 100 && bench !== 'evidence') return null;
    const sizes = values.sizes.split(',').map(Number);
    if (!sizes.every((size) => Number.isSafeInteger(size) && size >= 1)) return null;
    const { target = null, baseline = null } = values;
    const say = (line: string) => void process.stderr.write(`${line}\n`);
    const tokens = (['valid', 'expired'] as const).find((one) => one === values.tokens);
    if (!tokens) return null;
    const { json, list } = values;
    return {
      bench,
      json,
      list,
      minutes,
      sizes,
      target,
      baseline,
      tokens,
      rounds,
      seconds,
      agents,
      engines,
      hosts,
      evidenceHosts,
      updates,
      events: updates,
      say,
    };
  } catch {
    return null;
  }
}

function isBench(name: string): name is keyof typeof BENCHES {
  return Object.hasOwn(BENCHES, name);
}
