import { resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { collision, inputOf, whyNoInput } from '../../../../src/commands/transcription/inputs.ts';

const outputsOf = (given: string, folder?: string, kinds = ['txt']) => [
  ...inputOf(given, folder, kinds).outputs.values(),
];

describe('where results go', () => {
  test('beside the recording, in a folder, or nowhere on disk', () => {
    expect(outputsOf('calls/call.wav', undefined, ['txt', 'srt', 'de.srt'])).toEqual(
      ['txt', 'srt', 'de.srt'].map((kind) => resolve(`calls/call.${kind}`)),
    );
    expect(outputsOf('calls/Gespräch.1.mp3', 'out')).toEqual([resolve('out/Gespräch.1.txt')]);
    expect(outputsOf('calls/call.wav', '-')).toEqual([]);
  });

  test.each([
    ['https://files.example/a/call.mp3?token=secret', 'call.txt'],
    ['https://files.example/%E9%80%9A%E8%AF%9D.wav', '通话.txt'],
    ['https://files.example/', 'files.example.txt'],
    ['https://files.example/..%2f..%2fetc%2fpasswd.wav', '_.._etc_passwd.txt'],
    ['https://files.example/%', '%.txt'],
    ['https://files.example/a%1b%5b2Jb.wav', 'a[2Jb.txt'],
  ])('of %s the working folder gets %s', (url, name) => {
    expect(outputsOf(url)).toEqual([resolve(name)]);
  });

  test('a label of an address shows nothing of its query', () => {
    const { label } = inputOf('https://user:pass@files.example/call.mp3?token=secret', '-', []);
    expect(label).toBe('call.mp3 of files.example');
  });

  test('two results never go into one file, and none into a recording', () => {
    const inputs = (...given: string[]) => given.map((name) => inputOf(name, undefined, ['txt']));
    expect(collision(inputs('a.wav', 'b.wav'))).toBeUndefined();
    expect(collision(inputs('a.wav', './a.wav'))).toContain('would both be written to');
    expect(collision(inputs('a.wav', 'a.wav'))).toContain('given twice');
    expect(collision(inputs('a.wav', 'a.mp3'))).toContain('a.wav and a.mp3');
    expect(collision(inputs('a.txt'))).toContain('to be read and to be written');
  });

  test('an input that is neither a file nor an address of audio is reported', () => {
    expect(whyNoInput('call.wav')).toBeUndefined();
    expect(whyNoInput('https://files.example/a.wav')).toBeUndefined();
    expect(whyNoInput('ftp://files.example/a.wav')).toContain('ftp:// is not fetched');
    expect(whyNoInput('s3://bucket/a.wav')).toContain('s3://');
    expect(whyNoInput('https://')).toContain('no address');
    expect(whyNoInput('')).toContain('empty');
  });
});
