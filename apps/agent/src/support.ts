import { existsSync, statfsSync } from 'node:fs';
import { arch, cpus, freemem, loadavg, platform, release, totalmem, uptime } from 'node:os';
import { type Environment, PROXY_VARIABLES } from '@tidegate/protocol/proxy-route';
import { readTail } from '@tidegate/support/read-tail';
import { PART_MAX_BYTES, type Part, type Written, writeBundle } from '@tidegate/support/write-bundle';
import type { Finding } from './checks/finding.ts';
import { loadConfig } from './identity/config-file.ts';
import { describeHost } from './identity/host-facts.ts';
import { readMachineId } from './identity/machine-id.ts';
import { AGENT_VERSION } from './platform/version.ts';

const LOG_LINES = 2_000;

export interface SupportOptions {
  folder: string;
  out: string;
  log: string | null;
  findings: readonly Finding[];
  env: Environment;
  nowMs: number;
}

/** Writes a bundle for somebody who helps; also on a host that is not enrolled. */
export function writeSupport({ folder, out, log, findings, env, nowMs }: SupportOptions): Written {
  const loaded = loadConfig(folder);
  const config = loaded.ok ? loaded.config : null;
  const parts: Part[] = [
    { name: 'platform.json', about: 'versions, machine, memory, disk', content: hostFacts(folder, env) },
    { name: 'doctor.json', about: 'what tidegate-agent doctor finds', content: findings },
  ];
  if (config !== null) {
    const { server_url, agent_id, machine_id_source, strict, polling, ecosystems, paths, highest_seq } =
      config;
    const { fleet_id, version, keys, expires_at } = config.trusted_keys;
    const content = {
      ...{ server_url, agent_id, machine_id_source, strict, polling, ecosystems, paths, highest_seq },
      key_set: { fleet_id, version, expires_at, keys: keys.map(({ status }) => status) },
      renewal_pending: config.pending_request_id !== null,
    };
    parts.push({
      name: 'enrolment.json',
      about: 'what this host is enrolled to, without its tokens',
      content,
    });
  }
  if (log !== null) {
    const tail = tailOf(log);
    if (tail === null) return { ok: false, detail: `${log} cannot be read` };
    parts.push({
      name: 'log.txt',
      about: `the last ${LOG_LINES} lines of the log, secrets hidden`,
      content: tail,
    });
  }
  const machine = config === null ? null : readMachineId(config.machine_id_source);
  const secrets = [
    ...(config === null ? [] : [config.access_token, config.refresh_token]),
    ...(machine?.ok ? [machine.machineId] : []),
    ...(env.TIDEGATE_TOKEN ? [env.TIDEGATE_TOKEN] : []),
  ];
  return writeBundle(out, {
    program: 'tidegate-agent',
    version: AGENT_VERSION,
    createdAtMs: nowMs,
    parts,
    secrets,
  });
}

function hostFacts(folder: string, env: Environment) {
  const place = existsSync(folder) ? statfsSync(folder) : null;
  return {
    ...{ version: AGENT_VERSION, runtime: process.version, os: describeHost().os },
    ...{ platform: platform(), release: release(), arch: arch(), cpus: cpus().length, load: loadavg() },
    ...{ memory_bytes: totalmem(), memory_free_bytes: freemem(), uptime_seconds: Math.round(uptime()) },
    disk: place && { size_bytes: place.blocks * place.bsize, free_bytes: place.bavail * place.bsize },
    proxies: PROXY_VARIABLES.filter((name) => env[name]?.trim()),
  };
}

function tailOf(path: string): string | null {
  try {
    return readTail(path, { lines: LOG_LINES, maxBytes: PART_MAX_BYTES });
  } catch {
    return null; // the person named a file that this user cannot read
  }
}
