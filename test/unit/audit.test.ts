import { expect, test } from 'vitest';
import { verdictOf } from '../../config/tools/audit.ts';

const report = (severity: string) =>
  JSON.stringify({
    vulnerabilities: { left: { severity, via: ['right', { title: 'Reads a file of anybody' }] } },
  });

test('a high or critical advisory stops the run, and names the package', () => {
  for (const severity of ['high', 'critical'])
    expect(verdictOf(report(severity))).toEqual({
      is: 'found',
      lines: [`left: ${severity} (Reads a file of anybody)`],
    });
  expect(verdictOf(report('moderate'))).toEqual({ is: 'clean' });
  expect(verdictOf('{"vulnerabilities":{}}')).toEqual({ is: 'clean' });
});

test('a registry that is not reached or answers no such question is told, and never passes for a clean answer', () => {
  expect(
    verdictOf('{"message":"405 Method Not Allowed - POST https://registry","error":{}}'),
  ).toEqual({
    is: 'unasked',
    reason: '405 Method Not Allowed - POST https://registry',
  });
  expect(verdictOf('{"error":{"summary":"","detail":""}}')).toEqual({
    is: 'unasked',
    reason: 'npm audit gave no report',
  });
  expect(verdictOf('spawnSync npm ETIMEDOUT').is).toBe('unasked');
  expect(verdictOf('').is).toBe('unasked');
});
