import {
  type Acl,
  type Capability,
  type CommandRequest,
  decide,
  parseCapabilityFile,
  resolve,
} from '../packages/capability/src/capability.ts';
import { matchesGlob, parseGlob } from '../packages/capability/src/glob.ts';
import { matchesUrl, partsOfUrl, readUrlPattern } from '../packages/capability/src/url-pattern.ts';
import type { BenchOptions } from './run.ts';

const CAPABILITIES = 100;
const MEGABYTE = 1_000_000;
/** Hostile input of one size and of four times that size: linear code takes four times as long. */
const [SHORT, LONG] = [4_000, 16_000] as const;

/** Decisions per second of one core, the time a file of 1 MB takes, and how hostile input grows. */
export async function benchCapability({
  rounds,
  seconds,
  say,
}: BenchOptions): Promise<Record<string, number>> {
  const acl = aclOf(manyCapabilities());
  const json = megabyteOfJson();
  const toml = megabyteOfToml();
  const found = new Map<string, number[]>();
  const note = (name: string, value: number) => {
    found.set(name, [...(found.get(name) ?? []), value]);
    say(`${name} ${value}`);
  };
  for (let round = 1; round <= rounds; round += 1) {
    say(`round ${round}`);
    note('decisions/s, known callers', decisionsPerSecond(acl, knownCallers(), seconds));
    note('decisions/s, a new caller each time', decisionsPerSecond(acl, newCallers(round), seconds));
    note(
      'ms to parse 1 MB of JSON',
      msOf(() => parsed(json)),
    );
    note(
      'ms to parse 1 MB of TOML',
      msOf(() => parsed(toml)),
    );
    note(
      'ms to resolve that file',
      msOf(() => aclOf(parsed(json))),
    );
    note(
      'ms to refuse 4 MB of brackets',
      msOf(() => void parseCapabilityFile('['.repeat(4 * MEGABYTE))),
    );
    for (const [name, run] of Object.entries(HOSTILE)) note(`growth of ${name}, linear is 4`, growthOf(run));
  }
  return Object.fromEntries([...found].map(([name, all]) => [name, median(all)]));
}

/** Patterns that make a backtracking engine slow, and texts that almost match them. */
const HOSTILE: Readonly<Record<string, (size: number) => void>> = {
  'a glob of stars': (size) => globAgainst(`${'*a'.repeat(100)}b`, 'a'.repeat(size)),
  'a glob of parts': (size) => globAgainst(`${'**/a/'.repeat(40)}b`, 'a/'.repeat(size / 2)),
  'a URL pattern of wildcards': (size) => urlAgainst(`https://x.y/${'*a'.repeat(100)}b`, 'a'.repeat(size)),
  'nested repetitions': (size) => urlAgainst('https://x.y/((?:(?:a*)*a*)*)b', 'a'.repeat(size)),
  'errors in one file': (size) => void parseCapabilityFile({ capabilities: Array(size / 4).fill({}) }),
  'unknown permissions': (size) => void resolve(unknownPermissions(size), { platform: 'linux' }),
};

function manyCapabilities(): Capability[] {
  return parsed(
    JSON.stringify(
      Array.from({ length: CAPABILITIES }, (_, i) => ({
        identifier: `capability-${i}`,
        windows: [`window-${i}`, `tool-${i}-*`],
        webviews: i % 2 === 0 ? [] : [`view-${i}-[0-9]`],
        remote: i % 4 === 0 ? { urls: [`https://*.host-${i}.example.com/app/:page`] } : null,
        permissions: [
          'core:default',
          'core:window:allow-close',
          `allow-command-${i}`,
          { identifier: 'allow-common', allow: [i] },
        ],
      })),
    ),
  );
}

function knownCallers(): CommandRequest[] {
  const commands = [
    'core:window:title',
    'core:app:version',
    'core:window:close',
    'allow-common',
    'common',
    'core:window:destroy',
  ];
  return Array.from({ length: 60 }, (_, i) => ({
    command: commands[i % commands.length] ?? '',
    window: i % 3 === 0 ? `tool-${i}-x` : `window-${i}`,
    webview: `view-${i}-1`,
    origin: i % 4 === 0 ? `https://a.host-${i}.example.com/app/start` : 'local',
  }));
}

function newCallers(round: number): CommandRequest[] {
  return Array.from({ length: 2_000 }, (_, i) => ({
    ...{ command: 'common', window: `tool-${i % 100}-${round}-${i}`, webview: 'main', origin: 'local' },
  }));
}

function decisionsPerSecond(acl: Acl, requests: readonly CommandRequest[], seconds: number): number {
  const endMs = performance.now() + seconds * 1_000;
  const before = process.cpuUsage();
  let decided = 0;
  while (performance.now() < endMs) {
    for (const request of requests) decide(acl, request);
    decided += requests.length;
  }
  const { user, system } = process.cpuUsage(before);
  return Math.round((decided / (user + system)) * 1_000_000);
}

function megabyteOfJson(): string {
  const one = (i: number) => ({
    identifier: `capability-${i}`,
    description: 'What the window may do',
    windows: [`window-${i}`],
    permissions: [
      'core:default',
      'core:window:allow-close',
      { identifier: `allow-x-${i}`, allow: [{ path: '$HOME/*' }] },
    ],
  });
  const each = JSON.stringify(one(1_000)).length + 1;
  return JSON.stringify(Array.from({ length: Math.floor(MEGABYTE / each) }, (_, i) => one(i)));
}

function megabyteOfToml(): string {
  const one = (i: number) =>
    `[[capabilities]]\nidentifier = "capability-${i}"\nwindows = ["window-${i}"]\npermissions = ["core:default", "allow-x-${i}"]\n`;
  return Array.from({ length: Math.floor(MEGABYTE / one(1_000).length) }, (_, i) => one(i)).join('');
}

function unknownPermissions(size: number): Capability[] {
  const permissions = Array.from({ length: size }, (_, i) => `core:window:allow-clos-${i}`);
  return parsed(JSON.stringify({ identifier: 'c', permissions }));
}

function globAgainst(source: string, text: string): void {
  const result = parseGlob(source);
  if (!result.ok || matchesGlob(result.glob, text)) throw new Error(`unexpected: ${source}`);
}

function urlAgainst(source: string, path: string): void {
  const result = readUrlPattern(source);
  const url = partsOfUrl(`https://x.y/${path.slice(20)}`);
  if (!result.ok || url === null || matchesUrl(result.matcher.components, url))
    throw new Error(`unexpected: ${source}`);
}

function growthOf(run: (size: number) => void): number {
  return Math.round((msOf(() => run(LONG)) / msOf(() => run(SHORT))) * 10) / 10;
}

/** The lowest CPU time of a few runs: other work on the machine can only add to it. */
function msOf(run: () => void): number {
  const times = Array.from({ length: 9 }, () => {
    const before = process.cpuUsage();
    run();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.round(Math.min(...times) * 1_000) / 1_000;
}

function parsed(source: string): Capability[] {
  const file = parseCapabilityFile(source);
  if ('errors' in file) throw new Error(JSON.stringify(file.errors.slice(0, 3)));
  return [...file.capabilities];
}

function aclOf(capabilities: readonly Capability[]): Acl {
  const result = resolve(capabilities, { platform: 'linux' });
  if ('errors' in result) throw new Error(JSON.stringify(result.errors.slice(0, 3)));
  return result.acl;
}

function median(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}
