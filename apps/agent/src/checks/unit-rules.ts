import { doubtful, type Finding, faulty, sound } from './finding.ts';

/** A unit as `systemctl show` has it. */
export interface UnitFacts {
  load: string;
  active: string;
  /** Whether it starts at boot. */
  file: string;
}

/** Units of an installed agent, in the order of their importance. */
export const AGENT_UNITS = [
  'tidegate-agent.service',
  'tidegate-executor.path',
  'tidegate-observer.timer',
  'tidegate-probe.path',
] as const;
export type AgentUnit = (typeof AGENT_UNITS)[number];

/** What the host lacks while a unit does not run. */
const LOSSES: Readonly<Record<AgentUnit, string>> = {
  'tidegate-agent.service': 'this host does not check in',
  'tidegate-executor.path': 'nothing is installed',
  'tidegate-observer.timer': 'services that run replaced files are not reported',
  'tidegate-probe.path': 'probes of root are not run',
};

/** Blocks of `systemctl show`, separated by an empty line; a unit without its three properties is left out. */
export function parseUnits(text: string): Map<string, UnitFacts> {
  const units = new Map<string, UnitFacts>();
  for (const block of text.split(/\n\s*\n/)) {
    const of = (name: string) => new RegExp(`^${name}=(.*)$`, 'm').exec(block)?.[1];
    const [id, load, active, file] = ['Id', 'LoadState', 'ActiveState', 'UnitFileState'].map(of);
    if (id && load !== undefined && active !== undefined) units.set(id, { load, active, file: file ?? '' });
  }
  return units;
}

export function judgeUnits(units: ReadonlyMap<string, UnitFacts>): Finding[] {
  const findings = AGENT_UNITS.map((unit) => judgeUnit(unit, units.get(unit)));
  const bad = findings.filter(({ ok, isDoubtful }) => !ok || isDoubtful);
  return bad.length > 0 ? bad : [sound('units', 'every unit of the agent runs and starts at boot')];
}

function judgeUnit(unit: AgentUnit, facts: UnitFacts | undefined): Finding {
  const check = 'units';
  const loss = LOSSES[unit];
  if (facts === undefined || facts.load === 'not-found') {
    return doubtful(check, `there is no ${unit}, so ${loss}: install it from the package tidegate-agent`);
  }
  const judge = unit === 'tidegate-agent.service' || unit === 'tidegate-executor.path' ? faulty : doubtful;
  if (facts.load === 'masked')
    return judge(check, `${unit} is masked, so ${loss}: "systemctl unmask ${unit}"`);
  if (facts.active === 'failed') {
    return judge(
      check,
      `${unit} has failed, so ${loss}: see "journalctl -u ${unit}", then "systemctl restart ${unit}"`,
    );
  }
  if (!/^(active|activating|reloading)$/.test(facts.active)) {
    return judge(check, `${unit} is ${facts.active}, so ${loss}: "systemctl enable --now ${unit}"`);
  }
  if (facts.file === 'disabled') {
    return doubtful(check, `${unit} does not start at boot: "systemctl enable ${unit}"`);
  }
  return sound(check, `${unit} runs`);
}
