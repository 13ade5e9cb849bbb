import { parseStrictJson } from '@tidegate/protocol/strict-json';
import { compareVersions } from '@tidegate/versions';
import { Type } from 'typebox';
import { Check } from 'typebox/value';
import { isName, isVersion, normaliseName, parseFilename } from './names-rules.ts';
import { withoutCredentials } from './parse-index-page.ts';
import type { CoreMetadata } from './parse-metadata.ts';
import type { Parsed } from './read-file.ts';

const Digest = Type.String({ pattern: '^[0-9a-f]{64}$' });
const Requirement = Type.String({ maxLength: 2_000, pattern: '^[^\\r\\n]*$' });

/** The used members of `pip install --report` (versions 0 and 1). */
const Report = Type.Object({
  version: Type.Enum(['0', '1']),
  install: Type.Array(
    Type.Object({
      is_direct: Type.Boolean(),
      is_yanked: Type.Optional(Type.Boolean()),
      download_info: Type.Object({
        url: Type.String({ maxLength: 4_096 }),
        archive_info: Type.Optional(
          Type.Object({
            hash: Type.Optional(Type.String({ maxLength: 512 })),
            hashes: Type.Optional(Type.Object({ sha256: Type.Optional(Digest) })),
          }),
        ),
      }),
      metadata: Type.Object({
        name: Type.String(),
        version: Type.String(),
        requires_dist: Type.Optional(Type.Array(Requirement, { maxItems: 2_000 })),
        provides_extra: Type.Optional(Type.Array(Type.String(), { maxItems: 2_000 })),
      }),
    }),
    { maxItems: 5_000 },
  ),
});

/** A wheel that pip would install; its version is spelled as in the name of the file, as the index has it. */
export interface ReportedWheel extends CoreMetadata {
  filename: string;
  url: string;
  /** Null when pip names none, as for local files. */
  sha256: string | null;
}

/** Reads what pip would install. Anything but a wheel from an index or a folder invalidates the whole report. */
export function parseReport(text: string): Parsed<ReportedWheel[]> {
  const parsed = parseStrictJson(text);
  if (!parsed.ok) return { ok: false, reason: `the report of pip ${parsed.reason}` };
  if (!Check(Report, parsed.value)) return { ok: false, reason: 'the report of pip has an unknown format' };
  const wheels = new Map<string, ReportedWheel>();
  for (const { is_direct, is_yanked, download_info: info, metadata } of parsed.value.install) {
    const { name: written, version } = metadata;
    if (!isName(written) || !isVersion(version)) {
      return { ok: false, reason: 'the report of pip names what cannot be a package' };
    }
    const name = normaliseName(written);
    if (is_direct) return { ok: false, reason: `${name} would come from an address, not from the index` };
    if (is_yanked) return { ok: false, reason: `${name} ${version} was yanked from the index` };
    const address = URL.canParse(info.url) ? new URL(info.url) : null;
    const filename = address === null ? '' : lastStep(address);
    const named = parseFilename(filename, name);
    if (address === null || named?.kind !== 'wheel') {
      return { ok: false, reason: `${name} ${version} would not come from a wheel` };
    }
    if (compareVersions('pypi', version, named.version) !== 0) {
      return { ok: false, reason: `${name} ${version} would come from a wheel of ${named.version}` };
    }
    if (wheels.has(name)) return { ok: false, reason: `pip names ${name} twice` };
    address.hash = '';
    const requires = metadata.requires_dist ?? [];
    const extras = (metadata.provides_extra ?? []).filter(isName);
    wheels.set(name, {
      ...{ name, version: named.version, requires, extras, filename, url: withoutCredentials(address) },
      sha256: info.archive_info?.hashes?.sha256 ?? oldHash(info.archive_info?.hash),
    });
  }
  return { ok: true, value: [...wheels.values()] };
}

function lastStep(url: URL): string {
  const step = url.pathname.slice(url.pathname.lastIndexOf('/') + 1);
  try {
    return decodeURIComponent(step);
  } catch {
    return ''; // a stray percent sign
  }
}

/** The form used before pip 23.0. */
function oldHash(hash: string | undefined): string | null {
  const [, sha256 = null] = /^sha256=([0-9a-f]{64})$/.exec(hash ?? '') ?? [];
  return sha256;
}
