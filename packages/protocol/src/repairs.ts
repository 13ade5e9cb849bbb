import { type Static, Type } from 'typebox';
import { Sha256Hex, strict } from './scalars.ts';

/** Most packages that one repair finishes. */
export const REPAIR_PACKAGES_MAX = 300;

/** Where dpkg stopped: the files lie there and no script has run, or the script has begun or failed. */
export const REPAIR_STATES = ['unpacked', 'half-configured'] as const;

/** What `dpkg --configure` runs of a package: the postinst, and through debconf the config script. */
export const REPAIR_SCRIPTS = ['config', 'postinst'] as const;

/**
 * A package that dpkg has not finished, in dpkg's own words (deb-version(7), Debian policy 5.6.1), and the maintainer
 * scripts of it that lie on the host and would run.
 */
export const RepairPackage = strict({
  name: Type.String({ pattern: '^[a-z0-9][a-z0-9+.-]{1,213}$', maxLength: 214 }),
  arch: Type.String({ pattern: '^[a-z0-9][a-z0-9-]{0,31}$', maxLength: 32 }),
  version: Type.String({ pattern: '^[0-9A-Za-z][0-9A-Za-z.+~:-]{0,255}$', maxLength: 256 }),
  state: Type.Enum(REPAIR_STATES),
  scripts: strict({ config: Type.Optional(Sha256Hex), postinst: Type.Optional(Sha256Hex) }),
});
export type RepairPackage = Static<typeof RepairPackage>;

/**
 * What `dpkg --configure` would finish on a host, by name and architecture in ascending order. Without packages it
 * only completes the database that an interrupted dpkg left unfinished.
 */
export const Repair = strict({
  packages: Type.Array(RepairPackage, { maxItems: REPAIR_PACKAGES_MAX }),
});
export type Repair = Static<typeof Repair>;
