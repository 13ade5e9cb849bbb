import { dpkgOrder } from './dpkg.ts';
import { canonicalName } from './names.ts';
import { npmOrder } from './npm.ts';
import type { Order, Sign } from './order.ts';
import {
  type Ecosystem,
  ecosystemCovers,
  hasEpoch,
  losesEpochs,
  orderingEcosystem,
} from './osv-ecosystems.ts';
import { type Affectedness, anyOf, matcherOf } from './osv-match.ts';
import { isWithdrawn, type OsvAffected, readAffected } from './osv-record.ts';
import { pypiOrder } from './pypi.ts';
import { rpmOrder } from './rpm.ts';

/**
 * Orders two versions of `npm`, `pypi`, `apt`, `dnf` or `tidegate`. `undecidable` for another ecosystem, and when one of the
 * two cannot be ordered: npm `1.2` or a number past 2^53, a legacy PyPI version, a malformed EVR. An rpm version
 * without a release sorts before any release of it. Never throws.
 */
export function compareVersions(ecosystem: string, a: string, b: string): Sign | 'undecidable' {
  return isEcosystem(ecosystem) ? rules[ecosystem].compare(a, b) : 'undecidable';
}

/**
 * Whether an OSV record, as it was received, affects one version of a package (A1). `ecosystem` is an OSV string
 * with its release (`npm`, `PyPI`, `Debian:12`). `undecidable` (an unordered version or event, an unknown
 * ecosystem or range type, a member that violates the schema) must be treated as `unchecked`, never as clear.
 * Name and version are those the database keys by: source for Debian and Ubuntu, epoch always for rpm. Never
 * throws.
 */
export function isAffected(
  osvRecord: unknown,
  { ecosystem, name, version }: { ecosystem: string; name: string; version: string },
): Affectedness {
  return prepareRecord(osvRecord, { ecosystem, name })(version);
}

/** `isAffected` in two steps, for a caller that asks one record about many versions of a package. */
export function prepareRecord(
  osvRecord: unknown,
  { ecosystem, name }: { ecosystem: string; name: string },
): (version: string) => Affectedness {
  if (isWithdrawn(osvRecord)) return () => 'unaffected';
  const ordering = orderingEcosystem(ecosystem);
  const affected = readAffected(osvRecord);
  if (ordering === null || affected === null) return () => 'undecidable';

  const matchers: ((version: string) => Affectedness)[] = [];
  for (const entry of affected) {
    if (entry.package === null) continue;
    if (canonicalName(ordering, entry.package.name) !== canonicalName(ordering, name)) continue;
    const covers = ecosystemCovers({ record: entry.package.ecosystem, host: ecosystem });
    if (covers === 'unclear') matchers.push(() => 'undecidable');
    if (covers === 'yes') matchers.push(rules[ordering].prepare(entry));
  }
  const affects = anyOf(matchers);
  if (matchers.length === 0 || !losesEpochs(ecosystem)) return affects;
  return (version) => (hasEpoch(version) ? 'undecidable' : affects(version));
}

type EcosystemRules = {
  compare: (a: string, b: string) => Sign | 'undecidable';
  prepare: (entry: OsvAffected) => (version: string) => Affectedness;
};

const rules: Record<Ecosystem, EcosystemRules> = {
  npm: rulesOf(npmOrder, ['SEMVER', 'ECOSYSTEM']), // GHSA's repository says ECOSYSTEM, the OSV export SEMVER
  pypi: rulesOf(pypiOrder, ['ECOSYSTEM']),
  apt: rulesOf(dpkgOrder, ['ECOSYSTEM']),
  dnf: rulesOf(rpmOrder, ['ECOSYSTEM']),
  tidegate: rulesOf(npmOrder, ['SEMVER']), // releases of Tidegate are numbered by semantic versioning
};

const maximumVersionLength = 1024;

/** Closes over the ecosystem's own form of a parsed version, so that no two forms can be mixed. */
function rulesOf<Parsed>(order: Order<Parsed>, rangeTypes: readonly string[]): EcosystemRules {
  // One version is held against many ranges in a row: it is read for the first of them.
  let last: { text: string; parsed: Parsed | null } | null = null;
  function parse(text: string): Parsed | null {
    if (text.length > maximumVersionLength) return null;
    if (last?.text !== text) last = { text, parsed: order.parse(text) };
    return last.parsed;
  }
  const bounded: Order<Parsed> = { parse, compare: order.compare };
  return {
    compare(a, b) {
      const left = parse(a);
      const right = parse(b);
      return left === null || right === null ? 'undecidable' : order.compare(left, right);
    },
    prepare: (entry) => matcherOf(bounded, entry, rangeTypes),
  };
}

function isEcosystem(text: string): text is Ecosystem {
  return Object.hasOwn(rules, text);
}
