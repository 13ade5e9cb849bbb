import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { chooseProxy } from '@tidegate/protocol/proxy-route';
import { ECOSYSTEMS, type Ecosystem } from '@tidegate/protocol/scalars';
import { describeBundle } from '@tidegate/support/write-bundle';
import { Check, Errors } from 'typebox/value';
import { type Finding, faulty, lineOf } from './checks/finding.ts';
import { completionOf, DEFAULT_CONFIG_FOLDER, EXIT, helpFor, parseCommandLine } from './command-line.ts';
import { stateOfExecutor } from './commands/executor-key-chain.ts';
import { examine, failingOf } from './doctor.ts';
import { DEFAULT_VERSIONS } from './ecosystems/host-places.ts';
import { ECOSYSTEM_DRIVERS } from './ecosystems/registry.ts';
import { guardAgentFolder, withAgentFolder } from './enrolment/agent-folder.ts';
import { offerUpdates } from './enrolment/agent-repository.ts';
import { enrol, findUser, secureExecutor } from './enrolment/enrol.ts';
import { aptRepairer } from './executor/apt-repair.ts';
import { executeJob } from './executor/execute.ts';
import { installerOf } from './executor/installers.ts';
import { layVersions } from './executor/lay-versions.ts';
import { findNetwork } from './executor/network.ts';
import { runSpool } from './executor/run-spool.ts';
import { hooksByUnit, runHooksOfUnit } from './hooks/hooks-by-unit.ts';
import { type RunHooks, runHooks } from './hooks/run-hooks.ts';
import { describePolicy, refusalOfAgentUpdates } from './host-policy/describe-policy.ts';
import { loadHostPolicy, policyPlace } from './host-policy/policy.ts';
import { HostLayout, loadConfig } from './identity/config-file.ts';
import { DEFAULT_EXECUTOR_STATE } from './jobs/job-folder.ts';
import { EXECUTOR_UID, readHostFacts, selfCommand } from './jobs/start-executor.ts';
import { readServerTime } from './journal/journal-state.ts';
import { leaveSecondStartMark } from './journal/second-start.ts';
import { readBootId } from './platform/boot-id.ts';
import { describeFailure } from './platform/failures.ts';
import { ownUid } from './platform/file-layer.ts';
import { holdInstanceLock } from './platform/instance-lock.ts';
import { createLog } from './platform/log.ts';
import { runProgram } from './platform/run-program.ts';
import { openSpareMemory } from './platform/spare-memory.ts';
import { isBootedWithSystemd } from './platform/systemd-unit.ts';
import { AGENT_VERSION } from './platform/version.ts';
import { runLoop, runOnce } from './polling/loop.ts';
import { startRuntime } from './polling/start-runtime.ts';
import { preflight } from './preflight.ts';
import { type LookOptions, lookAsRoot, lookOnce } from './probes/look.ts';
import { DEFAULT_LOOK_FILE, FAILED_BEFORE_NAME } from './probes/look-file.ts';
import { probeTable } from './probes/probe-table.ts';
import { SYSTEMCTL } from './probes/units.ts';
import { systemdControl } from './reboots/host-control.ts';
import { observe } from './restarts/observe.ts';
import { DEFAULT_SERVICE_FILE, OWN_SERVICE_FILE } from './restarts/service-file.ts';
import { ageOfState } from './session/freshness.ts';
import { readServerCa, SERVER_CA_FILE } from './session/server-ca.ts';
import { writeSupport } from './support.ts';
import { readHeadFile } from './trust/events-head.ts';

/** Well below what systemd allows one run of the executor. */
const LINGER_MAX_SECONDS = 600;

type Values = Extract<ReturnType<typeof parseCommandLine>, { ok: true }>['values'];
type Ending = { exit: number; text: string; json: Record<string, unknown> };

async function main(args: readonly string[]): Promise<number> {
  const parsed = parseCommandLine(args);
  if (!parsed.ok) {
    if (parsed.help) process.stdout.write(helpFor(args));
    else process.stderr.write(`tidegate-agent: ${parsed.detail}. Try "tidegate-agent --help".\n`);
    return parsed.help ? EXIT.ok : EXIT.terminal;
  }
  const ending = await COMMANDS[parsed.command](parsed.values, parsed.operands);
  if (parsed.values.json) process.stdout.write(`${JSON.stringify(ending.json)}\n`);
  else if (ending.exit === EXIT.ok) process.stdout.write(ending.text === '' ? '' : `${ending.text}\n`);
  else process.stderr.write(`tidegate-agent: ${ending.text}\n`);
  return ending.exit;
}

