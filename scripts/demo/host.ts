import { createHash, randomUUID } from 'node:crypto';
import {
  CheckInAnswer,
  type CommandResult,
  InventoryAnswer,
  type InventoryUpdate,
  RegisterAnswer,
  TokenPair,
} from '@tidegate/protocol/agent-api';
import { CommandPayload, type Envelope } from '@tidegate/protocol/documents';
import { MACHINE_ID_HEADER } from '@tidegate/protocol/headers';
import type { Plan, PlanAction } from '@tidegate/protocol/plan';
import type { RestartReport } from '@tidegate/protocol/restarts';
import type { TimelinessReport } from '@tidegate/protocol/timeliness';
import type { Static, TSchema } from 'typebox';
import { Value } from 'typebox/value';
import { BASE, type HOSTS, OF_GROUP, RELEASES, type Release, SYSTEMS } from './catalogue.ts';

const AGENT_VERSION = '0.2.0';
type Given = (typeof HOSTS)[number];
type System = (typeof SYSTEMS)[Given['system']];

/** What the hosts of a demo share: the server, the time, and what their archives offer. */
export interface HostWorld {
  url(): string;
  now(): number;
  offers(): readonly Release[];
  /** Packages whose installation fails here. */
  fails(host: Given, name: string): boolean;
}

