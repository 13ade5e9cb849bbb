/** A closed loopback port, which refuses immediately, so that no test reaches the internet. */
const CLOSED = 'http://127.0.0.1:1';

/** Settings of a server whose registries are unreachable. */
export const NO_REGISTRIES = { npmRegistryUrl: CLOSED, pypiUrl: CLOSED };

/** The same in its environment. */
export const NO_REGISTRIES_ENV = { SERVICE_NPM_REGISTRY_URL: CLOSED, SERVICE_PYPI_URL: CLOSED };
