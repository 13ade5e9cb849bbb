/** A package that is installed on the host now. */
export interface InstalledPackage {
  readonly name: string;
  readonly arch: string;
  readonly version: string;
  readonly sourceName: string | null;
  readonly sourceVersion: string | null;
  readonly origin: string | null;
}
