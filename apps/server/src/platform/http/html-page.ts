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
  { status = 200, title, body }: { status?: number; title: string; body: Html },
): FastifyReply {
  const page = html`<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${{ html: STYLE }}</style>
</head>
<body>
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
