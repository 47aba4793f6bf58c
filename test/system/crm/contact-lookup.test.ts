import { expect, test } from 'vitest';
import { presetNamed, presetNames } from '../../../src/crm/preset.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { endpointOf, EndpointSetting, type Endpoint } from '../../../src/outbox/config.ts';
import { ContactLookups } from '../../../src/outbox/contact-lookups.ts';
import type { WebhookClient } from '../../../src/outbox/sender.ts';
import { doubles } from '../../support/crm/doubles/all.ts';
import type { CrmDouble } from '../../support/crm/doubles/double.ts';
import { randomOf } from '../../support/faults/live-faults.ts';
import { answering } from '../../support/crm/hostile-crm.ts';

/** Numbers as people type them: the digits of one number of London. */
const forms: ((digits: string) => string)[] = [
  (d) => `+44${d}`,
  (d) => `+44 ${d.slice(0, 2)} ${d.slice(2, 6)} ${d.slice(6)}`,
  (d) => `0044 ${d.slice(0, 2)} ${d.slice(2, 6)} ${d.slice(6)}`,
  (d) => `0044${d}`,
  (d) => `0${d.slice(0, 2)} ${d.slice(2, 6)} ${d.slice(6)}`,
  (d) => `0${d}`,
  (d) => `(0${d.slice(0, 2)}) ${d.slice(2, 6)} ${d.slice(6)}`,
  (d) => `0${d.slice(0, 2)}-${d.slice(2, 6)}-${d.slice(6)}`,
  (d) => `44${d}`,
  (d) => `+44 (0)${d.slice(0, 2)} ${d.slice(2, 6)} ${d.slice(6)}`,
  (d) => `+44-${d.slice(0, 2)}-${d.slice(2, 6)}-${d.slice(6)}`,
  (d) => `0${d.slice(0, 2)}.${d.slice(2, 6)}.${d.slice(6)}`,
];

const lookedUp = Number(process.env['LOOKUPS'] ?? 48);

function endpointFor(double: CrmDouble, name: string): Endpoint {
  const options = { ...double.setting.options, phone_region: 'GB' };
  const endpoint = endpointOf(EndpointSetting.parse({ ...double.setting, options }));
  if (presetNamed(name).lookup === undefined) throw new Error(`${name} looks nobody up`);
  return { ...endpoint, limits: {} };
}

function lookupsAt(endpoints: Endpoint[], client?: WebhookClient): ContactLookups {
  const log = createLog({ level: 'silent' });
  return new ContactLookups({ endpoints: () => endpoints, tokens: undefined, client, clock: systemClock, log }); // prettier-ignore
}

const callFrom = (from: string) => ({ id: 'call_1', direction: 'inbound' as const, from, to: '+442079460000', startedAt: 0 }); // prettier-ignore

test.each(presetNames)(
  '%s: of 10,000 contacts in twelve forms each caller is found, and nobody in place of another',
  { timeout: 300_000 },
  async (name) => {
    const double = doubles[name]!();
    const random = randomOf(5);
    const numbers = Array.from({ length: 10_000 }, (_, index) => `20${String(70_000_000 + index * 997)}`); // prettier-ignore
    double.people = numbers.map((digits, index) => ({
      id: String(index + 1),
      phones: [forms[index % forms.length]!(digits)],
      at: '2026-01-01T00:00:00Z',
      name: `Person ${index + 1}`,
    }));
    await using lookups = lookupsAt([endpointFor(double, name)], double);
    let missed = 0;
    for (let round = 0; round < lookedUp; round++) {
      // Each form has its turn.
      const index = Math.floor(random() * 800) * forms.length + (round % forms.length);
      const contact = await lookups.find(callFrom(`+44${numbers[index]}`));
      if (contact === undefined) missed++;
      else expect(contact, double.people[index]?.phones[0]).toMatchObject({ id: String(index + 1), name: `Person ${index + 1}` }); // prettier-ignore
    }
    // A number that no contact has, and that has the same end as one of another country.
    double.people.push({ id: '20001', phones: [`+1 2079460958`], at: '', name: 'Stranger' });
    expect(await lookups.find(callFrom('+442079460958'))).toBeUndefined();
    expect(missed / lookedUp).toBeLessThanOrEqual(0.01);
  },
);

test.each(presetNames)('%s: tells the name and what is open', async (name) => {
  const double = doubles[name]!();
  double.people = [{ id: '51', phones: ['+442079460958'], at: '2026-01-01T00:00:00Z', name: 'Laura Brindlemoor' }]; // prettier-ignore
  await using lookups = lookupsAt([endpointFor(double, name)], double);
  const contact = await lookups.find(callFrom('+442079460958'));
  expect(contact).toMatchObject({ crm: 'crm', id: '51', name: 'Laura Brindlemoor' });
  const open = ['tryton', 'zoho'].includes(name) ? [] : [{ id: '900', title: 'Broken kettle' }];
  expect(contact?.tickets).toEqual(open);
});

test('of several contacts with one number the newest is taken, or none', async () => {
  const double = doubles['hubspot']!();
  double.people = [
    { id: '51', phones: ['+442079460958'], at: '2026-01-01T00:00:00Z', name: 'Laura Brindlemoor' },
    { id: '52', phones: ['020 7946 0958'], at: '2026-02-01T00:00:00Z', name: 'Omar Quillfeather' },
  ];
  const endpoint = endpointFor(double, 'hubspot');
  await using newest = lookupsAt([endpoint], double);
  expect((await newest.find(callFrom('+442079460958')))?.id).toBe('52');
  await using none = lookupsAt([{ ...endpoint, options: { ...endpoint.options, several: 'none' } }], double); // prettier-ignore
  expect(await none.find(callFrom('+442079460958'))).toBeUndefined();
  // An extension and a withheld number are nobody's.
  for (const from of ['204', 'anonymous', ''])
    expect(await newest.find(callFrom(from))).toBeUndefined();
});

test.each([
  ['50 MB', 'large'],
  ['an answer without an end', 'endless'],
  ['no answer', 'silent'],
  ['no JSON', 'html'],
  ['a list of nonsense', 'nonsense'],
] as const)('a CRM that answers with %s names nobody, within the deadline', async (_, kind) => {
  await using crm = await answering(kind);
  const setting = {
    name: 'crm',
    preset: 'generic',
    url: crm.url,
    token: 'generic-token-0123456789',
  };
  await using lookups = lookupsAt([endpointOf(EndpointSetting.parse(setting))]);
  expect(await lookups.find(callFrom('+442079460958'))).toBeUndefined();
});

test('a name with a script, control characters and no end becomes short text', async () => {
  await using crm = await answering('script');
  const setting = {
    name: 'crm',
    preset: 'generic',
    url: crm.url,
    token: 'generic-token-0123456789',
  };
  await using lookups = lookupsAt([endpointOf(EndpointSetting.parse(setting))]);
  const contact = await lookups.find(callFrom('+442079460958'));
  expect(contact?.name).toMatch(/^<script>alert\(1\)<\/script> x+$/);
  expect(contact?.name).toHaveLength(120);
  expect(contact?.company).toBeNull();
  expect(contact?.tickets).toHaveLength(5);
});

test('an option switches the look-up off', () => {
  const setting = { name: 'crm', preset: 'hubspot', token: 'pat-na1-0123456789abcdef', options: { lookup: false } }; // prettier-ignore
  expect(endpointOf(EndpointSetting.parse(setting)).lookup).toBeUndefined();
});
