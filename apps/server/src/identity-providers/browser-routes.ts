import { ProviderId } from '@tidegate/protocol/identity-providers-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import type { SessionCookies } from '../operators/sessions/cookies.ts';
import { clientOf } from '../operators/sessions/open-session.ts';
import { createRoutes } from '../platform/http/create-routes.ts';
import { html, sendPage } from '../platform/http/html-page.ts';
import type { App } from '../platform/http/server.ts';
import { finishSignIn } from './finish-sign-in.ts';
import { logOutByProvider } from './log-out.ts';
import type { FinishDeps } from './sign-in-answer.ts';
import { answers, type SignInCookie } from './sign-in-cookie.ts';

const FORM_MAX_BYTES = 32_768;
/** Longest answer of a provider in the query of the callback, in characters. */
const QUERY_MAX_CHARS = 8_192;
const Path = strict({ provider: ProviderId });

export type BrowserDeps = FinishDeps & { cookie: SignInCookie; cookies: SessionCookies };

/** What providers send browsers to, and call themselves. */
export function mountProviderPages(app: App, deps: BrowserDeps): void {
  const { cookie, cookies } = deps;
  // A separate scope: forms are parsed here.
  app.register(async (scope) => {
    scope.addContentTypeParser<string>(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_MAX_BYTES },
      (_request, body, done) => done(null, body),
    );
    const routes = createRoutes(scope);
    routes.page({
      method: 'GET',
      url: '/sign-in/:provider/callback',
      access: { limit: 'login' },
      schema: { params: Path, querystring: Type.Unknown() },
      handler: async ({ params, request, reply }) => {
        const query = request.raw.url?.split('?')[1] ?? '';
        const signIn = query.length > QUERY_MAX_CHARS ? null : cookie.read(request.headers.cookie);
        const states = new URLSearchParams(query).getAll('state');
        reply.header('cache-control', 'no-store').header('referrer-policy', 'no-referrer');
        if (!signIn || !answers(signIn, { providerId: params.provider, states })) {
          // The cookie stays: it may be that of another sign-in in this browser.
          return refused(
            reply,
            'This sign-in did not begin in this browser, or took longer than ten minutes.',
          );
        }
        const finished = await finishSignIn(deps, { signIn, query, client: clientOf(request) });
        const closed = cookie.close();
        switch (finished.kind) {
          case 'refused':
            reply.header('set-cookie', closed);
            return refused(reply, finished.text);
          case 'logged_in': {
            reply.header('set-cookie', [...cookies.open(finished.session), closed]);
            const place = finished.needsFactor
              ? `/login?step=factor&next=${encodeURIComponent(signIn.next)}`
              : signIn.next;
            return reply.code(303).header('location', place).send();
          }
          case 'proven':
          case 'bound':
            reply.header('set-cookie', closed);
            return reply.code(303).header('location', signIn.next).send();
        }
      },
    });
    routes.page({
      method: 'POST',
      url: '/sign-in/:provider/logout',
      access: { limit: 'public_access' },
      schema: { params: Path, body: Type.Unknown() },
      handler: async ({ params, body, reply }) => {
        const tokens = new URLSearchParams(typeof body === 'string' ? body : '').getAll('logout_token');
        const [token] = tokens;
        const why =
          token === undefined || tokens.length > 1
            ? 'The form has one logout_token.'
            : await logOutByProvider(deps, { providerId: params.provider, token });
        reply.header('cache-control', 'no-store');
        if (why === null) return reply.code(204).send();
        // OpenID Connect Back-Channel Logout 1.0, section 2.8.
        return reply.code(400).send({ error: 'invalid_request', error_description: why });
      },
    });
  });
}

function refused(reply: Parameters<typeof sendPage>[0], text: string) {
  return sendPage(reply, {
    status: 403,
    title: 'Not signed in',
    body: html`<main>
<h1>Not signed in</h1>
<p role="alert">${text}</p>
<p><a href="/login">Back to the login</a></p>
</main>`,
  });
}
