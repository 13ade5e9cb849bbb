import type { BrowserContext } from 'playwright-core';

/** States that a page is shown in; all but `full` change what the page is answered. */
export const STATES = ['full', 'hostile', 'empty', 'loading', 'error'] as const;
export type State = (typeof STATES)[number];

/** Names, versions and sentences that hosts, registries and operators choose. */
const NAMES = [
  ...['hostname', 'name', 'username', 'label', 'group', 'package', 'source_name', 'policy_name', 'ring_name'],
  ...['channel_name', 'rule_name', 'actor', 'author', 'created_by', 'ended_by', 'user_agent', 'origin'],
  ...['version', 'current_version', 'available_version', 'from_version', 'to_version', 'source_version'],
  ...['summary', 'detail', 'text', 'reason', 'message', 'vendor', 'place'],
];
/**
 * Letters of both directions, and the mark that turns the direction of writing, which what is stored may have although
 * the server refuses it: nothing outside the name may turn.
 */
const HOSTILE = `<b>&"'\u05e9\u05dc\u05d5\u05dd\u{1F4A5}${'a-very-long-name-that-has-no-space-'.repeat(5)}end\u202eexe.gpj`;
const FAILED = {
  ...{ type: 'about:blank', title: 'Internal Server Error', status: 500, code: 'internal_error' },
  detail:
    'The server failed because of a fault of its own. Try again; if it fails again, look in its log for the request id.',
  request_id: '00000000-0000-4000-8000-000000000000',
};

/**
 * From now on the pages of this context are in a state. In the page itself: requests that pass through here would switch
 * off the cache of scripts, which is most of the time that a page takes.
 */
export async function setState(context: BrowserContext, state: State): Promise<void> {
  if (state === 'full') return;
  await context.addInitScript(changeAnswers, { state, names: NAMES, text: HOSTILE, failed: FAILED });
}

/** From now on the session of this page has ended. */
export const END_SESSION = `{
  const ask = fetch;
  globalThis.fetch = async (...given) =>
    String(given[0]).includes('/auth/')
      ? ask(...given)
      : new Response(JSON.stringify({ type: 'about:blank', title: 'Unauthorized', status: 401, code: 'unauthenticated' }), {
          status: 401, headers: { 'content-type': 'application/problem+json' } });
}`;

interface Given {
  readonly state: Exclude<State, 'full'>;
  readonly names: readonly string[];
  readonly text: string;
  readonly failed: { readonly request_id: string };
}

/** Runs in the page. */
function changeAnswers({ state, names, text, failed }: Given): void {
  const ask = globalThis.fetch;
  const fields = new RegExp(`"(${names.join('|')})":"(?:[^"\\\\]|\\\\.)*"`, 'g');
  const hostile = JSON.stringify(text);

  /** The same answer with its list empty. */
  const emptied = (answer: string): string => {
    const said = JSON.parse(answer);
    if (!Array.isArray(said?.items)) return answer;
    return JSON.stringify({ ...said, items: [], total: 0, next_cursor: null });
  };

  globalThis.fetch = async (...given) => {
    const [asked, options] = given;
    const url = String(asked instanceof Request ? asked.url : asked);
    const isKept =
      (options?.method ?? 'GET') !== 'GET' ||
      !url.includes('/api/v1/') ||
      // Without these nothing would be shown.
      /\/api\/v1\/(auth\/(?!sessions|passkeys|notices|identities)|public|stream)/.test(url);
    if (isKept) return ask(...given);
    if (state === 'loading') return new Promise(() => {});
    if (state === 'error') {
      const headers = { 'content-type': 'application/problem+json', 'x-request-id': failed.request_id };
      return new Response(JSON.stringify(failed), { status: 500, headers });
    }
    const reply = await ask(...given);
    const said = await reply.text();
    const { status, statusText, headers } = reply;
    if (said === '' || !reply.ok)
      return new Response(said === '' ? null : said, { status, statusText, headers });
    const changed =
      state === 'empty' ? emptied(said) : said.replace(fields, (_, name) => `"${name}":${hostile}`);
    return new Response(changed, { status, statusText, headers });
  };
}