/** A simulated host: its requests are those of the agent, but it verifies no signature and installs nothing. */
export function createHost(given: Given, world: HostWorld) {
  const system: System = SYSTEMS[given.system];
  const packages = new Map(Object.entries({ ...BASE[given.system], ...onlyHere(given) }));
  const updates = new Map<string, Release>();
  let session = { agentId: '', access: '', refresh: '' };
  let machine = `machine-of-${given.name}`;
  /** As an agent that is refused for its machine: it ends, and systemd does not start it again. */
  let hasGivenUp = false;
  let boot = { id: randomUUID(), sinceMs: world.now() - 40 * 86_400_000 };
  let digest = '';
  let received: string[] = [];
  let todo: CommandPayload[] = [];
  let owesProof = false;
  /** When the package lists were last fetched; null: with every report. */
  let listsSinceMs: number | null = null;
  const stale = { kernel: false, services: new Set<string>() };
  const text = () => new Date(world.now()).toISOString();

  async function send(
    method: string,
    path: string,
    body: object,
    bearer = session.access,
  ): Promise<Response> {
    return fetch(`${world.url()}/api/v1/agents${path}`, {
      method,
      headers: {
        ...{ 'content-type': 'application/json', authorization: `Bearer ${bearer}` },
        [MACHINE_ID_HEADER]: machine,
      },
      body: JSON.stringify(body),
    });
  }

  /** Asks in the name of the host; renews its tokens first where they have expired. Null where it is refused, or comes too late. */
  async function ask<T extends TSchema>(
    method: string,
    path: string,
    { body, answer }: { body: object; answer?: T },
  ): Promise<Static<T> | null | undefined> {
    if (hasGivenUp) return null;
    let reply = await send(method, `/${session.agentId}${path}`, body);
    if (reply.status === 401 && (await renew()))
      reply = await send(method, `/${session.agentId}${path}`, body);
    if (!reply.ok) {
      const said = await reply.text();
      const isLate = reply.status === 409;
      hasGivenUp = !isLate && machine.startsWith('another');
      if (!isLate && !hasGivenUp)
        throw new Error(`${given.name}: ${method} ${path} got ${reply.status} ${said}`);
      return null;
    }
    return answer && Value.Parse(answer, await reply.json());
  }

  async function renew(): Promise<boolean> {
    const body = { refresh_token: session.refresh, request_id: randomUUID() };
    const reply = await send('POST', '/renew', body);
    if (!reply.ok) return false;
    const pair = Value.Parse(TokenPair, await reply.json());
    session = { ...session, access: pair.access_token, refresh: pair.refresh_token };
    return true;
  }

  async function enrol(token: string): Promise<void> {
    const body = { hostname: `${given.name}.example.com`, os: system.os, agent_version: AGENT_VERSION };
    const reply = await send('POST', '/register', body, token);
    if (reply.status !== 201) throw new Error(`${given.name} did not enrol: ${await reply.text()}`);
    const made = Value.Parse(RegisterAnswer, await reply.json());
    session = { agentId: made.agent_id, access: made.access_token, refresh: made.refresh_token };
  }

  async function report(): Promise<void> {
    const offered = world.offers().filter((one) => one.system === given.system && isNewer(one));
    const newest = new Map(offered.map((one) => [one.name, one]));
    const body = {
      ...{ scanned_at: text(), complete: true },
      packages: [...packages].map(([name, version]) => ({
        ...{ name, version, arch: system.arch, origin: system.origin },
        ...{ source_name: sourceOf(name), source_version: version },
      })),
      updates: [...newest.values()].map((one) => ({ ...updateOf(one), plan: planOf([one]) })),
    };
    const sent = JSON.stringify(body);
    const said = await ask('PUT', `/inventory/${system.ecosystem}`, { body, answer: InventoryAnswer });
    digest = createHash('sha256').update(sent).digest('hex');
    updates.clear();
    for (const { update_id, name } of said?.updates ?? []) {
      const release = newest.get(name);
      if (release) updates.set(update_id, release);
    }
    const ageSeconds = Math.floor((world.now() - (listsSinceMs ?? world.now())) / 1_000);
    const timeliness: TimelinessReport = { clock: text(), lists: { [system.ecosystem]: ageSeconds } };
    await ask('PUT', '/timeliness', { body: timeliness });
  }

  const isNewer = ({ name, to }: Release) => packages.has(name) && packages.get(name) !== to;

  async function checkIn(): Promise<void> {
    const body = {
      ...{ agent_version: AGENT_VERSION, boot_id: boot.id, load: [0.2, 0.3, 0.2], received },
      uptime_seconds: Math.floor((world.now() - boot.sinceMs) / 1_000),
      ...{ key_set_version: 1, inventory_digest: digest === '' ? {} : { [system.ecosystem]: digest } },
    };
    const said = await ask('POST', '/check-in', { body, answer: CheckInAnswer });
    if (!said) return;
    const fresh = said.commands.map(commandIn).filter(({ command_id: id }) => !received.includes(id));
    received = fresh.map(({ command_id: id }) => id);
    todo.push(...fresh);
  }

  /** Does what was ordered since the last time. */
  async function work(pause: () => Promise<void> = async () => {}): Promise<void> {
    const now = todo;
    todo = [];
    for (const command of now) await obey(command, pause);
  }

  async function obey(command: CommandPayload, pause: () => Promise<void>): Promise<void> {
    const end = async (result: Partial<CommandResult>) =>
      void (await tell(command, {
        ...{ status: 'success', exit_code: 0, started_at: text(), finished_at: text() },
        ...result,
      }));
    switch (command.action) {
      case 'plan_update': {
        const { updates: named } = command.params;
        const releases = named.flatMap(({ update_id: id }) => updates.get(id) ?? []);
        if (releases.length < named.length)
          return end({ status: 'failed', exit_code: 1, reason: 'an update is gone' });
        const sets = [named.map(({ update_id: id }) => id)];
        await ask('PUT', '/plans', { body: { sets, plan: planOf(releases) } });
        return end({});
      }
      case 'install_update':
        return install(command, pause);
      case 'reboot':
        // Called off before it began.
        if (!(await tell(command, { status: 'running', started_at: text() }))) return;
        await pause();
        boot = { id: randomUUID(), sinceMs: world.now() };
        stale.kernel = false;
        stale.services.clear();
        // The server takes a report of the boot that it knows.
        await checkIn();
        await tellRestarts();
        owesProof = true;
        return end({ boot_id: boot.id });
      case 'restart_services': {
        const units = [...stale.services].map((unit) => ({ unit, outcome: 'restarted' as const }));
        stale.services.clear();
        return end({ units, restarts: restarts() });
      }
      default:
        return end({});
    }
  }

  /** Runs the probes after a reboot, once the server has seen that the host is back: earlier looks prove nothing. */
  async function prove(): Promise<void> {
    if (!owesProof) return;
    owesProof = false;
    await tellProbes(true);
  }

  async function install(
    command: CommandPayload & { action: 'install_update' },
    pause: () => Promise<void>,
  ): Promise<void> {
    const ids = command.params.update_ids;
    const releases = ids.flatMap((id) => updates.get(id) ?? []);
    await tell(command, { status: 'running', started_at: text() });
    await pause();
    const started = text();
    if (releases.length === ids.length) {
      await tell(command, { status: 'running', installing_at: started });
      await pause();
    }
    const bad =
      releases.length < ids.length
        ? 'a package that is gone'
        : releases.find(({ name }) => world.fails(given, name))?.name;
    if (bad !== undefined) {
      await tell(command, {
        ...{ status: 'failed', exit_code: 100, started_at: started, finished_at: text() },
        reason: `installation failed: the script of ${bad} ended with status 1`,
        output_tail: `Setting up ${bad} ...\ndpkg: error processing package ${bad} (--configure):\n installed ${bad} package post-installation script subprocess returned error exit status 1\n`,
        updates: ids.map((update_id) => ({ update_id, outcome: 'failed' })),
      });
      return;
    }
    for (const { name, to, kernel, services } of releases) {
      packages.set(name, to);
      if (kernel) stale.kernel = true;
      for (const one of services ?? []) stale.services.add(one);
    }
    await tell(command, {
      ...{ status: 'success', exit_code: 0, started_at: started, finished_at: text(), restarts: restarts() },
      output_tail: releases
        .map(({ name, to }) => `Unpacking ${name} (${to}) ...\nSetting up ${name} (${to}) ...\n`)
        .join(''),
      installed: releases.map(({ name, to }) => ({ name, version: to, arch: system.arch })),
      updates: ids.map((update_id) => ({ update_id, outcome: 'installed' })),
    });
    await report();
    await tellRestarts();
  }

  /** Whether the server takes it. */
  const tell = async (command: CommandPayload, body: CommandResult) =>
    (await ask('POST', `/commands/${command.command_id}/result`, { body })) !== null;

  const tellRestarts = async () => void (await ask('PUT', '/restarts', { body: restarts() }));

  async function tellProbes(isGreen: boolean): Promise<void> {
    const own = { name: given.group, kind: 'http', state: isGreen ? 'green' : 'red' };
    const probes = [{ name: 'ssh', kind: 'tcp', state: 'green' }, own];
    await ask('PUT', '/probes', { body: { at: text(), probes } });
  }

  function restarts(): RestartReport {
    const services = [...stale.services].map((name) => ({
      ...{ name, kind: 'service' as const, processes: 3, more_files: 0 },
      files: [{ path: '/usr/lib/x86_64-linux-gnu/libssl.so.3' }],
    }));
    return {
      ...{ observed_at: text(), boot_id: boot.id },
      services: { need: services.length > 0 ? 'needed' : 'not_needed', stale: services, more_services: 0 },
      reboot: {
        need: stale.kernel ? 'needed' : 'not_needed',
        evidence: stale.kernel ? ['newer_kernel'] : [],
        packages: stale.kernel ? ['linux-image-amd64'] : [],
        livepatch: 'inactive',
      },
    };
  }

  function updateOf({ name, to, security }: Release): InventoryUpdate {
    return {
      ...{ name, current_version: packages.get(name) ?? '', available_version: to, arch: system.arch },
      ...{ origin: system.origin, security, size_bytes: sizeOf(name) },
    };
  }

  function planOf(releases: readonly Release[]): Plan {
    return { resolved_at: text(), actions: releases.map(actionOf) };
  }

  function actionOf({ name, to }: Release): PlanAction {
    const filename = system.ecosystem === 'dnf' ? `${name}-${to}.x86_64.rpm` : `${name}_${to}_amd64.deb`;
    return {
      ...{
        action: 'upgrade',
        name,
        arch: system.arch,
        from_version: packages.get(name) ?? '',
        to_version: to,
      },
      ...{ source_name: sourceOf(name), source_version: to, origin: system.origin },
      artifact: {
        filename: filename.replaceAll(':', '%3a'),
        url: `http://archive.example.com/pool/${encodeURIComponent(filename)}`,
        size_bytes: sizeOf(name),
        sha256: createHash('sha256')
          .update(world.fails(given, `other ${name}`) ? `other ${filename}` : filename)
          .digest('hex'),
      },
    };
  }

  return {
    ...given,
    ...{ enrol, checkIn, report, work, prove, tellRestarts, tellProbes },
    get id() {
      return session.agentId;
    },
    /** From now on nothing fetches the package lists. */
    stopFetchingLists() {
      listsSinceMs = world.now();
    },
    /** From now on the disk is in another machine. */
    moveToOtherHardware() {
      machine = `another-${machine}`;
    },
  };
}
export type DemoHost = ReturnType<typeof createHost>;

function onlyHere({ group }: Given): Readonly<Record<string, string>> {
  return OF_GROUP[group] ?? {};
}

function sourceOf(name: string): string {
  return RELEASES.find((one) => one.name === name)?.source ?? SOURCES[name] ?? name;
}

const SOURCES: Readonly<Record<string, string>> = {
  zlib1g: 'zlib',
  libsystemd0: 'systemd',
  'perl-base': 'perl',
};

function sizeOf(name: string): number {
  return 40_000 + (createHash('sha256').update(name).digest().readUInt16BE() % 40) * 65_536;
}

function commandIn({ payload }: Envelope): CommandPayload {
  return Value.Parse(CommandPayload, JSON.parse(Buffer.from(payload, 'base64').toString('utf8')));
}
