import { expect, test } from 'vitest';
import { unitOf } from './unit-rules.ts';

test.each([
  ['0::/system.slice/nginx.service\n', 'service', 'nginx.service'],
  ['0::/system.slice/system-getty.slice/getty@tty1.service\n', 'service', 'getty@tty1.service'],
  ['0::/system.slice/docker.service/inner\n', 'service', 'docker.service'],
  [
    '0::/system.slice/system-postgresql.slice/postgresql@15-main.service\n',
    'service',
    'postgresql@15-main.service',
  ],
  ['0::/machine.slice/machine-qemu\\x2d1.scope\n', 'service', 'machine-qemu\\x2d1.scope'],
  ['0::/init.scope\n', 'core', 'init.scope'],
  ['0::/system.slice/dbus.service\n', 'core', 'dbus.service'],
  ['0::/system.slice/dbus-broker.service\n', 'core', 'dbus-broker.service'],
  ['0::/system.slice/systemd-logind.service\n', 'core', 'systemd-logind.service'],
  ['0::/system.slice/gdm.service\n', 'core', 'gdm.service'],
  ['0::/system.slice/gdm3.service\n', 'core', 'gdm3.service'],
  ['0::/system.slice/sddm.service\n', 'core', 'sddm.service'],
  ['0::/system.slice/not-dbus.service\n', 'service', 'not-dbus.service'],
  ['0::/user.slice/user-1000.slice/session-3.scope\n', 'session', 'session-3.scope'],
  [
    '0::/user.slice/user-1000.slice/user@1000.service/app.slice/dbus.service\n',
    'session',
    'user@1000.service',
  ],
  ['12:cpu:/x\n1:name=systemd:/system.slice/ssh.service\n0::/\n', 'service', 'ssh.service'],
  ['1:name=systemd:/\n0::/system.slice/ssh.service\n', 'service', 'ssh.service'],
  ['4:memory:/system.slice/fake.service\n0::/\n', 'other', null],
  ['0::/openrc.sshd\n', 'other', null],
  ['0::/\n', 'other', null],
  ['', 'other', null],
  ['0::/system.slice/a b.service\n', 'other', null],
  ['0::/system.slice/\u202eevil.service\n', 'other', null],
  [`0::/system.slice/${'a'.repeat(300)}.service\n`, 'other', null],
])('%j is %s %s', (text, kind, unit) => {
  expect(unitOf(text)).toEqual({ kind, unit });
});
