import { startFakeOsv } from '@tidegate/testkit/fake-osv';
import { startFakeOsvExport } from '@tidegate/testkit/fake-osv-export';
import { listenOnLoopback, readBody } from '@tidegate/testkit/loopback';
import { SYSTEMS, VULNERABILITIES, type Vulnerability } from './catalogue.ts';

const BODY_MAX_BYTES = 1_000_000;

/** Stand-ins for what the server asks and tells: OSV, the lists of exploited vulnerabilities, a chat that takes notices. */
export async function startSources() {
  const stack = new AsyncDisposableStack();
  const osv = await startFakeOsv({ covered: Object.values(SYSTEMS).map(({ osv: name }) => name) });
  stack.defer(osv.stop);
  const exported = await startFakeOsvExport(osv);
  stack.defer(exported.stop);
  let today = 0;
  let publishedAt = '';
  const known = () => VULNERABILITIES.filter(({ day }) => day <= today);
  const kev = await listenOnLoopback((_, response) => {
    const exploited = known().filter(({ exploitedDay = Number.POSITIVE_INFINITY }) => exploitedDay <= today);
    const listed = [...exploited.map(({ cve }) => cve), 'CVE-2021-44228'].map((cveID) => ({ cveID }));
    response.end(JSON.stringify({ dateReleased: publishedAt, vulnerabilities: listed }));
  });
  stack.defer(kev.stop);
  const epss = await listenOnLoopback((_, response) => {
    const rows = known().map(({ cve, epss: score }) => `${cve},${score},0.5\n`);
    response.end(
      `#score_date:${publishedAt}\ncve,epss,percentile\n${rows.join('')}CVE-2021-44228,0.97,0.99\n`,
    );
  });
  stack.defer(epss.stop);
  const chat = await listenOnLoopback(async (request, response) => {
    await readBody(request, BODY_MAX_BYTES);
    response.end('taken');
  });
  stack.defer(chat.stop);
  return {
    chatUrl: chat.url,
    env: {
      SERVICE_ADVISORY_API_URL: osv.url,
      SERVICE_ADVISORY_EXPORT_URL: exported.url,
      SERVICE_KEV_URL: kev.url,
      SERVICE_EPSS_URL: epss.url,
      SERVICE_PRIVATE_DESTINATIONS: '127.0.0.1,::1',
      // Nothing of a demo leaves the machine.
      SERVICE_NPM_REGISTRY_URL: 'http://127.0.0.1:9',
      SERVICE_PYPI_URL: 'http://127.0.0.1:9',
    },
    /** From now on everything of that day is published. */
    publish(day: number, at: string): void {
      for (const one of VULNERABILITIES.filter((known) => known.day > today || day === 0)) {
        if (one.day <= day) osv.addRecord(...recordOf(one, at));
      }
      today = day;
      publishedAt = at;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}
export type Sources = Awaited<ReturnType<typeof startSources>>;

function recordOf(one: Vulnerability, at: string) {
  const { osv: ecosystem } = SYSTEMS[one.system];
  const events = [{ introduced: '0' }, ...(one.fixed === null ? [] : [{ fixed: one.fixed }])];
  const affected = [
    {
      package: { ecosystem, name: one.source },
      ranges: [{ type: 'ECOSYSTEM', events }],
      versions: [...one.vulnerable],
    },
  ];
  const record = {
    ...{ id: one.advisory, aliases: [one.cve], summary: one.summary, affected },
    ...{ published: at, modified: at, severity: [{ type: 'CVSS_V3', score: one.vector }] },
    references: [{ type: 'ADVISORY', url: `https://example.com/${one.cve}` }],
  };
  return [record, [{ ecosystem, name: one.source, versions: one.vulnerable }]] as const;
}