const COMMANDS = {
  enrol: runEnrol,
  run: runAgent,
  status: showStatus,
  preflight: runPreflight,
  doctor: runDoctor,
  support: runSupport,
  execute: runExecute,
  observe: runObserve,
  probes: showProbes,
  probe: runProbeUnit,
  hooks: runHookUnit,
  'side-by-side': runSideBySide,
  completion: showCompletion,
  version: async (): Promise<Ending> => done(AGENT_VERSION, { version: AGENT_VERSION }),
};

async function runEnrol(values: Values): Promise<Ending> {
  const token = await readToken(values.token);
  if (values.server === undefined) return failed(EXIT.terminal, 'enrol needs --server URL');
  if (token.token === '') {
    return failed(EXIT.terminal, 'enrol needs a token: TIDEGATE_TOKEN, or --token - (standard input)');
  }
  if (token.isExposed) {
    process.stderr.write(
      'tidegate-agent: warning: every user of this host can read a --token in the list of processes; ' +
        'set TIDEGATE_TOKEN instead, or give --token - and the token on standard input\n',
    );
  }
  const user = values.user === undefined ? null : findUser(values.user);
  if (values.user !== undefined && user === null)
    return failed(EXIT.terminal, `there is no user ${values.user}`);
  const path = values.config ?? DEFAULT_CONFIG_FOLDER;
  const layout = readLayout(values);
  if (!layout.ok) return failed(EXIT.terminal, layout.detail);
  const ecosystems = readEcosystems(values.ecosystems);
  if (!ecosystems.ok) return failed(EXIT.terminal, ecosystems.detail);
  const secured = secureExecutor({ layout: layout.layout, user });
  if (!secured.ok) return failed(EXIT.terminal, secured.detail);
  const ca = readServerCa();
  if (!ca.ok) return failed(EXIT.terminal, ca.detail);
  const { server: serverUrl } = values;
  const used = await withAgentFolder({ path, user }, (folder) =>
    enrol({
      ...{ folder, serverUrl, token: token.token, user, layout: layout.layout, ecosystems: ecosystems.value },
      machineIdSource: values['machine-id-source'] ?? 'auto',
      allowInsecureHttp: values['allow-insecure-http'] ?? false,
      replace: values.replace ?? false,
      serverCa: ca.pem,
    }),
  );
  if (!used.ok) return failed(used.isHeld ? EXIT.failed : EXIT.terminal, used.detail);
  const outcome = used.value;
  if (!outcome.ok) return failed(outcome.retryable ? EXIT.failed : EXIT.terminal, outcome.detail);
  const note = outcome.canInstall ? '' : ' It will only report: enrol as root to let it install.';
  const { agentId, fleetId, canInstall, machineIdSource } = outcome;
  const repository = canInstall
    ? await offerUpdates(
        {
          ...{ serverUrl, serverCa: ca.pem },
          caFile: ca.pem === null ? (process.env.NODE_EXTRA_CA_CERTS ?? null) : SERVER_CA_FILE,
        },
        {
          isWanted: values['no-repository'] !== true,
          refusal: refusalOfAgentUpdates(loadHostPolicy(policyPlace(values.policy))),
        },
      )
    : null;
  const about = repository === null ? '' : ` ${repository.detail}.`;
  const route = chooseProxy(new URL(serverUrl), process.env);
  const unit =
    route.kind === 'proxy'
      ? ` The unit of the agent needs ${route.variable} as well: "systemctl edit tidegate-agent", [Service], Environment=${route.variable}=…`
      : '';
  return done(
    `enrolled as agent ${agentId}; its machine id is from ${machineIdSource}.${note}${about}${unit}`,
    {
      agent_id: agentId,
      fleet_id: fleetId,
      can_install: canInstall,
      machine_id_source: machineIdSource,
      repository: repository?.file ?? null,
    },
  );
}

