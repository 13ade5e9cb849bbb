import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type Static, Type } from 'typebox';
import { Value } from 'typebox/value';

export const BASE_LOCK = join(import.meta.dirname, '../../packaging/container/base.lock.json');

const Pinned = Type.Object(
  { version: Type.String(), sha256: Type.String({ pattern: '^[0-9a-f]{64}$' }) },
  { additionalProperties: false },
);
const Lock = Type.Object(
  {
    /** Debian's name of the release, and its number. */
    suite: Type.String({ pattern: '^[a-z]+$' }),
    release: Type.String({ pattern: '^[0-9]+$' }),
    packages: Type.Object({
      amd64: Type.Record(Type.String(), Pinned),
      arm64: Type.Record(Type.String(), Pinned),
    }),
  },
  { additionalProperties: false },
);

/** The Debian packages that the image is made of, by architecture and name: exactly these files, and no others. */
export type BaseLock = Static<typeof Lock>;
export type DebianArch = keyof BaseLock['packages'];

export const DEBIAN_ARCHS: readonly DebianArch[] = ['amd64', 'arm64'];

export function readBaseLock(): BaseLock {
  return Value.Parse(Lock, JSON.parse(readFileSync(BASE_LOCK, 'utf8')));
}
