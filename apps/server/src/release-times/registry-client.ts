import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Config } from '../config.ts';
import { createOutgoing } from '../platform/outgoing.ts';
import { streamBytes } from '../platform/stream-bytes.ts';
import { callUpstream, type UpstreamAnswer } from '../platform/upstream.ts';
import { npmSays } from './npm-times.ts';
import { scanPackument } from './packument-times.ts';
import { filesOfProjectAnswer, filesOfVersionAnswer, type IndexFile, pypiSays } from './pypi-times.ts';
import type { AgeSubject } from './subjects.ts';
import { type RegistrySays, SAYS_NOTHING } from './time-rules.ts';

/** Largest packument, in bytes; it is streamed and never held. */
export const PACKUMENT_MAX_BYTES = 256 * 1024 * 1024;
const PACKUMENT_TIMEOUT_MS = 60_000;
const INDEX_TIMEOUT_MS = 20_000;
const SIMPLE_JSON = 'application/vnd.pypi.simple.v1+json';

/** A registry's facts about artifacts of versions of one package. */
export type RegistryAnswer =
  | {
      readonly kind: 'answer';
      readonly says: ReadonlyMap<AgeSubject, RegistrySays>;
      readonly source: string;
    }
  | { readonly kind: 'failed'; readonly cause: string };

export interface RegistryClient {
  /** Times and hashes of versions of an npm package, from one packument. No answer makes it throw. */
  askNpm(name: string, subjects: readonly AgeSubject[]): Promise<RegistryAnswer>;
  /** Times and hashes of files of one version of a Python package. */
  askPypi(of: { name: string; version: string }, subjects: readonly AgeSubject[]): Promise<RegistryAnswer>;
  close(): Promise<void>;
}

export interface RegistryClientOptions {
  readonly config: Pick<Config, 'npmRegistryUrl' | 'pypiUrl'>;
  readonly now: () => number;
  readonly timeouts?: { packumentMs: number; indexMs: number };
  readonly packumentMaxBytes?: number;
  readonly sleep?: (ms: number) => Promise<void>;
}

/** Names that are safe in a path; neither registry has other names. */
const NPM_NAME = /^(?:@[\w~-][\w.~-]*\/)?[\w~-][\w.~-]*$/;
const PYPI_NAME = /^[a-z0-9][a-z0-9-]*$/;
const PYPI_VERSION = /^[0-9v][\w.!+-]*$/i;

