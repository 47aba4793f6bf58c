import { copyFile, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { cosine } from '../../../src/meaning/directions.ts';
import { SentenceMeaning } from '../../../src/meaning/meaning.ts';
import { installedSentenceModel } from '../../support/meaning/installed-model.ts';
import { temporaryFolder } from '../../support/store/store.ts';

const models = await installedSentenceModel();
const log = createLog({ level: 'silent' });

test.skipIf(!models)('near directions mean near things, as published', async () => {
  await using meaning = new SentenceMeaning({ models: models! }, systemClock, log);
  const of = async (text: string) => (await meaning.direction(text))!;
  const weather = await of('The weather is lovely today.');
  const sunny = await of("It's so sunny outside!");
  const stadium = await of('He drove to the stadium.');
  // The reference in full precision gives 0.6660, 0.1046 and 0.1411.
  expect(cosine(weather, sunny)).toBeCloseTo(0.666, 1);
  expect(cosine(weather, stadium)).toBeLessThan(0.2);
  expect(cosine(sunny, stadium)).toBeLessThan(0.2);
  // Questions beside it change nothing.
  const again = await Promise.all([of('Something else.'), of('The weather is lovely today. '), of('And more.')]); // prettier-ignore
  expect(again[1]).toEqual(weather);
});

test.skipIf(!models)(
  'a damaged model is refused before the runtime reads it, and everybody goes on without',
  async () => {
    await using folder = await temporaryFolder();
    const own = join(folder.path, 'sentence-encoder-en');
    await mkdir(own);
    for (const file of ['vocab.txt', 'README.md', 'LICENSE', 'sentences.onnx'])
      await copyFile(join(models!, 'sentence-encoder-en', file), join(own, file));
    const lines: string[] = [];
    const heard = Object.assign(createLog({ level: 'silent' }), {
      warn: (...said: unknown[]) => lines.push(JSON.stringify(said)),
    });
    await using meaning = new SentenceMeaning({ models: folder.path }, systemClock, heard);
    // The size stays: only the checksum tells.
    const file = await open(join(own, 'sentences.onnx'), 'r+');
    await file.write(Buffer.from('damaged'), 0, 7, 1_000_000);
    await file.close();
    expect(await meaning.direction('Hello there.')).toBeUndefined();
    expect(lines.join()).toContain('sha256 differs');
    expect(lines.join()).not.toContain('Hello there');
  },
);

test('without the model every answer is unknown, and no process is started', async () => {
  await using folder = await temporaryFolder();
  await using meaning = new SentenceMeaning({ models: folder.path }, systemClock, log);
  expect(await meaning.isThere()).toBe(false);
  expect(await meaning.live('Hello there.')).toBeUndefined();
  expect(await meaning.direction('Hello there.')).toBeUndefined();
  expect(await meaning.learn([], 2)).toBeUndefined();
});
