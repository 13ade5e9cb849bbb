import type { BrowserContext, Route } from 'playwright-core';

/** States that a page is shown in; all but `full` change what the page is answered, on the way to it. */
export const STATES = ['full', 'hostile', 'empty', 'loading', 'error'] as const;
export type State = (typeof STATES)[number];

/** Kept as they are, or nothing would be shown. */
const NEEDED = /\/api\/v1\/(auth\/|public)/;
const NAMES =
  /"(hostname|name|username|label|summary|detail|available_version|current_version|actor|group)":"[^"]*"/g;
const HOSTILE = `<b>&"'\u202e\u{1F4A5}${'a-very-long-name-that-has-no-space-'.repeat(5)}end`;
const FAILED = {
  ...{ type: 'about:blank', title: 'Internal Server Error', status: 500, code: 'internal_error' },
  detail: 'The server met an unexpected condition; the log has the request id.',
  request_id: '00000000-0000-4000-8000-000000000000',
};

/** From now on the pages of this context are in a state. */
export async function setState(context: BrowserContext, state: State): Promise<void> {
  if (state === 'full') return;
  await context.route('**/api/v1/**', async (route) => {
    const request = route.request();
    const isKept =
      request.method() !== 'GET' || NEEDED.test(request.url()) || request.url().includes('/stream');
    return isKept ? route.continue() : answer(route, state);
  });
}

async function answer(route: Route, state: Exclude<State, 'full'>): Promise<void> {
  switch (state) {
    case 'loading':
      // Never answered.
      return;
    case 'error':
      return route.fulfill({ status: 500, contentType: 'application/problem+json', json: FAILED });
    case 'empty':
    case 'hostile': {
      const reply = await route.fetch();
      const text = await reply.text();
      return route.fulfill({ response: reply, body: state === 'empty' ? emptied(text) : hostile(text) });
    }
  }
}

/** The same answer with its list empty. */
function emptied(text: string): string {
  const said: unknown = JSON.parse(text);
  const isList = typeof said === 'object' && said !== null && 'items' in said && Array.isArray(said.items);
  return isList ? JSON.stringify({ ...said, items: [], total: 0, next_cursor: null }) : text;
}

function hostile(text: string): string {
  return text.replace(NAMES, (_, name: string) => `"${name}":${JSON.stringify(HOSTILE)}`);
}
