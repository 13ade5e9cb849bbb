import { type MetadataServer, startMetadataServer } from './metadata-server.ts';

const ATTESTATIONS = '/-/npm/v1/attestations/';

/** A running fake of an npm registry's metadata: packuments and attestations, nothing that could be installed. */
export type FakeNpmMetadata = MetadataServer & {
  /** Publishes a version at a time (RFC 3339, or whatever a proxy makes of it); undefined leaves the time out. */
  publish(name: string, version: string, at: string | undefined): void;
  /** Serves attestations of a version: sigstore bundles with the type of what each says. */
  attest(name: string, version: string, attestations: readonly NpmAttestation[]): void;
};

export type NpmAttestation = { readonly predicateType: string; readonly bundle: unknown };

/** Serves `GET /{name}` and `GET /-/npm/v1/attestations/{name}@{version}` on the loopback interface. */
export async function startFakeNpmMetadata(): Promise<FakeNpmMetadata> {
  const packages = new Map<string, Map<string, string | undefined>>();
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
    publish(name: string, version: string, at: string | undefined) {
      const versions = packages.get(name) ?? new Map<string, string | undefined>();
      packages.set(name, versions.set(version, at));
    },
    attest: (name: string, version: string, attestations: readonly NpmAttestation[]) =>
      void attested.set(`${name}@${version}`, attestations),
  });
}

function packument(name: string, versions: ReadonlyMap<string, string | undefined>): unknown {
  const times = [...versions].filter(([, at]) => at !== undefined);
  return {
    _id: name,
    name,
    'dist-tags': { latest: [...versions.keys()].at(-1) },
    // The same words at another place: only `time` of the packument itself counts.
    versions: Object.fromEntries(
      [...versions.keys()].map((version) => [
        version,
        { name, version, time: { [version]: '2001-01-01T00:00:00Z' } },
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
