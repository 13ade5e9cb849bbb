import { type MetadataServer, startMetadataServer } from './metadata-server.ts';

const ATTESTATIONS = '/-/npm/v1/attestations/';

/** A running fake of an npm registry's metadata: packuments and attestations, nothing that could be installed. */
export type FakeNpmMetadata = MetadataServer & {
  /**
   * Publishes a version at a time (RFC 3339, or whatever a proxy makes of it; undefined leaves the time out), with the
   * SHA-512 of its tarball as hex, where one is given.
   */
  publish(name: string, version: string, at: string | undefined, sha512?: string): void;
  /** Takes a version back: its time stays, as at the real registry. */
  unpublish(name: string, version: string): void;
  /** Serves attestations of a version: sigstore bundles with the type of what each says. */
  attest(name: string, version: string, attestations: readonly NpmAttestation[]): void;
};

export type NpmAttestation = { readonly predicateType: string; readonly bundle: unknown };

/** Serves `GET /{name}` and `GET /-/npm/v1/attestations/{name}@{version}` on the loopback interface. */
export async function startFakeNpmMetadata(): Promise<FakeNpmMetadata> {
  const packages = new Map<string, Map<string, Published>>();
  const attested = new Map<string, readonly NpmAttestation[]>();

  function answer(path: string): unknown {
    if (path.startsWith(ATTESTATIONS)) {
      const attestations = attested.get(decodeURIComponent(path.slice(ATTESTATIONS.length)));
      return attestations && { attestations };
    }
    const name = decodeURIComponent(path.slice(1));
    const versions = packages.get(name);
    return versions && packument(name, versions);
  }

  return Object.assign(await startMetadataServer(answer), {
    publish(name: string, version: string, at: string | undefined, sha512?: string) {
      const versions = packages.get(name) ?? new Map<string, Published>();
      packages.set(name, versions.set(version, { at, sha512, isListed: true }));
    },
    unpublish(name: string, version: string) {
      const published = packages.get(name)?.get(version);
      if (published) published.isListed = false;
    },
    attest: (name: string, version: string, attestations: readonly NpmAttestation[]) =>
      void attested.set(`${name}@${version}`, attestations),
  });
}

type Published = { at: string | undefined; sha512: string | undefined; isListed: boolean };

function packument(name: string, published: ReadonlyMap<string, Published>): unknown {
  const times = [...published].flatMap(([version, { at }]) => (at === undefined ? [] : [[version, at]]));
  const versions = new Map([...published].filter(([, { isListed }]) => isListed));
  return {
    _id: name,
    name,
    'dist-tags': { latest: [...versions.keys()].at(-1) },
    // The same words at another place: only `time` of the packument itself counts.
    versions: Object.fromEntries(
      [...versions].map(([version, { sha512 }]) => [
        version,
        {
          ...{ name, version, time: { [version]: '2001-01-01T00:00:00Z' } },
          ...(sha512 && { dist: { integrity: `sha512-${Buffer.from(sha512, 'hex').toString('base64')}` } }),
        },
      ]),
    ),
    time: {
      created: '2010-01-01T00:00:00.000Z',
      modified: '2026-01-01T00:00:00.000Z',
      ...Object.fromEntries(times),
    },
    readme: 'says "time": {"1.0.0": "2001-01-01T00:00:00Z"}',
  };
}
