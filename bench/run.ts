import { parseArgs } from 'node:util';
import { benchAbuse } from './abuse.ts';
import { benchAdvisories } from './advisories.ts';
import { benchAgent } from './agent.ts';
import { benchBulk } from './bulk.ts';
import { benchCapability } from './capability.ts';
import { isScenario } from './cells.ts';
import { benchCheckIn } from './check-in.ts';
import { benchCurve, benchFull, type CurveOptions } from './curve.ts';
import { benchEvents } from './events.ts';
import { benchEventsRemoval } from './events-removal.ts';
import { benchEvidence } from './evidence.ts';
import { benchInventory } from './inventory.ts';
import { benchInventoryScale } from './inventory-scale.ts';
import { type KeepOptions, keepRecords } from './keep.ts';
import type { FleetSize } from './list-fleet.ts';
import { benchLists } from './lists.ts';
import { benchOverview } from './overview.ts';
import { benchPlan } from './plan.ts';
import { benchPolicies } from './policies.ts';
import { benchRenewals } from './renewals.ts';
import { benchSlowLog } from './slow-log.ts';
import { benchSoak, type SoakOptions } from './soak.ts';
import { benchVersions } from './versions.ts';
import { benchWorkers } from './workers.ts';

const BENCHES = {
  'check-in': benchCheckIn,
  curve: benchCurve,
  full: benchFull,
  keep: keepRecords,
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
  'events-removal': benchEventsRemoval,
  soak: benchSoak,
  'inventory-scale': benchInventoryScale,
  workers: benchWorkers,
} as const;

const USAGE = `Usage: npm run bench -- <${Object.keys(BENCHES).join('|')}> [--json] [--rounds N] [--seconds N] [--engine E]

  check-in    idle check-ins of --agents agents against a bare node:http server in the same run
  curve       --scenarios at each size of --sizes, each in a process of its own: a record and a page with plots in bench/out, written
              after each. --baseline FILE compares (bench/baseline.json is kept), --plan only tells how long it takes, --target
              FILE measures another server's check-in (bench/target.ts):
              check-in      idle check-ins of all agents in turn over kept connections, at saturation
              minute        all agents poll once a minute as real ones do, each from an address of its own, a ninth of them renew
              connections   idle sockets of all agents: memory for each, and check-ins on them and on new connections, with TLS too
              renewals      durable renewals (E1), at saturation
              renewals-paced  the same as a fleet brings them that polls once a minute: one after the other
              reports       reports of 1,500 packages of up to 50 hosts: unchanged, with 10 changed, and these as deltas
              lists         every list of the console, five updates and five events for each host
              herd-valid    all agents come back within a minute of a start, after an hour
              herd-expired  the same with tokens that have expired
              enrolment     all hosts enrol with one token, 64 at once, a connection each
              fan-out       an update of each of up to 10,000 hosts is approved: when has the last one its command
              live-output   100 commands write 1 kB a second each, and each is watched in the console
  full        the scenarios and sizes of the documents' tables, the most valuable first; --scenarios and --engine choose some of
              them, --sizes gives all of them other sizes, --plan only tells how long it takes
  keep        --record FILE becomes part of bench/baseline.json, and the tables of the documents are written from it;
              without --record only the tables are written
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
  events-removal  PostgreSQL: a log of --updates events is verified and removed beside writers, and dropped as a partition
  inventory-scale  size of --hosts inventories of --packages packages with half a year of changes, and questions about the fleet
  workers     idle check-ins with SERVICE_WORKERS 1 and 2: CPU of each process, and what the busiest one allows
  slow-log    a prepared read of SQLite, with and without the log of slow queries
  soak        half an hour of a fleet's day: fails if memory goes on growing or files stay open

  --json      last line of the output is one JSON object with the medians
  --rounds    alternating rounds of each candidate (default 5)
  --seconds   length of a round (default 2)
  --agents    agents that check in (default 10,000)
  --minutes   length of the soak (default 30)
  --scenarios scenarios of the curve (default check-in,enrolment,fan-out,live-output)
  --sizes     sizes of the fleet for the curve (default 1000,10000,100000,500000)
  --hosts     hosts of the lists and inventories (default 100,000) or of the evidence (20; 300 for the figures of bench/README.md)
  --packages  packages of each of these inventories (default 1,500; fewer for the questions alone)
  --updates   updates of the lists, and as many events (default 500,000)
  --list      only this list: agents, updates, packages, updates/by-host or events
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
  | (BenchOptions &
      FleetSize &
      CurveOptions &
      KeepOptions &
      SoakOptions & { packages: number } & { bench: keyof typeof BENCHES; json: boolean })
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
        packages: { type: 'string', default: '1500' },
        updates: { type: 'string', default: '500000' },
        list: { type: 'string' },
        sizes: { type: 'string' },
        scenarios: { type: 'string' },
        plan: { type: 'boolean', default: false },
        record: { type: 'string', multiple: true, default: [] },
        minutes: { type: 'string', default: '30' },
        target: { type: 'string' },
        baseline: { type: 'string' },
      },
    });
    const [bench = ''] = positionals;
    const rounds = Number(values.rounds);
    const seconds = Number(values.seconds);
    const agents = Number(values.agents);
    const minutes = Number(values.minutes);
    const hosts = Number(values.hosts ?? 100_000);
    const packages = Number(values.packages);
    const evidenceHosts = Number(values.hosts ?? 20);
    const updates = Number(values.updates);
    const engines = (['sqlite', 'postgres'] as const).filter((e) => !values.engine || e === values.engine);
    if (!isBench(bench) || positionals.length !== 1 || engines.length === 0) return null;
    if (!(rounds >= 1 && seconds > 0 && agents >= 1 && minutes > 0 && updates >= 100 && evidenceHosts >= 1))
      return null;
    if (hosts < 100 && bench !== 'evidence') return null;
    if (!(packages >= 100 && packages <= 5_000)) return null;
    const sizes = values.sizes?.split(',').map(Number) ?? null;
    if (sizes?.some((size) => !(Number.isSafeInteger(size) && size >= 1))) return null;
    const scenarios = values.scenarios?.split(',').filter(isScenario) ?? null;
    if (scenarios !== null && scenarios.join(',') !== values.scenarios) return null;
    const { target = null, baseline = null, plan, record: records } = values;
    const say = (line: string) => void process.stderr.write(`${line}\n`);
    const { json, list } = values;
    return {
      bench,
      json,
      list,
      minutes,
      sizes,
      scenarios,
      target,
      baseline,
      plan,
      records,
      rounds,
      seconds,
      agents,
      engines,
      hosts,
      packages,
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
