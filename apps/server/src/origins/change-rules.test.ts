import type { PlanAction } from '@tidegate/protocol/plan';
import { describe, expect, test } from 'vitest';
import { originChanges, type PresentPackage } from './change-rules.ts';

const DEBIAN = 'Debian:12.5/stable';
const DOCKER = 'Docker CE:bookworm';

function action(fields: Partial<PlanAction>): PlanAction {
  return { action: 'upgrade', name: 'runc', arch: 'amd64', to_version: '2-1', ...fields };
}

function present(fields: Partial<PresentPackage>): PresentPackage {
  return { name: 'runc', arch: 'amd64', version: '1-1', origin: DEBIAN, ...fields };
}

function changesOf(ecosystem: 'apt' | 'dnf', from: string | null, to: string | undefined) {
  const osId = ecosystem === 'apt' ? 'debian' : 'almalinux';
  const actions = [action(to === undefined ? {} : { origin: to })];
  return originChanges({ ecosystem, osId, actions, installed: [present({ origin: from })] });
}

describe('a name that jumps from one vendor to another', () => {
  test.each([
    ['apt', DEBIAN, DOCKER],
    ['apt', DOCKER, DEBIAN],
    ['apt', DOCKER, 'NodeSource:nodistro'],
    ['apt', DEBIAN, 'Ubuntu:24.04/noble'],
    ['apt', DEBIAN, 'apt.example.com'],
    ['apt', DEBIAN, 'localhost'],
    ['apt', DEBIAN, 'Debianish:12/stable'],
    ['apt', `${DEBIAN}, ${DOCKER}`, 'NodeSource:nodistro'],
    ['dnf', 'appstream', 'epel'],
    ['dnf', 'docker-ce-stable', 'appstream'],
    ['dnf', 'epel', 'remi'],
    ['dnf', 'baseos', 'corp-tools'],
    ['dnf', 'corp-tools', 'corp-other'],
    ['dnf', 'copr:copr.fedorainfracloud.org:a:x', 'copr:copr.fedorainfracloud.org:b:x'],
  ] as const)('%s: from %s to %s is listed', (ecosystem, from, to) => {
    expect(changesOf(ecosystem, from, to)).toEqual([{ package: 'runc', arch: 'amd64', from, to }]);
  });

  test.each([
    ['apt', DEBIAN, 'Debian:12.6/stable'],
    ['apt', DEBIAN, 'Debian-Security:12/stable-security'],
    ['apt', DEBIAN, 'Debian Backports:stable-backports'],
    ['apt', DEBIAN, 'deb.debian.org'],
    ['apt', DOCKER, 'docker ce:trixie'],
    ['apt', DOCKER, `${DEBIAN}, ${DOCKER}`],
    ['dnf', 'anaconda', 'baseos'],
    ['dnf', 'baseos', 'Corp_AlmaLinux_AppStream'],
    ['dnf', 'docker-ce-stable', 'docker-ce-test'],
    ['dnf', 'epel', 'epel-testing'],
    ['dnf', 'corp-tools', 'Corp-Tools'],
  ] as const)('%s: %s and %s are one vendor', (ecosystem, from, to) => {
    expect(changesOf(ecosystem, from, to)).toEqual([]);
  });

  test.each([
    ['apt', null, DOCKER, [{ package: 'runc', arch: 'amd64', from: null, to: DOCKER }]],
    ['dnf', '@commandline', 'epel', [{ package: 'runc', arch: 'amd64', from: null, to: 'epel' }]],
    // Archives drop superseded versions: most updates of the distribution replace one of those.
    ['apt', null, DEBIAN, []],
    ['dnf', '@commandline', 'baseos', []],
    // Unchecked, a stop of its own.
    ['apt', DEBIAN, undefined, []],
  ] as const)('%s: where one of both is not known, %s to %s', (ecosystem, from, to, listed) => {
    expect(changesOf(ecosystem, from, to)).toEqual(listed);
  });

  const listed = (
    actions: readonly PlanAction[],
    installed: readonly PresentPackage[],
    ecosystem: 'apt' | 'npm' = 'apt',
  ) =>
    originChanges({ ecosystem, osId: 'debian', actions, installed }).map(
      (one) => `${one.package}:${one.arch} ${one.from}`,
    );

  test('any package of the closure counts, not only those that were asked for', () => {
    const actions = ['a', 'b', 'c'].map((name) => action({ name, origin: name === 'b' ? DOCKER : DEBIAN }));
    const installed = ['a', 'b', 'c'].map((name) => present({ name }));
    expect(listed(actions, installed)).toEqual([`b:amd64 ${DEBIAN}`]);
  });

  test('downgrades count; removals and packages that are new to the host do not', () => {
    const origin = DOCKER;
    expect(listed([action({ origin, action: 'downgrade' })], [present({})])).toHaveLength(1);
    expect(listed([action({ origin, action: 'remove' })], [present({})])).toEqual([]);
    expect(listed([action({ origin, action: 'install' })], [])).toEqual([]);
  });

  test('the same architecture is compared, and any where the host does not have that one', () => {
    const installed = [present({ origin: DOCKER }), present({ arch: 'i386' })];
    expect(listed([action({ origin: DEBIAN, arch: 'i386' })], installed)).toEqual([]);
    expect(listed([action({ origin: DEBIAN, arch: 'amd64' })], installed)).toEqual([`runc:amd64 ${DOCKER}`]);
    expect(listed([action({ origin: DEBIAN, arch: 'all' })], installed)).toEqual([`runc:all ${DOCKER}`]);
  });

  test('npm and PyPI have one registry each', () => {
    expect(listed([action({ origin: 'b' })], [present({ origin: 'a' })], 'npm')).toEqual([]);
  });
});
