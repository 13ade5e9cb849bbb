/** The agent's version as it is sent with every check-in; a test holds it equal to package.json. */
export const AGENT_VERSION = '0.1.0';
