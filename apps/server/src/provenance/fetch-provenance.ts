import { setTimeout as wait } from 'node:timers/promises';
import type { Dispatcher } from 'undici';
import type { Config } from '../config.ts';
import { createOutgoing } from '../platform/outgoing.ts';
import { callUpstream, type UpstreamAnswer } from '../platform/upstream.ts';
import { hasProvenance, npmBundles, pypiBundles } from './attestation-answers.ts';
import { bare, bestOf, type Provenance, type ProvenanceSubject } from './provenance-rules.ts';
import type { BundleVerifier } from './verify-bundle.ts';

/** Largest answer about one artifact, in bytes. */
export const ATTESTATIONS_MAX_BYTES = 4 * 1024 * 1024;
const TIMEOUT_MS = 20_000;

export interface ProvenanceClient {
  /** The registry's provenance, judged; with the cause if it failed. No answer makes it throw. */
  ask(subject: ProvenanceSubject): Promise<{ provenance: Provenance; cause: string | null }>;
  close(): Promise<void>;
}

export interface ProvenanceClientOptions {
  readonly config: Pick<Config, 'npmRegistryUrl' | 'pypiUrl'>;
  readonly verify: BundleVerifier;
  readonly timeoutMs?: number;
  readonly sleep?: (ms: number) => Promise<void>;
}

/** Names that are safe in a path; no registry has other names. */
const SAFE = {
  npm: { name: /^(?:@[\w~-][\w.~-]*\/)?[\w~-][\w.~-]*$/, version: /^\d[\w.+-]*$/ },
  pypi: { name: /^[a-z0-9][a-z0-9-]*$/, version: /^[0-9v][\w.!+-]*$/i },
} as const;
const SAFE_FILE = /^\w[\w.!+-]*$/;

export function createProvenanceClient(options: ProvenanceClientOptions): ProvenanceClient {
  const { verify, timeoutMs = TIMEOUT_MS } = options;
  const npmUrl = options.config.npmRegistryUrl.replace(/\/+$/, '');
  const pypiUrl = options.config.pypiUrl.replace(/\/+$/, '');
  const closing = new AbortController();
  const dispatcher: Dispatcher = createOutgoing({ connections: 4 });
  const pause = (ms: number) => wait(ms, undefined, { signal: closing.signal }).catch(() => undefined);

  function get(url: string, accept = 'application/json'): Promise<UpstreamAnswer> {
    const shared = { dispatcher, signal: closing.signal, sleep: options.sleep ?? pause };
    return callUpstream({ ...shared, url, accept, maxBytes: ATTESTATIONS_MAX_BYTES, timeoutMs });
  }

  async function ask(subject: ProvenanceSubject): Promise<{ provenance: Provenance; cause: string | null }> {
    const { ecosystem, name, version, artifact } = subject;
    const safe = SAFE[ecosystem];
    const isSafe = safe.name.test(name) && safe.version.test(version);
    if (!isSafe || (artifact && ecosystem === 'pypi' && !SAFE_FILE.test(artifact.filename))) {
      return { provenance: bare('unknown'), cause: null };
    }
    const answer = await get(...urlOf(subject));
    if (answer.kind === 'absent') return { provenance: bare('absent'), cause: null };
    const provenance = answer.kind === 'answer' ? judged(subject, answer.text) : null;
    if (provenance) return { provenance, cause: null };
    return { provenance: bare('unknown'), cause: 'cause' in answer ? answer.cause : 'not attestations' };
  }

  function urlOf({ ecosystem, name, version, artifact }: ProvenanceSubject): [url: string, accept?: string] {
    if (ecosystem === 'npm') {
      const spec = encodeURIComponent(`${name}@${version}`).replaceAll('%40', '@').replace('%2F', '%2f');
      return [`${npmUrl}/-/npm/v1/attestations/${spec}`];
    }
    if (!artifact) return [`${pypiUrl}/simple/${name}/`, 'application/vnd.pypi.simple.v1+json'];
    const path = [name, version, artifact.filename].map(encodeURIComponent).join('/');
    return [`${pypiUrl}/integrity/${path}/provenance`, 'application/vnd.pypi.integrity.v1+json'];
  }

  function judged({ ecosystem, version, artifact }: ProvenanceSubject, text: string): Provenance | null {
    if (ecosystem === 'pypi' && !artifact) {
      const has = hasProvenance(text, version);
      return has === null ? null : bare(has ? 'unverified' : 'absent');
    }
    const bundles = ecosystem === 'npm' ? npmBundles(text) : pypiBundles(text);
    return bundles && bestOf(bundles.map((bundle) => verify(bundle, artifact?.hash ?? null)));
  }

  return {
    ask,
    async close() {
      closing.abort();
      await dispatcher.destroy();
    },
  };
}