/** The places from the arguments, as members of config.json. */
function readLayout(values: Values): { ok: true; layout: HostLayout } | { ok: false; detail: string } {
  const named = {
    apt_config: values['apt-config'],
    dnf_root: values['dnf-root'],
    npm_prefix: values['npm-prefix'],
    npm_projects: values['npm-project'],
    npm_registry: values['npm-registry'],
    pypi_environments: values['pypi-environment'],
    pypi_index: values['pypi-index'],
    agent_versions: values['agent-versions'],
    release_key: values['release-key'],
    executor_state: values['executor-state'],
    spool: values.spool,
  };
  const layout: unknown = Object.fromEntries(
    Object.entries(named).filter(([, value]) => value !== undefined),
  );
  if (Check(HostLayout, layout)) return { ok: true, layout };
  const [fault] = Errors(HostLayout, layout);
  const option = (fault?.instancePath.split('/')[1] ?? '')
    .replaceAll('_', '-')
    .replace(/(project|environment)s$/, '$1');
  const allowed = /registry|index/.test(option) ? 'an http:// or https:// address' : 'an absolute path';
  return { ok: false, detail: `--${option} takes ${allowed}` };
}

/** The package managers to use; null for all on the host. */
function readEcosystems(
  list: string | undefined,
): { ok: true; value: Ecosystem[] | null } | { ok: false; detail: string } {
  if (list === undefined) return { ok: true, value: null };
  const named = [...new Set(list.split(',').map((name) => name.trim()))];
  const value = ECOSYSTEMS.filter((ecosystem) => named.includes(ecosystem));
  if (value.length === named.length) return { ok: true, value };
  return { ok: false, detail: `--ecosystems takes a list of ${ECOSYSTEMS.join(', ')}, separated by commas` };
}

/** A token in the arguments can be read by every user of the host, so there are two other ways. */
async function readToken(option: string | undefined): Promise<{ token: string; isExposed: boolean }> {
  if (option === undefined) return { token: (process.env.TIDEGATE_TOKEN ?? '').trim(), isExposed: false };
  if (option !== '-') return { token: option.trim(), isExposed: true };
  let text = '';
  for await (const chunk of process.stdin.setEncoding('utf8')) text += chunk;
  return { token: text.trim(), isExposed: false };
}

async function runAgent(values: Values): Promise<Ending> {
  const folder = values.config ?? DEFAULT_CONFIG_FOLDER;
  const log = createLog((line) => process.stderr.write(line));
  const exists = loadConfig(folder);
  if (!exists.ok) {
    const advice = exists.reason === 'absent' ? ': enrol this host first' : '';
    return failed(EXIT.terminal, `${exists.detail}${advice}`);
  }
  const guarded = guardAgentFolder(folder);
  if (!guarded.ok) return failed(EXIT.terminal, guarded.detail);
  const locked = await holdInstanceLock(folder);
  if (!locked.ok) {
    if (locked.reason === 'held') leaveSecondStartMark(folder);
    return failed(EXIT.failed, locked.detail); // section 5
  }
  const loaded = loadConfig(folder); // under the lock: nobody changes it any more
  if (!loaded.ok) return failed(EXIT.terminal, loaded.detail);
  const ca = readServerCa();
  if (!ca.ok) return failed(EXIT.terminal, ca.detail);
  const policy = policyPlace(values.policy);
  const spareMemory = await openSpareMemory();
  const hostRoot = values['host-root'] ?? '/';
  const selfCheck = async () => failingOf(await findingsOf(values));
  const parts = {
    ...{ drivers: ECOSYSTEM_DRIVERS, log, spareMemory, policy, sleep: pauseUntil, hostRoot },
    ...{ serverCa: ca.pem, selfCheck },
  };
  const started = startRuntime(folder, loaded.config, parts);
  if (!started.ok) return failed(EXIT.terminal, started.detail);
  log.info('agent started', { version: AGENT_VERSION, agent_id: loaded.config.agent_id });
  const stop = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => stop.abort());
  const failure = values.once
    ? await runOnce(started.runtime, { sleep: pauseUntil })
    : await runLoop(started.runtime, { signal: stop.signal, sleep: pauseUntil });
  locked.lock.release();
  if (failure === null) return done('', { outcome: 'ok' });
  const exit = failure.kind === 'terminal' ? EXIT.terminal : EXIT.failed;
  const error = failure.kind === 'terminal' ? failure.error : failure.kind;
  return { exit, text: describeFailure(failure), json: { outcome: 'failed', error, detail: failure.detail } };
}

