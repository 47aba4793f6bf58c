import { expect, test } from 'vitest';
import { learnt } from '../../../../src/bridge/call/facts.ts';
import { metadataLimit } from '../../../../src/bridge/records/call-record.ts';

const unknown = { from: undefined, to: undefined, direction: undefined, metadata: { a: 1 } };

test('only what was not known is learnt, and nothing new is nothing', () => {
  const learned = learnt(unknown, { from: '+1', isOver: true });
  expect(learned).toEqual({
    from: '+1',
    to: undefined,
    direction: undefined,
    metadata: { a: 1, from: '+1' },
  });
  expect(learnt({ ...unknown, from: '+2' }, { from: '+1' })).toBeUndefined();
  expect(learnt(unknown, { isOver: true })).toBeUndefined();
  expect(learnt(unknown, {})).toBeUndefined();
});

test('metadata that is full stays as it is: a session whose metadata is too long is refused whole', () => {
  const full = { note: 'x'.repeat(metadataLimit - 190) };
  const learned = learnt({ ...unknown, metadata: full }, { from: '+15550100123' });
  expect(learned).toMatchObject({ from: '+15550100123', metadata: full });
});
