import { type Static, Type } from 'typebox';
import { nullable, Sha256Hex } from './scalars.ts';

/** Where the server offers the software of its agents. */
export const AGENTS_PATH = '/agents';
/** Where it offers the certificate of the private CA that its own is of. */
export const SERVER_CA_PATH = '/server-ca.pem';

export const AgentPackage = Type.Object({
  path: Type.String({ description: `below ${AGENTS_PATH}/` }),
  target: Type.Enum(['linux-x64', 'linux-arm64']),
  format: Type.Enum(['deb', 'rpm', 'tar.gz']),
  bytes: Type.Integer({ minimum: 0 }),
  sha256: Sha256Hex,
});
export type AgentPackage = Static<typeof AgentPackage>;

export const AgentPackages = Type.Object({
  version: nullable(Type.String(), { description: 'null: this server offers none' }),
  files: Type.Array(AgentPackage),
  faults: Type.Array(Type.String(), {
    description: 'why this server offers none, or not all of its files, and what to do',
  }),
  ca_sha256: nullable(Sha256Hex, {
    description: `SHA-256 of ${SERVER_CA_PATH}, which hosts have to trust; null: there is none, hosts trust public ones`,
  }),
  is_ca_missing: Type.Boolean({
    description: 'the certificate is not of a public CA, and this server does not have that of its CA',
  }),
});
export type AgentPackages = Static<typeof AgentPackages>;
