import type { Point } from './record.ts';

type Points = readonly Point[];
type Row = readonly string[];

/** A table between `<!-- figures: NAME -->` and `<!-- /figures -->`. */
const BLOCK = /(<!-- figures: ([\w-]+) -->\n)[\s\S]*?(<!-- \/figures -->)/g;
const NONE = 'Not measured yet.\n';

const TABLES: Readonly<Record<string, (points: Points) => string>> = {
  numbers: numbersTable,
  curve: curveTable,
  million: millionTable,
  'check-in': (points) => allFigures(points, 'check-in'),
  minute: (points) => allFigures(points, 'minute'),
  connections: (points) => allFigures(points, 'connections'),
  renewals: (points) => allFigures(points, 'renewals'),
  reports: (points) => allFigures(points, 'report'),
  lists: (points) => allFigures(points, 'list '),
  herd: (points) => allFigures(points, 'herd'),
  storms: (points) =>
    ['enrolment', 'fan-out', 'live-output'].map((one) => allFigures(points, one, '')).join('') || NONE,
};

/** The text of a document with its tables made of these points. Throws if it asks for a table that is not there. */
export function withTables(text: string, points: Points): string {
  return text.replaceAll(BLOCK, (_, begin: string, name: string, end: string) => {
    const table = TABLES[name];
    if (table === undefined) throw new Error(`there is no table of figures named "${name}"`);
    return `${begin}\n${table(points)}\n${end}`;
  });
}

/** Every figure of the scenarios that begin so, by scenario, engine and size. */
function allFigures(points: Points, scenario: string, ifNone = NONE): string {
  const found = points
    .filter((point) => point.scenario.startsWith(scenario))
    .toSorted((a, b) => orderOf(a).localeCompare(orderOf(b)));
  if (found.length === 0) return ifNone;
  const head = [
    ...['scenario', 'server', 'agents', 'CPU, server', 'with database', 'times the hello', 'a second'],
    ...['p50, p99', 'longest', 'resident', 'load', 'day'],
  ];
  const rows = found.map((point) => [
    ...[point.scenario, engineOf(point), count(point.agents)],
    ...[time(point.cpuUs), time(point.cpuWithDatabaseUs), ratio(point.cpuRatio), count(point.perSecond)],
    `${time(point.p50Ms * 1_000)}, ${time(point.p99Ms * 1_000)}`,
    point.longestMs === undefined ? '' : time(point.longestMs * 1_000),
    ...[`${count(point.rssMb)} MB`, loadOf(point), point.at.slice(0, 10)],
  ]);
  const more = found
    .filter((point) => point.more !== undefined)
    .map((point) => {
      const facts = Object.entries(point.more ?? {}).map(
        ([name, value]) => `${name} ${value.toLocaleString('en')}`,
      );
      return `- ${point.scenario}, ${engineOf(point)}, ${count(point.agents)}: ${facts.join('; ')}.\n`;
    });
  return `${tableOf(head, rows)}${more.length > 0 ? `\n${more.join('')}` : ''}`;
}

/** What the first page tells: both engines beside each other. */
function numbersTable(points: Points): string {
  const row = (
    words: string,
    of: { scenario: string; agents: number },
    tell: (point: Point) => string,
  ): Row => [
    words,
    ...['sqlite', 'postgres'].map((engine) => {
      const point = find(points, { ...of, engine });
      return point === undefined ? '' : `${tell(point)}${restOf(point)}`;
    }),
  ];
  const cpu = (point: Point) =>
    `${time(point.cpuUs)}${withDatabase(point)}, ${ratio(point.cpuRatio)} times the hello of ${time(point.helloUs)}`;
  const checkIns = [1_000, 10_000, 100_000, 500_000].map((agents) =>
    row(`CPU of an idle check-in, ${count(agents)} agents, saturated`, { scenario: 'check-in', agents }, cpu),
  );
  const minutes = ['kept', 'new'].map((way) =>
    row(
      `${count(100_000)} agents once a minute, ${way === 'kept' ? 'on connections that are kept' : 'a connection each time'}: one core`,
      { scenario: `minute, ${way}`, agents: 100_000 },
      (point) =>
        `${point.more?.['core %, with database'] ?? '?'} %, p99 ${time(point.p99Ms * 1_000)}, ${count(point.rssMb)} MB`,
    ),
  );
  const tenThousand = { scenario: 'check-in', agents: 10_000 };
  const reports = {
    unchanged: 'unchanged',
    'ten changed, whole': 'ten changed, whole',
    'ten changed, as a delta': 'these ten as a delta',
  };
  const rows = [
    ...checkIns,
    row(
      'idle check-ins a second, 10,000 agents; p99 at 64 connections',
      tenThousand,
      (point) => `${count(point.perSecond)}; ${time(point.p99Ms * 1_000)}`,
    ),
    ...minutes,
    row(
      'CPU of a renewal, on disk before its answer',
      { scenario: 'renewals', agents: 10_000 },
      (point) => `${cpu(point)}; ${count(point.perSecond)} a second`,
    ),
    ...Object.entries(reports).map(([kind, words]) =>
      row(`CPU of a report of 1,500 packages, ${words}`, { scenario: `report, ${kind}`, agents: 50 }, cpu),
    ),
  ];
  return tableOf(
    ['measured by `npm run bench -- full`', 'SQLite', 'PostgreSQL'],
    rows.filter(([, ...cells]) => cells.some((cell) => cell !== '')),
  );
}

