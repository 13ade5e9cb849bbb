import { createHash } from 'node:crypto';
import type { FastifyReply } from 'fastify';

const STYLE = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
label { display: block; margin: 1rem 0 .25rem; }
input, button { font: inherit; padding: .4rem .6rem; }
button { margin-top: 1rem; }
pre { overflow-x: auto; padding: .75rem; border: 1px solid; border-radius: .25rem; }
code { overflow-wrap: anywhere; }
[role=alert] { font-weight: 600; }
html { background: Canvas; color: CanvasText; }
a { color: inherit; }
/* As the console's login page: one card in the middle of the window. */
body.card { display: grid; place-items: center; min-height: 100vh; max-width: none; margin: 0; padding: 1.5rem; }
body.card { box-sizing: border-box; font-size: 14px; line-height: 1.45; }
body.card { background: light-dark(#f7f8fa, #0f1216); color: light-dark(#171b22, #e8ebf0); }
.card main { width: 100%; max-width: 24rem; padding: 1.5rem; box-sizing: border-box; border-radius: .75rem; }
.card main { background: light-dark(#fff, #171b21); border: 1px solid light-dark(#dde1e8, #2b323c); }
.card h1 { display: flex; align-items: center; gap: .5rem; margin: 0; font-size: 1.125rem; font-weight: 600; }
.card h1 svg { width: 1.75rem; height: 1.75rem; }
.card label { font-weight: 500; }
.card input { color: inherit; background: transparent; width: 100%; box-sizing: border-box; border: 1px solid light-dark(#8a93a3, #6a7585); border-radius: .375rem; }
.card input, .card button { min-height: 2.25rem; }
.card button { width: 100%; border: 0; border-radius: .375rem; background: light-dark(#1f5fbf, #2a6bd0); color: #fff; }
.card button { font-weight: 500; cursor: pointer; }
.card [role=alert] { color: light-dark(#b3201f, #ff9d94); }
.card :focus-visible { outline: 2px solid light-dark(#1f5fbf, #8fbcff); outline-offset: 2px; }
`;

/** Allows only the page's style, by its hash, and forms to this server; no scripts. */
const POLICY = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
].join('; ');

/** HTML that is safe to insert as it is. Only `html` makes it. */
export interface Html {
  readonly html: string;
}

/** Text in `${}` is escaped; nested `html` is not. */
export function html(parts: TemplateStringsArray, ...values: (string | Html | readonly Html[])[]): Html {
  return { html: parts.map((part, i) => part + (i < values.length ? markup(values[i]) : '')).join('') };
}

function markup(value: string | Html | readonly Html[] | undefined): string {
  if (value === undefined) return '';
  if (typeof value === 'string') return value.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);
  return 'html' in value ? value.html : value.map((one) => one.html).join('\n');
}

/** Sends a page without scripts. */
export function sendPage(
  reply: FastifyReply,
  {
    status = 200,
    title,
    body,
    isCard = false,
  }: { status?: number; title: string; body: Html; isCard?: boolean },
): FastifyReply {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${{ html: STYLE }}</style>
</head>
<body class="${isCard ? 'card' : ''}">
${body}
</body>
</html>
`;
  return reply
    .code(status)
    .header('content-type', 'text/html; charset=utf-8')
    .header('content-security-policy', POLICY)
    .serializer((text: string) => text)
    .send(page.html);
}
