import { expect, test } from 'vitest';
import { z } from 'zod';
import { check } from '../../../src/protocol/validation.ts';

const schema = z.strictObject({
  name: z.string().min(2).max(3),
  count: z.coerce.number().int().min(1).max(9).default(1),
  tags: z.array(z.string()).min(1).max(2).optional(),
  above: z.number().gt(0).lt(1).optional(),
  even: z.number().multipleOf(2).optional(),
  when: z.iso.datetime().optional(),
  either: z.union([z.string(), z.strictObject({ a: z.number() })]).optional(),
  inner: z.strictObject({ length: z.number().optional() }).optional(),
  list: z.array(z.strictObject({ width: z.number().optional() })).optional(),
  pattern: z
    .string()
    .regex(/^[a-z]+$/)
    .optional(),
  place: z.string().regex(/^\d+$/, 'must be the number of a place').optional(),
  half: z.coerce.number('must be a half').optional(),
  map: z.record(z.string().regex(/^[a-z]+$/), z.number()).optional(),
});

test.each([
  [{}, ['name is required']],
  [{ name: 1 }, ['name must be a string']],
  [{ name: 'a' }, ['name must have at least 2 characters']],
  [{ name: 'abcd' }, ['name must have at most 3 characters']],
  [{ name: 'ab', count: '0' }, ['count must be at least 1']],
  [{ name: 'ab', count: 'x' }, ['count must be a number']],
  [{ name: 'ab', tags: [] }, ['tags must contain at least 1 element']],
  [{ name: 'ab', tags: ['a', 'b', 'c'] }, ['tags must contain at most 2 elements']],
  [{ name: 'ab', tags: ['a', 2] }, ['tags.1 must be a string']],
  [{ name: 'ab', above: 0 }, ['above must be more than 0']],
  [{ name: 'ab', above: 1 }, ['above must be less than 1']],
  [{ name: 'ab', even: 3 }, ['even must be a multiple of 2']],
  [{ name: 'ab', when: 'now' }, ['when must be an ISO 8601 date-time']],
  [{ name: 'ab', either: 1 }, ['either must be a string or an object']],
  [
    { name: 'ab', either: { a: 'x', b: 1 } },
    ['either.a must be a number', 'either.b must not be present'],
  ],
  [{ name: 'ab', map: { A: 1 } }, ['map.A must have a known form']],
  [{ name: 'ab', pattern: '1' }, ['pattern must have the documented form']],
  [{ name: 'ab', place: 'x' }, ['place must be the number of a place']],
  [{ name: 'ab', half: 'x' }, ['half must be a half']],
  [{ name: 'ab', more: 1 }, ['more must not be present']],
  [{ name: 'ab', wehn: 1 }, ['wehn must not be present, did you mean when?']],
  [
    { name: 'ab', inner: { lenght: 1 } },
    ['inner.lenght must not be present, did you mean length?'],
  ],
  [{ name: 'ab', list: [{ widht: 1 }] }, ['list.0.widht must not be present, did you mean width?']],
  [{ name: 'ab', __proto: 1 }, ['__proto must not be present']],
  ['text', ['body must be an object']],
])('%j is refused with %j', (value, validationErrors) => {
  expect(check(schema, value)).toEqual({ ok: false, validationErrors });
});

test('a valid value comes out with its defaults', () => {
  expect(check(schema, { name: 'ab' })).toEqual({ ok: true, value: { name: 'ab', count: 1 } });
});
