import { existsSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { arch, cpus, freemem, loadavg, platform, release, totalmem, uptime } from 'node:os';
import { join } from 'node:path';
import { SEVERITIES } from '@tidegate/protocol/event-types';
import { PROXY_VARIABLES } from '@tidegate/protocol/proxy-route';
import { type Config, SETTINGS } from '../config.ts';
import { CHAINING } from '../events/chain-events.ts';
import { listEvents } from '../events/store.ts';
import type { Database } from '../platform/db/engine.ts';
import { openDatabase, SQLITE_FILE } from '../platform/db/open.ts';
import { schemaVersion } from '../platform/db/schema-version.ts';
import { countByValue, tableSizes } from '../platform/db/table-sizes.ts';
import { unknownSettings } from '../unknown-settings.ts';
import { VERSION } from '../version.ts';
import type { CliWorld } from './command.ts';
import { sealsBeside } from './open-installation.ts';

/** Events of each severity but `info`. */
const EVENTS_MAX = 200;
const COUNTED = [
  { table: 'agents', column: 'status' },
  { table: 'updates', column: 'state' },
  { table: 'agent_commands', column: 'status' },
  { table: 'rollouts', column: 'state' },
  { table: 'host_reboots', column: 'state' },
] as const;

export function platformFacts(config: Config | null) {
  const place = config !== null && existsSync(config.dataDir) ? statfsSync(config.dataDir) : null;
  return {
    ...{ version: VERSION, node: process.version, sqlite: process.versions.sqlite ?? null },
    ...{ platform: platform(), release: release(), arch: arch(), cpus: cpus().length, load: loadavg() },
    ...{ memory_bytes: totalmem(), memory_free_bytes: freemem(), uptime_seconds: Math.round(uptime()) },
    disk: place && { size_bytes: place.blocks * place.bsize, free_bytes: place.bavail * place.bsize },
  };
}

/** Each setting by its variable: its value, or for a secret only whether there is one. */
export function settingFacts(config: Config | null, env: CliWorld['env']) {
  const values: Readonly<Record<string, unknown>> = config ?? {};
  const settings = Object.entries(SETTINGS).map(([name, setting]) => {
    const isGiven = Boolean(env[setting.env] || env[`${setting.env}_FILE`]);
    if ('secret' in setting && setting.secret) return [setting.env, isGiven ? 'set, hidden' : 'not set'];
    return [setting.env, values[name] ?? null];
  });
  return {
    settings: Object.fromEntries(settings),
    unknown: unknownSettings(env).map(({ name }) => name),
    proxies: PROXY_VARIABLES.filter((name) => env[name]?.trim()),
  };
}

/** Every secret that this process knows, so that none of them is in a bundle. */
export function knownSecrets(config: Config | null, env: CliWorld['env']): string[] {
  const values: Readonly<Record<string, unknown>> = config ?? {};
  const given = Object.entries(SETTINGS).flatMap(([name, setting]) =>
    'secret' in setting && setting.secret ? [values[name], env[setting.env]] : [],
  );
  const file = config === null ? null : join(config.dataDir, 'jwt-secret');
  const kept = file !== null && existsSync(file) ? [readFileSync(file, 'utf8').trim()] : [];
  const urls = [config?.databaseUrl, ...PROXY_VARIABLES.map((name) => env[name])].flatMap((url) =>
    url && URL.canParse(url) ? [decodeURIComponent(new URL(url).password), new URL(url).password] : [],
  );
  return [...given, ...kept, ...urls].filter((value) => typeof value === 'string');
}

/** What the database says of itself; a database that cannot be used is a fact, too. */
export async function databaseFacts(config: Config, nowMs: number) {
  const file = config.databaseUrl === null ? join(config.dataDir, SQLITE_FILE) : null;
  if (file !== null && !existsSync(file)) return { fault: `${SQLITE_FILE} is not in the data folder` };
  let database: Database | null = null;
  try {
    database = openDatabase(config, { seals: sealsBeside(config), chaining: CHAINING });
    const { read, engine } = database;
    const byValue: Record<string, unknown> = {};
    for (const each of COUNTED) byValue[`${each.table} by ${each.column}`] = await countByValue(read, each);
    const facts = {
      engine,
      schema_version: await schemaVersion(read),
      file_bytes: file && statSync(file).size,
    };
    return {
      ...facts,
      counts: byValue,
      tables: await tableSizes(database),
      events: await recentEvents(read, nowMs),
    };
  } catch (error) {
    // Whatever a damaged database throws belongs into the bundle.
    return { fault: error instanceof Error ? error.message : String(error) };
  } finally {
    await database?.close();
  }
}

/** Warnings and worse, newest first, without what people or hosts wrote. */
async function recentEvents(read: Database['read'], nowMs: number) {
  const found = [];
  for (const severity of SEVERITIES.filter((each) => each !== 'info')) {
    const filter = { severity, untilMs: nowMs };
    const rows = await listEvents(read, { filter, scope: null, limit: EVENTS_MAX, before: null });
    for (const { position, type, component, created_at } of rows) {
      found.push({ position, type, severity, component, at: new Date(created_at).toISOString() });
    }
  }
  return found.sort((a, b) => b.position - a.position);
}
