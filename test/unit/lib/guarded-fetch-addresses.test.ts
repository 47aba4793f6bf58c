import { expect, test } from 'vitest';
import {
  checkUrl,
  isAllowed,
  parseAllowance,
  whyForbidden,
} from '../../../src/lib/guarded-fetch-addresses.ts';
import { forbiddenHosts, forbiddenUrls } from '../../support/faults/url-spellings.ts';

test('public addresses pass and special ones do not', () => {
  for (const address of [
    '8.8.8.8',
    '1.1.1.1',
    '93.184.216.34',
    '2606:4700:4700::1111',
    '2a00:1450:4001::200e',
  ])
    expect([address, whyForbidden(address)]).toEqual([address, undefined]);
  for (const address of ['127.0.0.1', '::1', 'fe80::1%eth0', '', 'example.com', '::ffff:8.8.8.8'])
    expect([address, whyForbidden(address)]).not.toEqual([address, undefined]);
});

test('at least 250 spellings are tried, and a literal one is refused before any name server is asked', () => {
  expect(forbiddenHosts.length + forbiddenUrls.length).toBeGreaterThanOrEqual(250);
  const passed = forbiddenHosts.filter((host) => checkUrl(`http://${host}/`).ok);
  // The rest are names: the guard judges the addresses that they resolve to.
  expect(
    passed.every((host) => /^localhost\.?$/i.test(decodeURIComponent(host).normalize('NFKC'))),
  ).toBe(true);
  expect(forbiddenUrls.filter((url) => checkUrl(url).ok)).toEqual([]);
});

test('the allow-list takes names, addresses, ranges and ports, and no more than it says', () => {
  const list = ['crm.internal', '10.1.0.0/16', '192.168.7.9:8443', '[fd00::7]'].map(parseAllowance);
  const yes = [
    { hostname: 'crm.internal', port: 80, address: '10.9.9.9' },
    { hostname: 'other', port: 80, address: '10.1.2.3' },
    { hostname: 'other', port: 80, address: '::ffff:10.1.2.3' },
    { hostname: '192.168.7.9', port: 8443 },
    { hostname: '[fd00::7]', port: 443 },
  ];
  const no = [
    { hostname: 'xcrm.internal', port: 80, address: '10.9.9.9' },
    { hostname: 'other', port: 80, address: '10.2.2.3' },
    { hostname: '192.168.7.9', port: 443 },
    { hostname: '[fd00::8]', port: 443 },
  ];
  expect(yes.map((target) => isAllowed(list, target))).toEqual(yes.map(() => true));
  expect(no.map((target) => isAllowed(list, target))).toEqual(no.map(() => false));
});
