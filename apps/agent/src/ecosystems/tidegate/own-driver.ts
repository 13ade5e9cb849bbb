import { join } from 'node:path';
import type { PlanAction } from '@tidegate/protocol/plan';
import { SIGNATURE_FILE, SUMS_FILE } from '@tidegate/signing/release';
import { writeDurably } from '../../platform/file-layer.ts';
import {
  type EcosystemDriver,
  type FetchOutcome,
  type HostPaths,
  type PlanOutcome,
  type PlanUpdates,
  type Scan,
  UNKNOWN_LISTS,
} from '../ecosystem.ts';
import { type OwnState, ownStateOf } from './own-state.ts';
import { readRelease, readReleaseKey } from './read-release.ts';
import { AGENT_PACKAGE, newestOffer, type Offer } from './release-rules.ts';
import { addressOf, fetchArchive, fetchProof, fetchSize, type ReleaseProof } from './server-files.ts';
import { readTrials } from './trial-record.ts';

/** The agent itself, on hosts where no package manager installs it and versions lie side by side. */
export const tidegateDriver: EcosystemDriver = {
  ecosystem: 'tidegate',
  present: async (paths) => {
    const state = ownStateOf(paths);
    return state !== null && (await servesReleases(state));
  },
  scan,
  examineLists: async () => UNKNOWN_LISTS,
  plan: (paths, request) => plan(paths, request),
  withPlanning: (paths, _, work) => work((request) => plan(paths, request)),
  fetch: fetchActions,
  // An earlier version of the agent is not installed again: the executor switches back by itself.
  fetchReplaced: async () => ({ files: [], reason: null }),
};

/** A server that is older than this ecosystem serves none, and would refuse a report of it. */
async function servesReleases({ server }: OwnState): Promise<boolean> {
  const proof = await fetchProof(server);
  return !proof.ok || proof.value !== null;
}

async function scan(paths: HostPaths): Promise<Scan> {
  const state = ownStateOf(paths);
  if (state === null) {
    return { complete: false, reason: 'the versions of the agent cannot be read', packages: [], updates: [] };
  }
  const { installed: version, target: arch } = state;
  const packages = [{ name: AGENT_PACKAGE, version, arch }];
  const release = await readOffer(state);
  if (!release.ok) return { complete: false, reason: release.reason, packages, updates: [] };
  if (release.value === null) return { complete: true, reason: null, packages, updates: [] };
  const { offer, originKey } = release.value;
  const update = {
    ...{ name: AGENT_PACKAGE, arch, current_version: version, available_version: offer.version },
    origin: originOf(originKey),
  };
  return { complete: true, reason: null, packages, updates: [update] };
}

/** Who publishes the agent, by the key that signed it. */
function originOf(publicKeyHex: string): string {
  return `release key ${publicKeyHex}`;
}

type OfferOutcome =
  | { ok: true; value: { offer: Offer; originKey: string; proof: ReleaseProof } | null }
  | { ok: false; reason: string };

/** The newest version that the server has and the release key signed. */
async function readOffer({ places, server, target, installed }: OwnState): Promise<OfferOutcome> {
  const key = readReleaseKey(places);
  if (!key.ok) return { ok: true, value: null }; // `doctor` says why
  const proof = await fetchProof(server);
  if (!proof.ok) return proof;
  if (proof.value === null) return { ok: true, value: null };
  const release = readRelease(key.key, proof.value);
  if (!release.ok) return { ok: false, reason: release.detail };
  const { failures } = readTrials(places);
  const offer = newestOffer(release.files, { target, installed, failures, nowMs: Date.now() });
  const originKey = key.key.publicKeyHex;
  return { ok: true, value: offer && { offer, originKey, proof: proof.value } };
}

async function plan(paths: HostPaths, { updates, undo }: Parameters<PlanUpdates>[0]): Promise<PlanOutcome> {
  const [wanted, ...others] = updates;
  const state = ownStateOf(paths);
  if (state === null) return { ok: false, reason: 'the versions of the agent do not lie side by side' };
  if (undo !== undefined) return { ok: false, reason: 'the agent never goes back to an older version' };
  if (wanted === undefined || others.length > 0) return { ok: false, reason: 'the agent is updated alone' };
  const release = await readOffer(state);
  if (!release.ok) return release;
  const { offer = null, originKey = '' } = release.value ?? {};
  if (offer === null || wanted.name !== AGENT_PACKAGE || wanted.toVersion !== offer.version) {
    return { ok: false, reason: `the server offers ${offer?.version ?? 'no newer version'} now` };
  }
  const { filename, sha256, version } = offer;
  const url = addressOf(state.server, filename);
  const size = await fetchSize(url, state.server.ca);
  if (!size.ok) return size;
  const action: PlanAction = {
    ...{ action: 'upgrade', name: AGENT_PACKAGE, arch: state.target },
    ...{ from_version: state.installed, to_version: version, origin: originOf(originKey) },
    artifact: { filename, url, size_bytes: size.value, sha256 },
  };
  return { ok: true, plan: { resolved_at: new Date().toISOString(), actions: [action] } };
}

/**
 * Downloads the archive into `directory`, and beside that folder what the executor asks for: the checksums with their
 * signature. A newer release may have another signature over the same archive, so they are fetched with it.
 */
async function fetchActions(
  paths: HostPaths,
  { actions, directory }: { actions: readonly PlanAction[]; directory: string },
): Promise<FetchOutcome> {
  const state = ownStateOf(paths);
  const [action] = actions;
  if (state === null || action?.artifact === undefined) {
    return { ok: false, reason: 'the versions of the agent do not lie side by side' };
  }
  const { filename, size_bytes: sizeBytes } = action.artifact;
  const proof = await fetchProof(state.server);
  if (!proof.ok) return proof;
  if (proof.value === null)
    return { ok: false, reason: 'the server has no signed release of the agent any more' };
  // Not the address of the plan: files of the agent come from its own server.
  const url = addressOf(state.server, filename);
  const fetched = await fetchArchive(url, {
    ...{ to: join(directory, filename), sizeBytes, ca: state.server.ca },
  });
  if (!fetched.ok) return fetched;
  writeDurably(join(directory, '..', SUMS_FILE), proof.value.sums, { mode: 0o644 });
  writeDurably(join(directory, '..', SIGNATURE_FILE), proof.value.signature, { mode: 0o644 });
  return { ok: true };
}