export function createRegistryClient(options: RegistryClientOptions): RegistryClient {
  const { now, timeouts = { packumentMs: PACKUMENT_TIMEOUT_MS, indexMs: INDEX_TIMEOUT_MS } } = options;
  const { packumentMaxBytes: maxBytes = PACKUMENT_MAX_BYTES } = options;
  const npmUrl = trimmed(options.config.npmRegistryUrl);
  const pypiUrl = trimmed(options.config.pypiUrl);
  const closing = new AbortController();
  const dispatcher: Dispatcher = createOutgoing({ connections: 8 });
  const shared = { dispatcher, signal: closing.signal };
  const sleep = options.sleep ?? pause(closing.signal);

  async function askNpm(name: string, subjects: readonly AgeSubject[]): Promise<RegistryAnswer> {
    const source = npmUrl;
    if (!NPM_NAME.test(name)) return nothingKnown(subjects, source);
    const url = `${npmUrl}/${encodeURIComponent(name).replace('%40', '@').replace('%2F', '%2f')}`;
    const scan = scanPackument(new Set(subjects.map(({ version }) => version)));
    const outcome = await streamBytes({
      ...shared,
      url,
      accept: 'application/json',
      maxBytes,
      timeoutMs: timeouts.packumentMs,
      silenceMs: timeouts.indexMs,
      take: textTaker(scan.push),
    });
    if (outcome.kind === 'absent') return nothingKnown(subjects, source);
    if ('cause' in outcome) return { kind: 'failed', cause: outcome.cause };
    const given = outcome.kind === 'read' ? scan.end() : null;
    if (!given) return { kind: 'failed', cause: 'not a packument' };
    const nowMs = now();
    const says = new Map(subjects.map((one) => [one, npmSays(given.get(one.version), one.artifact, nowMs)]));
    return { kind: 'answer', says, source: shown(source) };
  }

  async function askPypi(
    { name, version }: { name: string; version: string },
    subjects: readonly AgeSubject[],
  ): Promise<RegistryAnswer> {
    if (!PYPI_NAME.test(name) || !PYPI_VERSION.test(version)) return nothingKnown(subjects, pypiUrl);
    const read = await readFiles(name, version);
    if (read.kind === 'failed') return read;
    if (read.kind === 'unknown') return nothingKnown(subjects, pypiUrl);
    const nowMs = now();
    const says = new Map(subjects.map((one) => [one, pypiSays(read.files, one.artifact, nowMs)]));
    return { kind: 'answer', says, source: shown(pypiUrl) };
  }

  type Files =
    | { readonly kind: 'files'; readonly files: readonly IndexFile[] }
    /** The index does not know the project. */
    | { readonly kind: 'unknown' }
    | { readonly kind: 'failed'; readonly cause: string };

  /** The JSON API of the version first; if that or its times are missing, the simple index of PEP 700. */
  async function readFiles(name: string, version: string): Promise<Files> {
    const path = `${pypiUrl}/pypi/${name}/${encodeURIComponent(version)}/json`;
    const first = await get(path, 'application/json');
    if (first.kind === 'unreachable') return { kind: 'failed', cause: first.cause };
    const files = first.kind === 'answer' ? filesOfVersionAnswer(first.text) : null;
    if (files?.some(({ uploadedAt }) => uploadedAt !== null)) return { kind: 'files', files };
    const second = await get(`${pypiUrl}/simple/${name}/`, SIMPLE_JSON);
    if (second.kind === 'absent' && files !== null) return { kind: 'files', files };
    if (second.kind === 'absent' && first.kind === 'absent') return { kind: 'unknown' };
    const others = second.kind === 'answer' ? filesOfProjectAnswer(second.text, version) : null;
    if (others === 'unknown') return { kind: 'unknown' };
    if (others) return { kind: 'files', files: others };
    return { kind: 'failed', cause: causeOf(second) };
  }

  function get(url: string, accept: string): Promise<UpstreamAnswer> {
    return callUpstream({ ...shared, sleep, url, accept, timeoutMs: timeouts.indexMs });
  }

  return {
    askNpm,
    askPypi,
    async close() {
      closing.abort();
      await dispatcher.destroy();
    },
  };
}

/** Passes bytes on as text; invalid UTF-8 ends it. */
function textTaker(push: (text: string) => boolean): (piece: Buffer) => boolean {
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  return (piece) => {
    try {
      return push(decoder.decode(piece, { stream: true }));
    } catch (error) {
      if (error instanceof TypeError) return false;
      throw error;
    }
  };
}

function nothingKnown(subjects: readonly AgeSubject[], source: string): RegistryAnswer {
  return { kind: 'answer', says: new Map(subjects.map((one) => [one, SAYS_NOTHING])), source: shown(source) };
}

function causeOf(answer: UpstreamAnswer): string {
  return 'cause' in answer ? answer.cause : 'not an answer of the index';
}

function trimmed(url: string): string {
  return url.replace(/\/+$/, '');
}

/** The address without name and password, because it is recorded and shown. */
function shown(source: string): string {
  const url = new URL(source);
  url.username = '';
  url.password = '';
  return trimmed(url.href);
}

function pause(signal: AbortSignal): (ms: number) => Promise<void> {
  return async (ms) => {
    await wait(ms, undefined, { signal }).catch((error: unknown) => {
      if (!signal.aborted) throw error;
    });
  };
}
