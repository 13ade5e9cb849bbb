/** Names that are safe as arguments: dnf and rpm read none as an option, a pattern or a path. */
export function isSafeArgument({
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

/** The file name of a staged package, as rpm would name it; without the epoch. */
export function rpmFilename(pkg: { name: string; evr: string; arch: string }): string {
  return `${pkg.name}-${pkg.evr.replace(/^\d+:/, '')}.${pkg.arch}.rpm`;
}

/** `epoch:version-release`, with the epoch even when it is 0, as advisories are compared with it. */
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
 * Name and version of the source. SOURCERPM does not say its epoch. The package named like its source has the
 * source's epoch. Without that package the binary package's own epoch is used, which is wrong only when a
 * subpackage sets its own (mod_ssl of httpd). Null where the text is not a source package.
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
