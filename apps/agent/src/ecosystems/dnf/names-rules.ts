/** What dnf and rpm can be asked for: nothing that they would read as an option, a pattern or a path. */
export function isSpeakable({
  name,
  evr,
  arch,
}: {
  name: string;
  evr: string;
  arch?: string | undefined;
}): boolean {
  return NAME.test(name) && EVR.test(evr) && (arch === undefined || ARCH.test(arch));
}

/** The name under which a package is staged, which is also the one that rpm would give it; the epoch is not in it. */
export function rpmFilename(pkg: { name: string; evr: string; arch: string }): string {
  return `${pkg.name}-${pkg.evr.replace(/^\d+:/, '')}.${pkg.arch}.rpm`;
}

/** `epoch:version-release`, with the epoch where it is 0 as well: records of advisories are compared by it. */
export function evrOf({
  epoch,
  version,
  release,
}: {
  epoch: string;
  version: string;
  release: string;
}): string {
  return `${epoch}:${version}-${release}`;
}

/**
 * Name and version of the source. SOURCERPM does not say its epoch. Of the packages that come of one source the one
 * that bears its name has the source's epoch; without it a package's own is taken, which is wrong only where a
 * subpackage sets one for itself (mod_ssl of httpd). Null where the text is not a source package.
 */
export function sourceOf(pkg: {
  source_rpm: string | null;
  source_epoch: string | null;
  epoch: string;
}): { name: string; version: string } | null {
  const [, name, version, release] = SOURCE_RPM.exec(pkg.source_rpm ?? '') ?? [];
  if (name === undefined || version === undefined || release === undefined) return null;
  return { name, version: evrOf({ epoch: pkg.source_epoch ?? pkg.epoch, version, release }) };
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.+-]{0,213}$/;
const EVR = /^[0-9]{1,10}:[A-Za-z0-9._+~^]{1,128}-[A-Za-z0-9._+~^]{1,112}$/;
const ARCH = /^[a-z0-9_]{1,32}$/;
const SOURCE_RPM = /^(.{1,214})-([^-]{1,128})-([^-]{1,112})\.(?:no)?src\.rpm$/;