/** Check-ins against the size of the fleet. */
function curveTable(points: Points): string {
  const found = points
    .filter(({ scenario }) => scenario === 'check-in')
    .toSorted((a, b) => orderOf(a).localeCompare(orderOf(b)));
  if (found.length === 0) return NONE;
  const head = ['engine', 'agents', 'CPU', 'with PostgreSQL', 'times a bare `node:http` answer', 'resident'];
  return tableOf(
    head,
    found.map((point) => [
      ...[engineOf(point), count(point.agents), time(point.cpuUs)],
      ...[time(point.cpuWithDatabaseUs), ratio(point.cpuRatio), `${count(point.rssMb)} MB${restOf(point)}`],
    ]),
  );
}

/** Cores of a million hosts that check in every five minutes, by what one of each costs on PostgreSQL. */
function millionTable(points: Points): string {
  const hosts = 1_000_000;
  const often: [string, string, number, number][] = [
    ['check-ins over kept connections', 'check-in', 100_000, hosts / 300],
    ['the same with a connection each', 'minute, new', 100_000, hosts / 300],
    [
      'renewals: a token lives 15 minutes, and is renewed at every second check-in',
      'renewals',
      10_000,
      hosts / 600,
    ],
    [
      'a delta of each host on the day after a patch night',
      'report, ten changed, as a delta',
      50,
      hosts / 86_400,
    ],
    ['the same within two hours', 'report, ten changed, as a delta', 50, hosts / 7_200],
  ];
  const rows = often.flatMap(([words, scenario, agents, perSecond]) => {
    const point =
      find(points, { scenario, agents, engine: 'postgres' }) ??
      find(points, { scenario, agents, engine: 'sqlite' });
    if (point === undefined) return [];
    const cost = `${time(point.cpuWithDatabaseUs)} on ${engineOf(point)}${restOf(point)}`;
    const cores = ((point.cpuWithDatabaseUs * perSecond) / 1e6).toFixed(1);
    return [[words, `${count(Math.round(perSecond))}/s`, cost, `${cores} cores`]];
  });
  return rows.length === 0 ? NONE : tableOf(['what', 'how often', 'cost of one', 'together'], rows);
}

function find(points: Points, of: { scenario: string; agents: number; engine: string }): Point | undefined {
  return points.find(
    ({ scenario, agents, server }) =>
      scenario === of.scenario && agents === of.agents && server === `tidegate on ${of.engine}`,
  );
}

function tableOf(head: Row, rows: readonly Row[]): string {
  const lines = [head, head.map(() => '---'), ...rows];
  return `${lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n')}\n`;
}

function engineOf({ server }: Point): string {
  return server.replace('tidegate on ', '').replace('sqlite', 'SQLite').replace('postgres', 'PostgreSQL');
}

/** By scenario, server and size. */
function orderOf({ scenario, server, agents }: Point): string {
  return `${scenario}\n${server}\n${String(agents).padStart(9, '0')}`;
}

function loadOf({ load }: Point): string {
  return `${load.before} to ${load.after}`;
}

/** A load of the machine beyond its own work is told wherever a figure stands. */
const AT_REST_MAX = 2.5;
function restOf(point: Point): string {
  return point.load.before > AT_REST_MAX ? ` (beside other work, load ${loadOf(point)})` : '';
}

function withDatabase({ cpuUs, cpuWithDatabaseUs }: Point): string {
  return cpuWithDatabaseUs > cpuUs * 1.005 ? ` (${time(cpuWithDatabaseUs)} with the database)` : '';
}

function count(value: number): string {
  return value.toLocaleString('en');
}

function ratio(value: number): string {
  return value >= 100 ? count(Math.round(value)) : value.toFixed(2);
}

/** With three digits at most, in the unit that people would say. */
function time(us: number): string {
  if (us < 1_000) return `${digits(us)} µs`;
  if (us < 1_000_000) return `${digits(us / 1_000)} ms`;
  return `${digits(us / 1_000_000)} s`;
}

function digits(value: number): string {
  return value >= 100
    ? count(Math.round(value))
    : String(Number(value.toPrecision(2 + (value >= 10 ? 1 : 0))));
}
