import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { ENGINES } from '../testing/engines.ts';
import { createEvidenceScene } from '../testing/evidence-scene.ts';
import { filesOf } from '../testing/unpack-bundle.ts';

describe.each(ENGINES)('tidegate evidence on $name, beside a running server', (engine) => {
  test('a bundle of a group verifies without a server, and shows nothing of other hosts', async () => {
    const it = await createEvidenceScene(engine);
    const file = it.file('lab.tar');
    const written = await it.run(['evidence', '--group', 'lab', '--since', it.since, '--out', file]);
    expect(written).toMatchObject({ code: 0, err: '', out: expect.stringContaining('Evidence written: ') });
    const nowhere = { env: { SERVICE_DATA_DIR: '/nowhere' } };
    const verified = await it.run(['verify-evidence', file, '--keys', it.keys], nowhere);
    expect(verified).toMatchObject({ code: 0, err: '' });
    expect(verified.out).toContain('2 with good signatures');
    expect(verified.out).toContain('1 of a bulk approval, 1 of them confirmed by the log');

    const bytes = readFileSync(file);
    const files = filesOf(bytes);
    const text = bytes.toString('latin1');
    for (const hidden of [it.other.id, 'host-2', 'office', 'PASSWORD', 'machine-2', it.token])
      expect([hidden, text.includes(hidden)]).toEqual([hidden, false]);
    const linesOf = (folder: string) =>
      [...files]
        .filter(([name]) => name.startsWith(`${folder}/`))
        .flatMap(([, content]) => content.toString().trimEnd().split('\n'))
        .map((line) => JSON.parse(line));
    const [left, system] = linesOf('approvals');
    expect(system.bulk_id).toBeNull();
    const act = linesOf('events').flatMap(({ event }) => (event?.id === left.bulk_id ? [event] : []));
    expect(act).toMatchObject([{ type: 'bulk_approval_asked', actor: 'ada' }]);
    expect(JSON.parse(act[0].content)).toMatchObject({ update_count: 2, filter: 'open:true name:left' });
    expect(left).toMatchObject({
      ...{ approved_by: 'ada', is_override: false, update_ids: [it.left], artifacts: 1, hashed: 1 },
      results: [
        { status: 'success', approval_sha256: left.sha256, installed: [{ name: 'left', version: '1.1.0' }] },
      ],
    });
    expect(system).toMatchObject({ is_override: true, override: { by: 'ada', reason: it.reason } });
    expect(
      linesOf('updates').map(({ name, outcome, reason, days }) => ({ name, outcome, reason, days })),
    ).toEqual(
      expect.arrayContaining([
        { name: 'left', outcome: 'installed', reason: null, days: 0 },
        { name: 'right', outcome: 'waiting', reason: 'held', days: 1 },
      ]),
    );
    expect(linesOf('exceptions')).toMatchObject([{ kind: 'hold', reason: 'breaks the build' }]);
    expect(linesOf('statements')).toMatchObject([{ status: 'not_affected', vulnerability: 'CVE-2026-1' }]);
    const events = linesOf('events');
    expect(events.filter((line) => 'withheld' in line).length).toBeGreaterThan(3);
    expect(events.flatMap(({ event }) => (event ? [event.type] : []))).toEqual(
      expect.arrayContaining(['update_approved', 'update_installed', 'supply_chain_override', 'hold_placed']),
    );
    const report = files.get('report.html')?.toString() ?? '';
    expect(report).toContain('reviewed by hand &#60;b&#62;&#38; signed');
    // The act of the approval: who asked, for how many updates, by which filter, and where the bundle has it.
    const [, row = ''] = /<tr>((?:(?!<tr>).)*data-head="Bulk approval".*?)<\/tr>/s.exec(report) ?? [];
    const cells = [...row.matchAll(/data-head="([^"]+)"><span[^>]*>(.*?)<\/span><\/td>/gs)].map(
      ([, head, cell]) => [head, cell?.replaceAll(/<[^>]+>/g, '')],
    );
    expect(Object.fromEntries(cells)).toEqual({
      'Asked at': expect.stringMatching(/^\d{4}-\d\d-\d\d \d\d:\d\d$/),
      ...{ By: 'ada', Updates: '2', 'Chosen by': 'open:true name:left' },
      'Approvals here': '1, the first in approvals/0001.ndjson:1',
      'Bulk approval': left.bulk_id,
      Line: expect.stringMatching(/^events\/0001\.ndjson:\d+$/),
    });
  });

  test('bundles of one host and of the fleet verify by a pinned key alone; another key does not do', async () => {
    const it = await createEvidenceScene(engine);
    const [key] = JSON.parse(readFileSync(it.keys, 'utf8')).keys;
    const one = it.file('one.tar');
    expect(await it.run(['evidence', '--host', 'host-1', '--since', it.since, '--out', one])).toMatchObject({
      code: 0,
    });
    const all = it.file('all.tar');
    expect(await it.run(['evidence', '--since', it.since, '--out', all, '--json'])).toMatchObject({
      code: 0,
    });
    const bulkOf = async (file: string) => {
      const told = await it.run(['verify-evidence', file, '--keys', it.keys, '--json']);
      return JSON.parse(told.out).events.bulk;
    };
    expect(await bulkOf(one)).toEqual({ approvals: 1, confirmed: 1 });
    expect(await bulkOf(all)).toEqual({ approvals: 2, confirmed: 2 });
    for (const file of [one, all]) {
      const verified = await it.run(['verify-evidence', file, '--pin', key.public_key_hex, '--json']);
      expect([verified.err, JSON.parse(verified.out)]).toMatchObject(['', { ok: true, key_set_version: 1 }]);
      const refused = await it.run(['verify-evidence', file, '--pin', 'd'.repeat(64)]);
      expect(refused).toMatchObject({ code: 1 });
      expect(refused.out).toContain('no key set is signed by a pinned key or root');
    }
    expect(
      JSON.parse((await it.run(['verify-evidence', all, '--keys', it.keys, '--json'])).out),
    ).toMatchObject({
      ...{ scope: { kind: 'fleet' }, hosts: 2, events: { withheld: 0 } },
    });
    // The same state and time give the same bytes, and no file is overwritten.
    const again = it.file('again.tar');
    await it.run(['evidence', '--host', it.lab.id, '--since', it.since, '--out', again]);
    expect(readFileSync(again).equals(readFileSync(one))).toBe(true);
    expect(await it.run(['evidence', '--since', it.since, '--out', one])).toMatchObject({
      ...{ code: 1, err: expect.stringContaining('is there already, and is not overwritten') },
    });
  });

  test('words that make no bundle are refused', async () => {
    const it = await createEvidenceScene(engine);
    const refused = async (...words: string[]) => (await it.run(['evidence', ...words])).err.split('\n')[0];
    expect(await refused('now')).toBe('evidence takes no words, only options');
    expect(await refused('--since', 'monday')).toContain('--since is "monday"; allowed: a day');
    expect(await refused('--since', it.since, '--host', 'a', '--group', 'b')).toContain('exclude each other');
    expect(await refused('--since', it.since, '--host', 'nobody')).toBe('there is no host "nobody"');
    expect(await refused('--since', it.since, '--group', 'labs')).toBe(
      'no host is or was in the group "labs"',
    );
    const verify = async (...words: string[]) =>
      (await it.run(['verify-evidence', ...words])).err.split('\n')[0];
    const empty = it.file('empty.tar');
    writeFileSync(empty, '');
    expect(await verify(empty)).toContain('a bundle cannot vouch for itself');
    expect(await verify(empty, '--pin', 'x')).toBe('--pin "x" is not 64 hex digits');
    expect(await verify(it.file('none'), '--keys', it.keys)).toMatch(/none does not exist$/);
    expect((await it.run(['verify-evidence', empty, '--keys', it.keys])).out).toContain(
      'First fault: the archive at byte 0',
    );
  });
});