async function pauseUntil(ms: number, signal: AbortSignal): Promise<void> {
  try {
    await pause(ms, undefined, { signal });
  } catch (error) {
    if (!signal.aborted) throw error;
  }
}

async function showStatus(values: Values): Promise<Ending> {
  const folder = values.config ?? DEFAULT_CONFIG_FOLDER;
  const loaded = loadConfig(folder);
  if (!loaded.ok) return failed(EXIT.failed, loaded.detail);
  const { config } = loaded;
  const intervalMs = config.polling.check_in_seconds * 1_000;
  const newest = ageOfState(readServerTime(folder), { intervalMs, nowMs: Date.now() });
  const executorFolder = config.paths?.executor_state ?? DEFAULT_EXECUTOR_STATE;
  const json = {
    server_url: config.server_url,
    agent_id: config.agent_id,
    fleet_id: config.trusted_keys.fleet_id,
    strict: config.strict,
    key_set_version: config.trusted_keys.version,
    active_keys: config.trusted_keys.keys.filter((key) => key.status === 'active').length,
    check_in_seconds: config.polling.check_in_seconds,
    renewal_pending: config.pending_request_id !== null,
    host_policy: describePolicy(loadHostPolicy(policyPlace(values.policy))),
    newest_state: newest.serverTime,
    newest_state_is_old: newest.isOld,
    executor_newest_state: stateOfExecutor(executorFolder)?.newest_state ?? null,
    machine_id_source: config.machine_id_source,
  };
  const { newest: head, rollback } = readHeadFile(folder);
  const shown = {
    ...json,
    events_head: head === null ? 'none yet' : `${head.hash}:${head.position}`,
    ...(rollback === null ? {} : { events_rolled_back: `${rollback.kept.hash}:${rollback.kept.position}` }),
  };
  const lines = Object.entries(shown).map(([name, value]) => `${name.padEnd(20)} ${value}`);
  if (newest.isOld) lines.push(`warning: the newest signed state of the fleet is ${newest.ageSeconds} s old`);
  return done(lines.join('\n'), { ...json, events_head: head, events_rolled_back: rollback });
}

async function runDoctor(values: Values): Promise<Ending> {
  return endingOf(await findingsOf(values));
}

async function runSupport(values: Values): Promise<Ending> {
  const { out, log = null } = values;
  if (out === undefined) return failed(EXIT.terminal, 'support needs --out FILE');
  const folder = values.config ?? DEFAULT_CONFIG_FOLDER;
  const findings = await findingsOf(values);
  const written = writeSupport({ folder, out, log, findings, env: process.env, nowMs: Date.now() });
  if (!written.ok) return failed(EXIT.failed, written.detail);
  return done(describeBundle(out, written), { file: out, bytes: written.bytes, ...written.manifest });
}

async function findingsOf(values: Values): Promise<Finding[]> {
  const folder = values.config ?? DEFAULT_CONFIG_FOLDER;
  const ca = readServerCa();
  const parts = {
    serverCa: ca.ok ? ca.pem : null,
    drivers: ECOSYSTEM_DRIVERS,
    facts: readHostFacts(),
    nowMs: Date.now(),
    policy: policyPlace(values.policy),
  };
  const findings = await examine(folder, parts);
  return ca.ok ? findings : [faulty('certificate', ca.detail), ...findings];
}

async function runPreflight(values: Values): Promise<Ending> {
  if (values.server === undefined) return failed(EXIT.terminal, 'preflight needs --server URL');
  const layout = readLayout(values);
  if (!layout.ok) return failed(EXIT.terminal, layout.detail);
  const ca = readServerCa();
  if (!ca.ok) return endingOf([faulty('certificate', ca.detail)]);
  const findings = await preflight({
    serverCa: ca.pem,
    ...{ serverUrl: values.server, allowInsecureHttp: values['allow-insecure-http'] ?? false },
    ...{ machineIdSource: values['machine-id-source'] ?? 'auto', layout: layout.layout },
    ...{ folder: values.config ?? DEFAULT_CONFIG_FOLDER, drivers: ECOSYSTEM_DRIVERS },
    ...{ facts: readHostFacts(), env: process.env, nowMs: Date.now },
  });
  return endingOf(findings);
}

