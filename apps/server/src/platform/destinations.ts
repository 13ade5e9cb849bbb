import { type LookupAddress, lookup } from 'node:dns';
import { isIP, type LookupFunction } from 'node:net';
import { promisify } from 'node:util';
import ipaddr from 'ipaddr.js';

const lookupAll = promisify(lookup);
/** Addresses of IPv6 that the internet routes; what lies outside is nobody's, or special. */
const GLOBAL_IPV6 = ipaddr.parseCIDR('2000::/3');

/** Which addresses may be connected to for an operator who names a server in the console. */
export interface Destinations {
  /**
   * Resolves a name, or takes an address, once: connect to what it returns, not to the name. Never empty; throws
   * `ForbiddenDestination`, or the error of dns.lookup.
   */
  resolve: (host: string) => Promise<LookupAddress[]>;
  /** The same as the `lookup` of a socket. Sockets do not ask it about addresses: see `checkLiteral`. */
  lookup: LookupFunction;
  /** Throws `ForbiddenDestination` for an address, in the spelling of a URL or of a socket; does nothing for a name. */
  checkLiteral: (host: string) => void;
}

/** The name leads only to addresses that are not public, and that no setting allows. */
export class ForbiddenDestination extends Error {
  override readonly name = 'ForbiddenDestination';
  readonly code = 'FORBIDDEN_DESTINATION';
}

/**
 * Public addresses, and `privateNetworks` (addresses or CIDR ranges, of SERVICE_PRIVATE_DESTINATIONS). Whoever can
 * enter a URL would otherwise reach what only this machine reaches, such as the metadata service of a cloud.
 */
export function createDestinations(privateNetworks: readonly string[]): Destinations {
  const allowed = privateNetworks.map((range) =>
    ipaddr.isValidCIDR(range) ? ipaddr.parseCIDR(range) : wholeAddress(range),
  );
  const isAllowed = (text: string) => {
    const address = ipaddr.process(text);
    return (
      isPublic(address) || allowed.some((range) => address.kind() === range[0].kind() && address.match(range))
    );
  };

  function keepAllowed(host: string, found: LookupAddress[]): LookupAddress[] {
    const kept = found.filter(({ address }) => isAllowed(address));
    if (kept.length > 0) return kept;
    const shown = found.map(({ address }) => address).join(', ');
    throw new ForbiddenDestination(
      `${host === shown ? host : `${host} leads to ${shown}, which`} is not a public address, and not in a network of SERVICE_PRIVATE_DESTINATIONS`,
    );
  }

  const resolve = async (host: string) => {
    const literal = literalOf(host);
    return keepAllowed(host, literal === null ? await lookupAll(host, { all: true }) : [literal]);
  };
  return {
    resolve,
    lookup: (host, { all, family }, done) => {
      resolve(host).then(
        (found) => {
          const [first] = family ? found.filter((address) => address.family === family) : found;
          if (all) done(null, found);
          else if (first) done(null, first.address, first.family);
          else done(new ForbiddenDestination(`${host} has no allowed address of this family`), []);
        },
        (error: NodeJS.ErrnoException) => done(error, []),
      );
    },
    checkLiteral: (host) => {
      const literal = literalOf(host);
      if (literal !== null) keepAllowed(literal.address, [literal]);
    },
  };
}

function isPublic(address: ipaddr.IPv4 | ipaddr.IPv6): boolean {
  if (address.range() !== 'unicast') return false;
  return address.kind() === 'ipv4' || address.match(GLOBAL_IPV6);
}

function wholeAddress(text: string): [ipaddr.IPv4 | ipaddr.IPv6, number] {
  const address = ipaddr.parse(text);
  return [address, address.kind() === 'ipv4' ? 32 : 128];
}

function literalOf(host: string): LookupAddress | null {
  const address = host.replace(/^\[|\]$/g, '');
  const family = isIP(address);
  return family === 0 ? null : { address, family };
}
