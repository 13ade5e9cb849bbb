/** The methods that each path of a server takes. */
export interface KnownPaths {
  add(route: { method: string; url: string }): void;
  /** None: nothing is at this path. */
  methodsAt(path: string): readonly string[];
  /** The URL of the route for a request, with the names of its parameters; null if there is none. */
  patternAt(path: string, method: string): string | null;
  /**
   * Whether the path belongs to another pattern than the router has found. The router looks for a method first, so that
   * it finds `GET /updates/:id` for `GET /updates/approve`, a path that takes only POST.
   */
  isMisrouted(path: string, foundUrl: string): boolean;
}

interface Pattern {
  readonly url: string;
  readonly segments: readonly string[];
  readonly methods: string[];
}

/** A path belongs to the pattern with the earliest literal segments, as in OpenAPI, whatever the method is. */
export function createKnownPaths(): KnownPaths {
  const patterns = new Map<string, Pattern>();
  /** Patterns that may own a path that the router finds another pattern for; filled at the first request. */
  const rivals = new Map<string, readonly Pattern[]>();

  function rivalsOf(url: string): readonly Pattern[] {
    const known = rivals.get(url);
    if (known) return known;
    const own = segmentsOf(url);
    const found = [...patterns.values()].filter(
      (one) => overlap(one.segments, own) && isBefore(one.segments, own),
    );
    rivals.set(url, found);
    return found;
  }

  function ownerOf(path: string): Pattern | undefined {
    const segments = segmentsOf(path);
    const matching = [...patterns.values()].filter((one) => matches(one.segments, segments));
    return matching.sort((a, b) => (isBefore(a.segments, b.segments) ? -1 : 1))[0];
  }

  return {
    add({ method, url }) {
      const known = patterns.get(url);
      if (known) known.methods.push(method);
      else patterns.set(url, { url, segments: segmentsOf(url), methods: [method] });
    },
    methodsAt: (path) => ownerOf(path)?.methods ?? [],
    patternAt(path, method) {
      const owner = ownerOf(path);
      return owner?.methods.includes(method) ? owner.url : null;
    },
    isMisrouted(path, foundUrl) {
      const others = rivalsOf(foundUrl);
      if (others.length === 0) return false;
      const segments = segmentsOf(path);
      return others.some((one) => matches(one.segments, segments));
    },
  };
}

function segmentsOf(url: string): string[] {
  return url.split('/').slice(1);
}

function isParameter(segment: string | undefined): boolean {
  return segment?.startsWith(':') === true;
}

function matches(pattern: readonly string[], path: readonly string[]): boolean {
  const isOpen = pattern.at(-1) === '*';
  const named = isOpen ? pattern.slice(0, -1) : pattern;
  return (
    (isOpen ? path.length >= pattern.length : path.length === pattern.length) &&
    named.every((segment, i) => isParameter(segment) || segment === path[i])
  );
}

/** Whether one path may match both. */
function overlap(a: readonly string[], b: readonly string[]): boolean {
  return (
    a.length === b.length &&
    a.every((segment, i) => isParameter(segment) || isParameter(b[i]) || segment === b[i])
  );
}

/** Whether the first segment that only one of them names literally is in `a`. */
function isBefore(a: readonly string[], b: readonly string[]): boolean {
  const at = a.findIndex((segment, i) => isParameter(segment) !== isParameter(b[i]));
  return at >= 0 && !isParameter(a[at]);
}
