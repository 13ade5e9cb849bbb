/**
 * Hosts that must report a hash before it is established against fewer. Fewer lying hosts than this cannot overturn what
 * the others agree on; this many can dispute it.
 */
export const QUORUM = 3;

/**
 * `accepted`, `confirmed` and `established` pass the gate; everything else blocks. `unsupported`: no counting host reports
 * it.
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
  /** Each hash with the number of counting hosts that report it: active, not deleted, not set aside. */
  readonly claims: ReadonlyMap<string, number>;
  /** The operator's decision in force. */
  readonly decision: { readonly accepted: readonly string[]; readonly refused: readonly string[] } | null;
  /** The registry's statements about hashes; a missing hash is unknown. */
  readonly registry: ReadonlyMap<string, 'confirmed' | 'contradicted'>;
}

export interface Settlement {
  readonly standings: ReadonlyMap<string, Standing>;
  /** Null while an operator has to decide. */
  readonly settledBy: SettledBy | null;
}

/**
 * Ranks the statements about one artifact: an operator's decision, which has a name, before the registry, before a quorum
 * of hosts, before fewer hosts. Two hashes that none of these decides between are both blocked.
 */
export function settle({ claims, decision, registry }: ArtifactFacts): Settlement {
  if (decision) return settleByOperator(claims, decision);
  return registry.size > 0 ? settleByRegistry(claims, registry) : settleByHosts(claims);
}

export function passes(standing: Standing | undefined): boolean {
  return standing === 'accepted' || standing === 'confirmed' || standing === 'established';
}

/** A hash that came after the decision waits for another one; the accepted ones keep passing meanwhile. */
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
 * The one hash that the registry confirms passes. If it confirms several, it has not decided; if it confirms none, hosts
 * decide between those that it does not contradict.
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
