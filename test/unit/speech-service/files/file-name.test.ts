import fc from 'fast-check';
import { validateHeaderValue } from 'node:http';
import { expect, test } from 'vitest';
import {
  extensionOf,
  headersOfFile,
  keptName,
  nameOfUrl,
} from '../../../../src/speech-service/files/file-name.ts';

test.each([
  ['call.wav', 'call.wav', 'wav'],
  ['Ärger 電話.MP3', 'Ärger 電話.MP3', 'mp3'],
  ['/etc/passwd', 'passwd', ''],
  ['..\\..\\boot.ini', 'boot.ini', 'ini'],
  ['..', 'audio', ''],
  ['', 'audio', ''],
  [undefined, 'audio', ''],
  ['a\r\nSet-Cookie: x.wav', 'aSet-Cookie: x.wav', 'wav'],
  ['invoice\u202egpj.wav', 'invoicegpj.wav', 'wav'],
  ['nul\u0000l.wav', 'nul\ufffdl.wav', 'wav'],
  ['half \ud800.wav', 'half \ufffd.wav', 'wav'],
  ['.wav', '.wav', ''],
  ['archive.tar.gz', 'archive.tar.gz', 'gz'],
  ['what. I mean', 'what. I mean', ''],
])('%j is kept as %j with extension %j', (given, name, extension) => {
  expect(keptName(given)).toBe(name);
  expect(extensionOf(name)).toBe(extension);
});

test.each([
  ['https://files.example.com/a/b/call%201.wav?sig=secret#x', 'call 1.wav'],
  ['https://files.example.com/', 'audio'],
  ['https://files.example.com/100%.wav', '100%.wav'],
  ['https://files.example.com/a%2f..%2fb.mp3', 'b.mp3'],
  ['nonsense', 'audio'],
])('%s is called %s', (url, name) => {
  expect(nameOfUrl(url)).toBe(name);
});

test('whatever a file is called, its headers are valid, save it and show nothing', () => {
  const points = fc.oneof(fc.nat(0x7f), fc.nat(0xffff), fc.nat(0x10ffff));
  const names = fc.array(points, { maxLength: 60 }).map((each) => String.fromCodePoint(...each));
  const saved = /^attachment; filename="[^"\\]+"; filename\*=UTF-8''[\w.!~%-]+$/;
  const wrong = fc.sample(names, 200).filter((given) => {
    const headers = headersOfFile(keptName(given));
    for (const [name, value] of Object.entries(headers)) validateHeaderValue(name, value);
    return !saved.test(headers['content-disposition'] ?? '');
  });
  expect(wrong).toEqual([]);
  for (const name of ['page.html', 'image.svg', 'data.json', 'x.xml'])
    expect(headersOfFile(name)['content-type']).toBe('application/octet-stream');
});
