/** A loopback port where nobody listens: what is reserved by name refuses at once, and no test asks the internet. */
const CLOSED = 'http://127.0.0.1:1';

/** Settings of a server whose registries are away. */
export const NO_REGISTRIES = { npmRegistryUrl: CLOSED, pypiUrl: CLOSED };

/** The same in its environment. */
export const NO_REGISTRIES_ENV = { SERVICE_NPM_REGISTRY_URL: CLOSED, SERVICE_PYPI_URL: CLOSED };
