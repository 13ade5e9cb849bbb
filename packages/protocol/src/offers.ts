import { type Static, Type } from 'typebox';

/**
 * Why a version of an npm or PyPI package is offered: it is the newest of the series that is installed, the newest of
 * all, or the smallest that fixes the known vulnerabilities. One version may be several of these.
 */
export const OFFERS = ['series', 'newest', 'smallest_fix'] as const;
export const Offer = Type.Enum(OFFERS);
export type Offer = Static<typeof Offer>;

/** How far a version is from the installed one; below 1.0 the second number counts as the major one. */
export const Change = Type.Enum(['patch', 'minor', 'major']);

/** The greatest change that a policy allows. */
export const MaxChange = Type.Enum(['patch', 'minor', 'any']);
export type MaxChange = Static<typeof MaxChange>;

/** Most versions of one package that a report names besides the offered one. */
export const CANDIDATES_MAX = 64;
