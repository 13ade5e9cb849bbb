/**
 * Hosts that must name a hash before it stands against what fewer say. Fewer than this many lying hosts cannot take
 * back what the others agree on; as many can dispute it.
 */
export const QUORUM = 3;

/**
 * `accepted`, `confirmed` and `established` pass the gate; everything else blocks. `unsupported`: no host that counts
 * names it.
 */
export type Standing =
  | 'accepted'
  | 'refused'
  | 'confirmed'
  | 'contradicted'
  | 'established'
  | 'outvoted'
  | 'disputed'
  | 'unsupported';

export type SettledBy = 'operator' | 'registry' | 'quorum' | 'hosts';

export interface ArtifactFacts {
  /** Each hash with how many hosts that count name it: active, not deleted, not set aside. */
  readonly claims: ReadonlyMap<string, number>;
  /** The operator's decision in force. */
  readonly decision: { readonly accepted: readonly string[]; readonly refused: readonly string[] } | null;
  /** What the registry says of hashes; one without an entry is unknown. */
  readonly registry: ReadonlyMap<string, 'confirmed' | 'contradicted'>;
}

export interface Settlement {
  readonly standings: ReadonlyMap<string, Standing>;
  /** Null while somebody has to decide. */
  readonly settledBy: SettledBy | null;
}

/**
 * Ranks what is said of one artifact: an operator's decision, which has a name, before the registry's word, before a
 * quorum of hosts, before fewer of them. Two hashes between which nothing of this decides are both blocked.
 */
export function settle({ claims, decision, registry }: ArtifactFacts): Settlement {
  if (decision) return settleByOperator(claims, decision);
  return registry.size > 0 ? settleByRegistry(claims, registry) : settleByHosts(claims);
}

export function passes(standing: Standing | undefined): boolean {
  return standing === 'accepted' || standing === 'confirmed' || standing === 'established';
}

/** A hash that came after the decision waits for another one; what was accepted keeps passing meanwhile. */
function settleByOperator(
  claims: ArtifactFacts['claims'],
  decision: NonNullable<ArtifactFacts['decision']>,
): Settlement {
  const standings = new Map<string, Standing>();
  for (const [hash, hosts] of claims) standings.set(hash, hosts > 0 ? 'disputed' : 'unsupported');
  for (const hash of decision.refused) standings.set(hash, 'refused');
  for (const hash of decision.accepted) standings.set(hash, 'accepted');
  const isOpen = [...standings.values()].includes('disputed');
  return { standings, settledBy: isOpen ? null : 'operator' };
}

/**
 * The one hash that the registry names passes. Where it names several of them it has not decided; where it names none,
 * hosts decide between those that it does not contradict.
 */
function settleByRegistry(claims: ArtifactFacts['claims'], registry: ArtifactFacts['registry']): Settlement {
  const named = [...claims.keys()].filter((hash) => registry.get(hash) === 'confirmed');
  if (named.length === 0) {
    const rest = [...claims].filter(([hash]) => !registry.has(hash));
    const { standings, settledBy } = settleByHosts(new Map(rest));
    const contradicted = [...claims.keys()].filter((hash) => registry.has(hash));
    const all = new Map([...standings, ...contradicted.map((hash) => [hash, 'contradicted'] as const)]);
    const isDecided = settledBy !== null && [...standings.values()].some(passes);
    return { standings: all, settledBy: isDecided ? 'registry' : null };
  }
  const standings = new Map<string, Standing>();
  for (const hash of claims.keys()) {
    if (!named.includes(hash)) standings.set(hash, 'contradicted');
    else standings.set(hash, named.length > 1 ? 'disputed' : 'confirmed');
  }
  return { standings, settledBy: named.length === 1 ? 'registry' : null };
}

function settleByHosts(claims: ArtifactFacts['claims']): Settlement {
  const supported = [...claims].filter(([, hosts]) => hosts > 0);
  const many = supported.filter(([, hosts]) => hosts >= QUORUM);
  const [winner] = supported.length === 1 ? supported : many.length === 1 ? many : [];
  const standings = new Map<string, Standing>();
  for (const [hash, hosts] of claims) {
    if (hosts === 0) standings.set(hash, 'unsupported');
    else if (!winner) standings.set(hash, 'disputed');
    else standings.set(hash, hash === winner[0] ? 'established' : 'outvoted');
  }
  if (supported.length <= 1) return { standings, settledBy: 'hosts' };
  return { standings, settledBy: winner ? 'quorum' : null };
}
