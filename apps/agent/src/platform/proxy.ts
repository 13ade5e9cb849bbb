import { chooseProxy, type Environment, PROXY_VARIABLES } from '@tidegate/protocol/proxy-route';

/** Never through a proxy, whatever the variables say: requests to this machine carry tokens too. */
const THIS_MACHINE = 'localhost,127.0.0.1,::1';

/**
 * The way to a URL as an option of Bun's `fetch`, which has rules of its own without it; Node, which runs the tests,
 * ignores it. Null when the variable for this URL names no proxy: the request must not take another way.
 */
export function proxyOption(url: string, env: Environment = process.env): { proxy: string | false } | null {
  const route = chooseProxy(new URL(url), env);
  if (route.kind === 'invalid') return null;
  return { proxy: route.kind === 'proxy' ? route.url : false };
}

/**
 * The same with the certificates that alone vouch for the server, in PEM; null: the public ones do. Bun's option, too: Node takes
 * its certificates from NODE_EXTRA_CA_CERTS.
 */
export function wayTo<R extends object>(route: R, ca: string | null): R & { tls?: { ca: string } } {
  return ca === null ? route : { ...route, tls: { ca } };
}

/** The variables for a package manager that downloads, such as npm and pip; apt and dnf have settings of their own. */
export function proxyVariables(env: Environment = process.env): Record<string, string> {
  const given = PROXY_VARIABLES.flatMap((name) => {
    const value = env[name]?.trim() ?? '';
    return value === '' ? [] : [[name, value] as const];
  });
  if (given.length === 0) return {};
  const variables = Object.fromEntries(given);
  const exceptions = variables.no_proxy ?? variables.NO_PROXY;
  const all = exceptions === undefined ? THIS_MACHINE : `${exceptions},${THIS_MACHINE}`;
  return { ...variables, no_proxy: all, NO_PROXY: all };
}
