import type { IncomingMessage } from 'node:http';
import { describe, expect, test } from 'vitest';
import {
  hostOf,
  isLoopback,
  ownAddress,
  proxiesIn,
  publicUrls,
} from '../../../src/port/addresses.ts';

test('loopback is known in all its spellings', () => {
  for (const host of [
    'localhost',
    'LOCALHOST',
    'app.localhost',
    '127.0.0.1',
    '127.9.9.9',
    '::1',
    '[::1]',
    '::ffff:127.0.0.1',
  ])
    expect([host, isLoopback(host)]).toEqual([host, true]);
  for (const host of [
    '0.0.0.0',
    '::',
    '10.0.0.1',
    'example.com',
    'localhost.example.com',
    '127.0.0.1.example.com',
    '',
  ])
    expect([host, isLoopback(host)]).toEqual([host, false]);
});

test('our own address is one that we can reach', () => {
  expect(ownAddress('0.0.0.0', 80)).toBe('http://127.0.0.1:80');
  expect(ownAddress('::', 80)).toBe('http://[::1]:80');
  expect(ownAddress('::1', 80)).toBe('http://[::1]:80');
  expect(ownAddress('10.1.2.3', 80)).toBe('http://10.1.2.3:80');
});

test('a host is taken out of a Host or an Origin header', () => {
  expect(hostOf('example.com:8080')).toBe('example.com');
  expect(hostOf('https://example.com')).toBe('example.com');
  expect(hostOf('null')).toBe('null');
  expect(hostOf('a b')).toBeUndefined();
});

describe('the public address', () => {
  const own = (): string => 'http://127.0.0.1:8080';
  const request = (remoteAddress: string, headers: Record<string, string>): IncomingMessage =>
    ({ headers, socket: { remoteAddress } }) as unknown as IncomingMessage;
  const forwarded = {
    host: 'inside:8080',
    'x-forwarded-host': 'bridge.example.net',
    'x-forwarded-proto': 'https',
  };

  test('is the configured one, whatever a request says', () => {
    const publicUrl = publicUrls({
      configured: 'https://calls.example.net/',
      isProxy: proxiesIn(['127.0.0.1']),
      own,
    });
    expect(publicUrl(request('127.0.0.1', forwarded))).toBe('https://calls.example.net');
  });

  test('comes from forwarded headers only when a listed proxy sent them', () => {
    const publicUrl = publicUrls({
      configured: undefined,
      isProxy: proxiesIn(['10.0.0.0/8', '::1']),
      own,
    });
    expect(publicUrl(request('10.3.4.5', forwarded))).toBe('https://bridge.example.net');
    expect(publicUrl(request('::ffff:10.3.4.5', forwarded))).toBe('https://bridge.example.net');
    expect(publicUrl(request('11.0.0.1', forwarded))).toBe('http://inside:8080');
  });

  test('is our own without a request or with an unusable Host', () => {
    const publicUrl = publicUrls({ configured: undefined, isProxy: proxiesIn([]), own });
    expect(publicUrl()).toBe(own());
    expect(publicUrl(request('127.0.0.1', { host: 'a b' }))).toBe(own());
  });
});
