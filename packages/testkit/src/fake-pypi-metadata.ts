import { type MetadataServer, startMetadataServer } from './metadata-server.ts';

const VERSION_PATH = /^\/pypi\/([^/]+)\/([^/]+)\/json$/;
const SIMPLE_PATH = /^\/simple\/([^/]+)\/$/;
const INTEGRITY_PATH = /^\/integrity\/([^/]+)\/([^/]+)\/([^/]+)\/provenance$/;

export type PypiFile = {
  readonly filename: string;
  readonly sha256: string;
  /** RFC 3339; undefined leaves the time out. */
  readonly uploadedAt: string | undefined;
  /** PEP 740; undefined: none. */
  readonly provenance?: unknown;
};

/** A running fake of a Python index's metadata: times and provenance, nothing that could be installed. */
export type FakePypiMetadata = MetadataServer & {
  /** False: an index that has the simple API alone, as most private ones. */
  hasJsonApi: boolean;
  /** False: an index from before PEP 700, whose simple API gives no times. */
  hasUploadTimes: boolean;
  /** Publishes a version of a normalized name. */
  publish(name: string, version: string, files: readonly PypiFile[]): void;
};

/** Serves `/pypi/{name}/{version}/json`, `/simple/{name}/` as JSON and PEP 740's `/integrity/…/provenance`. */
export async function startFakePypiMetadata(): Promise<FakePypiMetadata> {
  const projects = new Map<string, Map<string, readonly PypiFile[]>>();

  function filesOf(name = '', version = ''): readonly PypiFile[] | undefined {
    return projects.get(name)?.get(decodeURIComponent(version));
  }

  function answer(path: string): unknown {
    const ofVersion = VERSION_PATH.exec(path);
    if (ofVersion) {
      const files = fake.hasJsonApi ? filesOf(ofVersion[1], ofVersion[2]) : undefined;
      return files && { info: { name: ofVersion[1] }, urls: files.map(urlOf) };
    }
    const ofFile = INTEGRITY_PATH.exec(path);
    if (ofFile) {
      const name = decodeURIComponent(ofFile[3] ?? '');
      return filesOf(ofFile[1], ofFile[2])?.find(({ filename }) => filename === name)?.provenance;
    }
    const versions = projects.get(SIMPLE_PATH.exec(path)?.[1] ?? '');
    return versions && { meta: { 'api-version': '1.3' }, files: [...versions.values()].flat().map(simpleOf) };
  }

  function simpleOf({ filename, sha256, uploadedAt, provenance }: PypiFile): unknown {
    return {
      filename,
      url: `https://files.example/${filename}`,
      hashes: { sha256 },
      provenance: provenance === undefined ? null : `https://files.example/${filename}.provenance`,
      ...(fake.hasUploadTimes && uploadedAt !== undefined ? { 'upload-time': uploadedAt } : {}),
    };
  }

  const fake: FakePypiMetadata = Object.assign(await startMetadataServer(answer), {
    hasJsonApi: true,
    hasUploadTimes: true,
    publish(name: string, version: string, files: readonly PypiFile[]) {
      const versions = projects.get(name) ?? new Map<string, readonly PypiFile[]>();
      projects.set(name, versions.set(version, files));
    },
  });
  return fake;
}

function urlOf({ filename, sha256, uploadedAt }: PypiFile): unknown {
  return {
    filename,
    digests: { sha256 },
    ...(uploadedAt === undefined ? {} : { upload_time_iso_8601: uploadedAt }),
  };
}
