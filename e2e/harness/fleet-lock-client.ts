import { request } from 'node:http';
import { text } from 'node:stream/consumers';

export interface FleetLockAnswer {
  readonly status: number;
  readonly body: unknown;
}

/**
 * A FleetLock client, written from the text of its protocol and sharing nothing with the server. Like Zincati it sends its
 * body without a media type, and takes the credential from the user part of the base URL.
 */
export function createFleetLockClient(baseUrl: string, { id, group }: { id: string; group: string }) {
  const { hostname, port, pathname, username, password } = new URL(baseUrl);
  const body = JSON.stringify({ client_params: { id, group } });

  async function call(name: 'pre-reboot' | 'steady-state'): Promise<FleetLockAnswer> {
    const sent = request({
      ...{ method: 'POST', hostname, port, path: `${pathname.replace(/\/$/, '')}/v1/${name}` },
      ...(username !== '' && { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` }),
      headers: { 'fleet-lock-protocol': 'true', 'content-length': Buffer.byteLength(body) },
    });
    const answered = Promise.withResolvers<FleetLockAnswer>();
    sent.once('error', answered.reject);
    sent.once('response', (response) => {
      const read = async () => ({
        status: response.statusCode ?? 0,
        body: JSON.parse(await text(response)),
      });
      read().then(answered.resolve, answered.reject);
    });
    sent.end(body);
    return answered.promise;
  }

  return {
    /** Before the host goes down: it may, if the status is 200. */
    preReboot: () => call('pre-reboot'),
    /** When the host is up and well again. */
    steadyState: () => call('steady-state'),
  };
}
