import { expect, test } from 'vitest';
import { CallLinks } from '../../../src/bridge/call-links.ts';

const linksOf = (generation: string): CallLinks =>
  new CallLinks({
    key: Buffer.alloc(32, 7),
    publicUrl: () => 'https://bridge.example.net',
    generation,
    lifeHours: 1,
    withRecording: true,
  });

test('another generation makes the links useless that were given before', () => {
  const page = new URL(linksOf('').linksOf('call-1', 0)?.page ?? '');
  const shown = {
    expires: Number(page.searchParams.get('expires')),
    signature: page.searchParams.get('signature') ?? '',
  };
  expect(linksOf('').judge('page', 'call-1', shown, 0)).toBe('good');
  expect(linksOf('2').judge('page', 'call-1', shown, 0)).toBe('wrong');
});