function endingOf(findings: readonly Finding[]): Ending {
  const isSound = findings.every((finding) => finding.ok);
  const lines = findings.map(lineOf);
  const text = isSound ? lines.join('\n') : `something is wrong\n${lines.join('\n')}`;
  return { exit: isSound ? EXIT.ok : EXIT.failed, text, json: { ok: isSound, findings } };
}

async function showCompletion(_values: Values, [shell = '']: readonly string[]): Promise<Ending> {
  const script = completionOf(shell);
  if (script === null) return failed(EXIT.terminal, `"${shell}" is not bash, zsh or fish`);
  return done(script.trimEnd(), { shell, script });
}

/** How long a process stays after its work, so that systemd never counts too many starts. */
function stayOf(
  values: Values,
  option: 'linger' | 'rest',
): { ok: true; ms: number } | { ok: false; detail: string } {
  const seconds = Number(values[option] ?? '0');
  return Number.isInteger(seconds) && seconds >= 0 && seconds <= LINGER_MAX_SECONDS
    ? { ok: true, ms: seconds * 1_000 }
    : { ok: false, detail: `--${option} takes whole seconds from 0 to ${LINGER_MAX_SECONDS}` };
}

async function runExecute(values: Values): Promise<Ending> {
  const state = values.state ?? DEFAULT_EXECUTOR_STATE;
  if ((values.job === undefined) === (values.spool === undefined)) {
    return failed(EXIT.terminal, 'execute needs either --job DIR or --spool DIR');
  }
  const linger = stayOf(values, 'linger');
  if (!linger.ok) return failed(EXIT.terminal, linger.detail);
  // An agent that is root looks by itself and has no observer's folder.
  const serviceFile = values.spool === undefined ? join(state, OWN_SERVICE_FILE) : DEFAULT_SERVICE_FILE;
  const places = {
    state,
    policy: policyPlace(values.policy),
    serviceFile,
    lookFile: values.probes ?? DEFAULT_LOOK_FILE,
  };
  const elapsedMs = () => performance.now();
  // systemd has a unit for hooks, with more rights than the executor's; elsewhere they run here, without network.
  const ownHooks: RunHooks = (...asked) => runHooks({ ...places, elapsedMs }, ...asked);
  const hooks = values.spool === undefined ? ownHooks : hooksByUnit({ ...places, systemctl: SYSTEMCTL });
  const host = systemdControl(values['host-root']);
  const parts = {
    installerOf,
    repairer: aptRepairer,
    runHooks: hooks,
    host,
    pause,
    nowMs: Date.now,
    findNetwork,
  };
  const execute = (job: string) => executeJob({ ...places, ...parts, job });
  if (values.spool === undefined) {
    const outcome = await execute(values.job ?? '');
    return outcome.ok ? told(1, { result: outcome.result }) : failed(EXIT.failed, outcome.detail);
  }
  const ran = await runSpool({
    ...{ path: values.spool, lingerMs: linger.ms, execute, pause },
    elapsedMs: () => performance.now(),
  });
  if (!ran.ok) return failed(EXIT.failed, ran.detail);
  const { answered, setAside, faults } = ran;
  if (faults.length > 0) return failed(EXIT.failed, faults.slice(0, 5).join('; '));
  return told(answered, { answered, set_aside: setAside });
}

async function runSideBySide(values: Values): Promise<Ending> {
  if (process.platform !== 'linux' || ownUid() !== 0)
    return failed(EXIT.terminal, 'side-by-side needs root on Linux');
  if (!isBootedWithSystemd())
    return failed(EXIT.terminal, 'side-by-side needs systemd: it starts and watches the agent');
  const [program, script] = selfCommand();
  if (script !== undefined) return failed(EXIT.terminal, 'side-by-side needs the compiled agent');
  const owner = await findOwningPackage();
  if (owner !== null) {
    return failed(
      EXIT.terminal,
      `${owner} installed the agent on this host, and updates it: nothing is changed`,
    );
  }
  const laid = layVersions({
    ...{ program, version: AGENT_VERSION, folder: DEFAULT_VERSIONS, command: '/usr/bin/tidegate-agent' },
    ...{ units: '/etc/systemd/system', configFolder: values.config ?? DEFAULT_CONFIG_FOLDER },
  });
  if (!laid.ok) return failed(EXIT.failed, laid.detail);
  const reloaded = await runProgram({
    ...{ program: SYSTEMCTL, args: ['daemon-reload'], timeoutMs: 60_000, maxOutputBytes: 64 * 1024 },
  });
  if (!reloaded.ok) return failed(EXIT.failed, `systemd was not reloaded: ${reloaded.detail}`);
  const text = `version ${AGENT_VERSION} is in use and proven; now: systemctl restart tidegate-agent`;
  return done(text, { version: AGENT_VERSION, folder: DEFAULT_VERSIONS });
}

