/** Where the version of Tidegate is written; the named group `version` of the pattern is it. */
export const VERSION_PLACES: readonly { files: readonly string[]; pattern: RegExp }[] = [
  {
    files: ['package.json', '{apps,packages}/*/package.json'],
    pattern: /^ {2}"version": "(?<version>[^"]+)"|^ {4}"@tidegate\/[a-z-]+": "(?<other>[^"]+)"/gm,
  },
  { files: ['apps/agent/src/platform/version.ts'], pattern: /AGENT_VERSION = '(?<version>[^']+)'/g },
  { files: ['packaging/helm/tidegate/Chart.yaml'], pattern: /^(?:appV|v)ersion: (?<version>\S+)$/gm },
  {
    files: ['README.md', 'docs/{install,operator-guide}.md', 'packaging/container/*'],
    pattern: /(?:tidegate(?:-[a-z]+)?_|VERSION=|VERSION:-|tidegate:)(?<version>\d+\.\d+\.\d+)/g,
  },
];

/** Each place of a version in a text: its first and last offset, and what it is. */
export function versionsIn(text: string, pattern: RegExp): { from: number; to: number; version: string }[] {
  return [...text.matchAll(pattern)].map(({ 0: whole, index, groups = {} }) => {
    const version = groups.version ?? groups.other ?? '';
    const from = index + whole.lastIndexOf(version);
    return { from, to: from + version.length, version };
  });
}
