import type { Db } from '../platform/db/engine.ts';
import { readReleaseTimes } from '../release-times/store.ts';
import { storedTimeKey } from '../release-times/subjects.ts';
import { type ArtifactIdentity, identityKey } from './identity-rules.ts';

/** The registry's statements about hashes of one artifact; a missing hash is unknown. */
export type RegistryWord = ReadonlyMap<string, 'confirmed' | 'contradicted'>;

/** An artifact with the queried hashes. */
export interface Claimed {
  readonly identity: ArtifactIdentity;
  readonly hashes: Iterable<string>;
}

/**
 * The stored answers of npm and PyPI about these hashes; they were queried before an update that binds them is judged. For
 * apt and dnf there are none: their signed index is not sent to the server (decision 0020).
 */
export async function registryWords(db: Db, claimed: readonly Claimed[]): Promise<Map<string, RegistryWord>> {
  const words = new Map<string, RegistryWord>();
  for (const ecosystem of ['npm', 'pypi'] as const) {
    const asked = claimed.filter(({ identity }) => identity.scope === ecosystem);
    if (asked.length === 0) continue;
    const names = asked.map(({ identity }) => identity.name);
    const rows = await readReleaseTimes(db, { ecosystem, names });
    const standings = new Map(rows.map((row) => [storedTimeKey({ ...row, ecosystem }), row.standing]));
    for (const { identity, hashes } of asked) {
      const word = new Map<string, 'confirmed' | 'contradicted'>();
      for (const hash of hashes) {
        const { name, version } = identity;
        const standing = standings.get(storedTimeKey({ ecosystem, name, version, artifact: hash }));
        if (standing === 'confirmed' || standing === 'contradicted') word.set(hash, standing);
      }
      if (word.size > 0) words.set(identityKey(identity), word);
    }
  }
  return words;
}
