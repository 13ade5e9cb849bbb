import { CheckInRequest, InventoryReport, RenewRequest } from '@tidegate/protocol/agent-api';
import { BulkApproveRequest, RejectRequest } from '@tidegate/protocol/approvals-api';
import { ClientErrorReport } from '@tidegate/protocol/client-errors-api';
import { LoginRequest } from '@tidegate/protocol/operators-api';
import { Ecosystem, strict } from '@tidegate/protocol/scalars';
import fc from 'fast-check';
import { Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { describe, expect, test } from 'vitest';
import { firstFault } from './first-fault.ts';

const REPORT = { scanned_at: '2026-11-21T09:00:00Z', complete: true, packages: [], updates: [] };

describe('the first fault of a body', () => {
  test.each([
    [RenewRequest, null, '', 'must be object'],
    [RenewRequest, {}, '/refresh_token', 'is required'],
    [
      RenewRequest,
      { refresh_token: 'x', a: 1, b: 2 },
      '/a',
      'is not a field here; allowed: refresh_token, request_id',
    ],
    [RenewRequest, { refresh_token: 1 }, '/refresh_token', 'must be string'],
    [RenewRequest, { refresh_token: '' }, '/refresh_token', 'must not have fewer than 1 characters'],
    [LoginRequest, [], '', 'must be object'],
    [
      strict({ ecosystem: Ecosystem }),
      { ecosystem: 'cargo' },
      '/ecosystem',
      'must be one of npm, pypi, apt, dnf, tidegate',
    ],
    [InventoryReport, { ...REPORT, packages: [{ name: 'a' }, 1] }, '/packages/0/version', 'is required'],
    [
      InventoryReport,
      { ...REPORT, packages: new Array(20_001).fill({ name: 'a', version: '1' }) },
      '/packages',
      'must not have more than 20000 items',
    ],
    [strict({ n: Type.Integer({ minimum: 1 }) }), { n: 0 }, '/n', 'must be at least 1'],
    [strict({ n: Type.Integer({ maximum: 9 }) }), { n: 10 }, '/n', 'must be at most 9'],
    [RejectRequest, 1, '', 'must be object'],
    [RejectRequest, { reason: 1 }, '/reason', 'must be string'],
    [BulkApproveRequest, { update_ids: 1 }, '/update_ids', 'must be array'],
    [
      ClientErrorReport,
      { error_type: 'ui_error', message: 'x', metadata: { 'a b': 1 } },
      '/metadata/a b',
      'is not a valid field name; allowed: ^[A-Za-z0-9_.-]{1,64}$',
    ],
    [
      ClientErrorReport,
      { error_type: 'other', message: 'x' },
      '/error_type',
      'must be one of javascript_error, api_error, ui_error, validation_error, client_debug, client_trace',
    ],
  ])('%# says where it is and what is allowed', (schema, value, path, message) => {
    expect(Compile(schema).Check(value)).toBe(false);
    expect(firstFault(schema, value)).toEqual({ path, message });
  });

  test('a key of the client is shown in part, as a JSON Pointer', () => {
    const { path } = firstFault(RenewRequest, { [`a/~${'x'.repeat(1_000)}`]: 1 });
    expect(path).toBe(`/a~1~0${'x'.repeat(61)}`);
  });

  test('any value that a schema refuses has exactly one fault, in words', () => {
    const schemas = [RenewRequest, CheckInRequest, InventoryReport, ClientErrorReport, BulkApproveRequest];
    fc.assert(
      fc.property(fc.constantFrom(...schemas), fc.jsonValue(), (schema, value) => {
        fc.pre(!Compile(schema).Check(value));
        const fault = firstFault(schema, value);
        expect(fault.message.length).toBeGreaterThan(0);
        expect(fault.path).toMatch(/^(\/.*)?$/su);
      }),
      { numRuns: 300 },
    );
  });

  test('it looks at no more than it says: the rest of 100,000 unknown keys is never read', () => {
    let reads = 0;
    const keys = Array.from({ length: 100_000 }, (_, n) => `k${n}`);
    const value = new Proxy(Object.fromEntries(keys.map((key) => [key, 1])), {
      getOwnPropertyDescriptor(target, key) {
        reads++;
        return Reflect.getOwnPropertyDescriptor(target, key);
      },
      get(target, key) {
        reads++;
        return Reflect.get(target, key);
      },
    });
    expect(firstFault(RenewRequest, value).path).toBe('/k0');
    expect(reads).toBeLessThan(10);
  });
});