/** The package manager that installed the agent; null: none did. */
async function findOwningPackage(): Promise<'dpkg' | 'rpm' | null> {
  if (existsSync('/var/lib/dpkg/info/tidegate-agent.list')) return 'dpkg';
  const asked = await runProgram({
    ...{ program: 'rpm', args: ['-q', 'tidegate-agent'], timeoutMs: 60_000, maxOutputBytes: 64 * 1024 },
  });
  return asked.ok ? 'rpm' : null;
}

async function runObserve(values: Values): Promise<Ending> {
  const out = values.out ?? DEFAULT_SERVICE_FILE;
  if (!out.startsWith('/')) return failed(EXIT.terminal, '--out takes an absolute path');
  if (process.platform !== 'linux') return failed(EXIT.terminal, 'observe needs the /proc of Linux');
  const elapsedMs = () => performance.now();
  const observed = observe({ out, proc: '/proc', bootId: readBootId(), nowMs: Date.now(), elapsedMs });
  if (!observed.ok) return failed(EXIT.failed, observed.detail);
  const { stale, cannot } = observed.file;
  const note = cannot === null ? '' : `; ${cannot}`;
  return done(`${stale.length} service(s) run replaced files${note}`, { stale: stale.length, cannot });
}

/** What a look at the probes of this host takes. */
function lookOf(values: Values): LookOptions {
  const state = values.state ?? DEFAULT_EXECUTOR_STATE;
  return {
    ...{ policy: policyPlace(values.policy), failedBefore: join(state, FAILED_BEFORE_NAME) },
    ...{ writerUid: EXECUTOR_UID, systemctl: SYSTEMCTL, nowMs: Date.now, elapsedMs: () => performance.now() },
  };
}

async function showProbes(values: Values): Promise<Ending> {
  const { report } = await lookOnce(lookOf(values));
  const isSound = report.probes.every(({ state }) => state === 'green');
  const table = probeTable(report.probes);
  const text = isSound ? table : `not every probe is green\n${table}`;
  return { exit: isSound ? EXIT.ok : EXIT.failed, text, json: { ok: isSound, ...report } };
}

async function runProbeUnit(values: Values): Promise<Ending> {
  const out = values.out ?? DEFAULT_LOOK_FILE;
  if (!out.startsWith('/')) return failed(EXIT.terminal, '--out takes an absolute path');
  const rest = stayOf(values, 'rest');
  if (!rest.ok) return failed(EXIT.terminal, rest.detail);
  const looked = await lookAsRoot({ ...lookOf(values), out });
  await pause(rest.ms); // whoever asks again and again does not have them run all the time
  if (!looked.ok) return failed(EXIT.failed, looked.detail);
  const { probes } = looked.look.report;
  return done(`${probes.length} probe(s) have run`, { probes: probes.length });
}

async function runHookUnit(values: Values): Promise<Ending> {
  const state = values.state ?? DEFAULT_EXECUTOR_STATE;
  const means = { policy: policyPlace(values.policy), state, elapsedMs: () => performance.now() };
  const ran = await runHooksOfUnit(means, values.run ?? '');
  if (!ran.ok) return failed(EXIT.terminal, ran.detail);
  const { runs, failed: fault } = ran.end;
  return done(fault === null ? '' : `${fault.name}: ${fault.detail}`, { hooks: runs.length, failed: fault });
}

function told(answered: number, json: Record<string, unknown>): Ending {
  return done(`${answered} job(s) answered`, json);
}

function done(text: string, json: Record<string, unknown>): Ending {
  return { exit: EXIT.ok, text, json };
}

function failed(exit: number, detail: string): Ending {
  return { exit, text: detail, json: { outcome: 'failed', detail } };
}

// Last of all: everything above has to be initialised by then.
process.exitCode = await main(process.argv.slice(2));
