import { expect, test } from 'vitest';
import { z } from 'zod';
import { Config } from '../../src/config.ts';

type Schema = { type?: string; maximum?: number; properties?: Record<string, Schema> };

/** Settings that a person could set to a number without an end. */
function unbounded(schema: Schema, path: string): string[] {
  const own =
    (schema.type === 'number' || schema.type === 'integer') &&
    (schema.maximum ?? Infinity) >= Number.MAX_SAFE_INTEGER
      ? [path]
      : [];
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, part]) =>
    unbounded(part, `${path}.${name}`),
  );
  return [...own, ...inner];
}

test('every number that can be set has a bound: one that is far too large is refused, not waited for', () => {
  const schema = z.toJSONSchema(Config, { io: 'input', unrepresentable: 'any' }) as Schema;
  expect(unbounded(schema, 'config')).toEqual([]);
});
