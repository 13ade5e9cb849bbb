/** Set by the compiler alone, for tests that need a second version: see `compileAgent`. */
declare const TIDEGATE_AGENT_VERSION: string | undefined;

const OWN_AGENT_VERSION = '0.2.0';

/** The agent's version as it is sent with every check-in; a test holds it equal to package.json. */
export const AGENT_VERSION =
  typeof TIDEGATE_AGENT_VERSION === 'string' ? TIDEGATE_AGENT_VERSION : OWN_AGENT_VERSION;
