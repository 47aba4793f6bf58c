import { expect, test } from 'vitest';
import type { Role } from '../../../src/protocol/events.ts';
import { personName } from '../../../src/protocol/people.ts';

const roles: (Role | undefined)[] = ['customer', 'agent', 'mixed', undefined];

test.each([
  [{ role: 'customer' as const }, 'Customer'],
  [{ role: 'mixed' as const }, 'Speaker'],
  [{ role: 'mixed' as const, speaker: 0 }, 'Speaker 1'],
  [{ role: 'mixed' as const, speaker: 1, speaker_provisional: true }, 'Speaker 2?'],
  [{ channel: 1, channels: 2 }, 'Channel 2'],
  [{ channel: 1, channels: 2, speaker: 0 }, 'Channel 2, speaker 1'],
  [{ channel: 0, channels: 1 }, 'Speaker'],
])('who speaks is named by role, else by a number from one: %j is %s', (said, name) => {
  expect(personName(said)).toBe(name);
});

test('the page names everybody as everything else does', async () => {
  const format = new URL('../../../src/console/page/format.js', import.meta.url).href;
  const onPage = (await import(format)) as { personName: typeof personName };
  for (const role of roles)
    for (const speaker of [undefined, 0, 6])
      for (const isProvisional of [undefined, true])
        for (const channels of [1, 2]) {
          const said = { role, speaker, channel: 1, channels, speaker_provisional: isProvisional };
          expect(onPage.personName(said)).toBe(personName(said));
        }
});
