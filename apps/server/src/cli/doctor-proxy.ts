import { chooseProxy, type Environment, shownProxy } from '@tidegate/protocol/proxy-route';
import type { Config } from '../config.ts';
import type { Finding } from './doctor-rules.ts';

/** How the server reaches its sources where the environment names a proxy; nothing without one. */
export function judgeProxy(config: Config, env: Environment): Finding[] {
  const check = 'proxy';
  const { advisoryApiUrl, kevUrl, epssUrl, npmRegistryUrl, pypiUrl } = config;
  const exports = config.advisoryExportUrl === 'none' ? null : config.advisoryExportUrl;
  const acme = config.acmeDomains.length === 0 ? null : config.acmeDirectoryUrl;
  const sources = [advisoryApiUrl, exports, kevUrl, epssUrl, npmRegistryUrl, pypiUrl, acme];
  const routes = sources.flatMap((url) => (url === null ? [] : [chooseProxy(new URL(url), env)]));
  const bad = routes.find(({ kind }) => kind === 'invalid');
  if (bad?.kind === 'invalid') {
    const detail = `${bad.variable} names no http:// or https:// proxy, so no source can be reached`;
    return [{ check, level: 'fail', detail, todo: 'correct it, for example http://proxy.example:3128' }];
  }
  const proxies = routes.flatMap((route) => (route.kind === 'proxy' ? [shownProxy(route.url)] : []));
  if (proxies.length === 0) return [];
  const named = [...new Set(proxies)].join(', ');
  return [{ check, level: 'ok', detail: `${proxies.length} of ${routes.length} sources through ${named}` }];
}
