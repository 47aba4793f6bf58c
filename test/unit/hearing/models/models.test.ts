import { mkdtemp, open, rm, writeFile, readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { catalogue, catalogueEntry } from '../../../../src/hearing/models/catalogue.ts';
import { readModelFolder } from '../../../../src/hearing/models/model-folder.ts';
import { moonshineTokens } from '../../../../src/hearing/making/moonshine/moonshine-tokens.ts';
import { extractEntry, zipEntries } from '../../../../src/hearing/making/zip.ts';
import { zipOf } from '../../../support/media/zip.ts';

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true });
});
async function temporary(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-models-'));
  folders.push(folder);
  return folder;
}

describe('the catalogue', () => {
  test('has a verified English default and entries for the other jobs', () => {
    const entry = catalogueEntry('moonshine-tiny-en');
    expect(entry.verified).toBe(true);
    expect(entry.model?.languages).toEqual(['en']);
    expect(catalogue.some((one) => (one.model?.languages.length ?? 0) > 10)).toBe(true);
    expect(new Set(catalogue.map(({ role }) => role))).toEqual(
      new Set(['recognition', 'second-reader', 'diarization', 'punctuation', 'meaning']),
    );
  });

  test('claims no checksum of a file that was never held', () => {
    for (const entry of catalogue.filter((one) => !one.verified))
      for (const file of entry.files) expect(file.sha256, entry.name).toBeUndefined();
  });

  test('names what there is when asked for what there is not', () => {
    expect(() => catalogueEntry('no-such')).toThrow(/no-such.*moonshine-tiny-en/);
  });
});

describe('the token list of Moonshine', () => {
  test('is one line of base64 for each token, long lengths in two bytes', () => {
    const long = 'x'.repeat(300);
    const bytes = Buffer.concat([
      Buffer.from([0, 2]), Buffer.from('hi'), Buffer.from([128 + (300 % 128), 2]), Buffer.from(long),
    ]); // prettier-ignore
    expect(moonshineTokens(bytes)).toBe(` 0\naGk= 1\n${Buffer.from(long).toString('base64')} 2\n`);
  });

  test('is refused when the file ends inside a token', () => {
    expect(() => moonshineTokens(Uint8Array.of(5, 1, 2))).toThrow('inside a token');
  });
});

describe('a wheel', () => {
  test('gives its files, packed or not', async () => {
    const folder = await temporary();
    const path = join(folder, 'a.whl');
    const content = Buffer.from('abc'.repeat(10_000));
    await writeFile(path, zipOf([['x/stored.bin', content, 0], ['x/packed.bin', content, 8]])); // prettier-ignore
    for (const name of ['stored.bin', 'packed.bin']) {
      await extractEntry(path, `x/${name}`, join(folder, name), { mostBytes: content.length });
      expect((await readFile(join(folder, name))).equals(content)).toBe(true);
    }
    await expect(
      extractEntry(path, 'x/none', join(folder, 'none'), { mostBytes: 1 }),
    ).rejects.toThrow('holds no x/none');
  });

  test('that is cut short is refused', async () => {
    const path = join(await temporary(), 'b.whl');
    await writeFile(path, zipOf([['a', Buffer.from('hello'), 0]]).subarray(0, -30));
    await using file = await open(path);
    await expect(zipEntries(file)).rejects.toThrow('cut short');
  });
});

describe('a model folder', () => {
  test('is refused with the name of the file that is missing or empty', async () => {
    const folder = await temporary();
    const write = (name: string, content: string) => writeFile(join(folder, name), content);
    await expect(readModelFolder(folder, 'm')).rejects.toThrow('there is no model.json');
    await write('model.json', '{"kind": "no-such-kind"}');
    await expect(readModelFolder(folder, 'm')).rejects.toThrow('kind');
    await write('model.json', JSON.stringify({ kind: 'nemo-ctc', files: { model: 'm.onnx', tokens: 't.txt' }, languages: ['en'] })); // prettier-ignore
    await write('t.txt', 'a 0');
    await expect(readModelFolder(folder, 'm')).rejects.toThrow(/m\.onnx is missing or empty/);
    await write('m.onnx', 'x');
    expect((await readModelFolder(folder, 'm')).description.sampleRate).toBe(16000);
  });

  test('names no file outside itself', async () => {
    const folder = await temporary();
    const files = { model: '../elsewhere.onnx', tokens: 't.txt' };
    await writeFile(
      join(folder, 'model.json'),
      JSON.stringify({ kind: 'nemo-ctc', files, languages: ['en'] }),
    );
    await expect(readModelFolder(folder, 'm')).rejects.toThrow('inside the folder');
  });
});
