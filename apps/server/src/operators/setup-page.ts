import { SetupRequest } from '@tidegate/protocol/operators-api';
import { strict } from '@tidegate/protocol/scalars';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { createRoutes } from '../platform/http/create-routes.ts';
import { type Html, html, sendPage } from '../platform/http/html-page.ts';
import { Refusal } from '../platform/http/refusal.ts';
import type { App } from '../platform/http/server.ts';
import { answerLogIn } from './auth-routes.ts';
import { isSetupOpen, setUpFirstOperator } from './first-operator.ts';
import { isCommonPassword } from './passwords/common-passwords.ts';
import { passwordFault } from './passwords/password-rules.ts';
import type { SessionCookies } from './sessions/cookies.ts';
import { type LogInDeps, logIn } from './sessions/log-in.ts';
import { clientOf } from './sessions/open-session.ts';

const FORM_MAX_BYTES = 4_096;
const Form = Compile(SetupRequest);
const Secret = Type.Object({ secret: Type.String() });
const text = Type.String({ maxLength: FORM_MAX_BYTES });
const Fields = Compile(strict({ username: text, password: text, repeated: text }));
const PAGE = { title: 'Set up Tidegate', isCard: true } as const;
const NO_FIELDS = { username: '', password: '', repeated: '' };

/** The page behind the one-time link: a form without script. It is gone once an operator exists. */
export function mountSetupPage(app: App, deps: LogInDeps & { cookies: SessionCookies }): void {
  const { platform, passwords } = deps;
  // A separate scope: forms are parsed here and nowhere else.
  app.register(async (scope) => {
    scope.addContentTypeParser<string>(
      'application/x-www-form-urlencoded',
      { parseAs: 'string', bodyLimit: FORM_MAX_BYTES },
      (_request, body, done) => done(null, readForm(body)),
    );
    const routes = createRoutes(scope);
    routes.page({
      method: 'GET',
      url: '/setup/:secret',
      access: { limit: 'public_access' },
      schema: { params: Secret },
      handler: async ({ params: { secret }, reply }) => {
        if (!(await isSetupOpen(platform, secret))) throw notFound();
        return sendPage(reply, { ...PAGE, body: form({ username: '', fault: null }) });
      },
    });
    routes.page({
      method: 'POST',
      url: '/setup/:secret',
      access: { limit: 'login' },
      // The handler validates the form: people get the form again with the fault, not a problem document.
      schema: { params: Secret, body: Type.Unknown() },
      handler: async ({ params: { secret }, body, request, reply }) => {
        const fields = Fields.Check(body) ? body : NO_FIELDS;
        const { username, password, repeated } = fields;
        const asked = { secret, username, password };
        if (!(await isSetupOpen(platform, secret))) throw notFound();
        const fault = faultOf(asked, repeated);
        if (fault !== null) {
          return sendPage(reply, { ...PAGE, status: 400, body: form({ username, fault }) });
        }
        await setUpFirstOperator(platform, passwords, asked);
        const { cookie: cookieHeader } = request.headers;
        const who = { username, password, given: null, client: clientOf(request), cookieHeader, site: null };
        answerLogIn(deps, reply, await logIn(deps, who));
        return reply.code(303).header('location', '/welcome').send();
      },
    });
  });
}

/** Null where a field is missing or given twice. */
function readForm(body: string): unknown {
  const form = new URLSearchParams(body);
  const [username, password, repeated] = ['username', 'password', 'repeated'].map((name) => {
    const values = form.getAll(name);
    return values.length === 1 ? values[0] : undefined;
  });
  if (username === undefined || password === undefined || repeated === undefined) return null;
  return { username, password, repeated };
}

function faultOf(asked: SetupRequest, repeated: string): string | null {
  if (asked.password !== repeated) return 'The two passwords differ.';
  if (!Form.Check(asked)) {
    return 'A username has 1 to 64 letters, digits and . _ @ -, and a password 15 to 256 characters.';
  }
  const fault = passwordFault({ ...asked, hasSecondFactor: false, isCommon: isCommonPassword });
  return fault === null ? null : `The password ${fault}.`;
}

/** The icon of the console, inline: this page may load nothing. */
const LOGO = html`<svg viewBox="0 0 32 32" aria-hidden="true"><rect width="32" height="32" rx="7" fill="#1f5fbf"/>
<path d="M7 9h18M10 9v14M16 9v14M22 9v14" stroke="#fff" stroke-width="2.4" stroke-linecap="round" fill="none"/>
<path d="M5 23c2.5-2 5-2 7.5 0s5 2 7.5 0 4-1.6 7 0" stroke="#9fd0ff" stroke-width="2.4" stroke-linecap="round"
fill="none"/></svg>`;

function form({ username, fault }: { username: string; fault: string | null }): Html {
  return html`<main><h1>${LOGO}Set up Tidegate</h1>
<p>Create the first operator, an admin. This page works once, and logs you in.</p>
${fault === null ? '' : html`<p role="alert">${fault}</p>`}
<form method="post">
<label for="username">Username</label>
<input id="username" name="username" value="${username}" autocomplete="username" maxlength="64" required autofocus>
<label for="password">Password (15 characters or more)</label>
<input id="password" name="password" type="password" autocomplete="new-password" minlength="15" maxlength="256" required>
<label for="repeated">Password again</label>
<input id="repeated" name="repeated" type="password" autocomplete="new-password" minlength="15" maxlength="256" required>
<button type="submit">Create operator</button>
</form></main>`;
}

function notFound(): Refusal {
  return new Refusal('not_found', { detail: 'There is nothing at this path.' });
}
