import { quote, type Report } from './findings.ts';
import { type Glob, matchesGlob, parseGlob } from './glob.ts';
import type { Capability } from './parse.ts';
import { matchesUrl, readUrlPattern, type UrlMatcher, type UrlParts } from './url-pattern.ts';

/** Longest label matched, in characters; no pattern is that long. */
const MAX_LABEL = 1_024;

/** Whom a capability serves: the patterns of its windows, webviews and origins. */
export interface Audience {
  readonly capability: string;
  readonly windows: readonly Glob[];
  readonly webviews: readonly Glob[];
  readonly local: boolean;
  readonly remotes: readonly UrlMatcher[];
}

/** Who asks: the labels of the object that received the message, and the URL of its document; null for one that is none. */
export interface Caller {
  readonly window: string;
  readonly webview: string;
  readonly origin: 'local' | UrlParts | null;
}

/** What of a capability a caller meets; it needs the origin and one of the labels. */
export interface Meeting {
  readonly window: boolean;
  readonly webview: boolean;
  readonly origin: boolean;
}

/** Compiles the patterns of a capability; reports invalid ones. */
export function audienceOf(capability: Capability, path: string, report: Report): Audience {
  const { identifier, windows, webviews, local, remote } = capability;
  return {
    capability: identifier,
    windows: globsOf(windows, `${path}/windows`, report),
    webviews: globsOf(webviews, `${path}/webviews`, report),
    local,
    remotes: (remote?.urls ?? []).flatMap((source, i) => {
      const result = readUrlPattern(source);
      if (result.ok) return [result.matcher];
      report.error(`${path}/remote/urls/${i}`, `${quote(source)} ${result.fault}`);
      return [];
    }),
  };
}

export function meet(audience: Audience, { window, webview, origin }: Caller): Meeting {
  return {
    window: matchesLabel(audience.windows, window),
    webview: matchesLabel(audience.webviews, webview),
    // A local grant never serves remote content, nor the reverse.
    origin:
      origin === 'local'
        ? audience.local
        : origin !== null && audience.remotes.some(({ components }) => matchesUrl(components, origin)),
  };
}

export function isServed(audience: Audience, caller: Caller): boolean {
  const { window, webview, origin } = meet(audience, caller);
  return origin && (window || webview);
}

function matchesLabel(globs: readonly Glob[], label: string): boolean {
  return label.length <= MAX_LABEL && globs.some((glob) => matchesGlob(glob, label));
}

function globsOf(patterns: readonly string[], path: string, report: Report): Glob[] {
  return patterns.flatMap((pattern, i) => {
    const result = parseGlob(pattern);
    if (result.ok) return [result.glob];
    report.error(`${path}/${i}`, `${quote(pattern)} is no pattern of labels: ${result.fault}`);
    return [];
  });
}
