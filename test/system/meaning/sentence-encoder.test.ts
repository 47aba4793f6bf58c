import { copyFile, mkdir, open } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { cosine, directionFrom, numbersOf } from '../../../src/meaning/directions.ts';
import { multilingual, SentenceMeaning } from '../../../src/meaning/meaning.ts';
import {
  installedSentenceModel,
  multilingualModelFolder,
} from '../../support/meaning/installed-model.ts';
import { temporaryFolder } from '../../support/store/store.ts';

const models = await installedSentenceModel();
const manyLanguages = await multilingualModelFolder();
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

test.skipIf(!manyLanguages)(
  'the encoder of many languages agrees with its publisher’s own engine',
  async () => {
    await using meaning = new SentenceMeaning({ models: manyLanguages! }, systemClock, log, multilingual); // prettier-ignore
    // The first numbers that the engine in the package gives, each with its neighbours of the same text.
    const published: Record<string, number[]> = {
      'Estoy muy contento con el servicio.': [
        0.0278, -0.0061, -0.0621, -0.0506, 0.0541, -0.0775, 0.0554, 0.0585, 0.0411, 0.0794, 0.0272,
        0.023, 0.082, -0.0264, -0.0317, 0.029, 0.0776, -0.0318, -0.0616, -0.0605, 0.0315, 0.0105,
        -0.0563, 0.0482, 0.0547, 0.0721, -0.012, 0.0536, 0.0208, -0.114, -0.0531, -0.0267, 0.0447,
        -0.0554, 0.0697, 0.0625, -0.0073, -0.0535, 0.041, -0.0683, -0.0042, 0.0227, 0.0396, 0.067,
        0.0598, 0.034, -0.0635, 0.0614,
      ],
      'Ça ne marche toujours pas.': [
        0.0155, -0.013, -0.043, -0.0801, 0.0649, -0.0173, -0.0238, 0.0138, 0.0481, 0.0286, 0.0335,
        0.0382, 0.0613, 0.0046, -0.0712, 0.0389, 0.0522, -0.0285, 0.0105, -0.0653, 0.0463, 0.011,
        -0.0472, 0.0294, 0.0537, 0.0661, 0.0322, 0.0515, 0.0569, -0.0779, -0.0395, -0.0527, 0.0109,
        -0.0716, 0.0637, 0.0337, -0.0495, -0.0399, 0.0419, -0.1, 0.0349, 0.0402, 0.0182, 0.0983,
        0.026, 0.0259, -0.0562, -0.0031,
      ],
      'Das ist eine Unverschämtheit!': [
        0.1053, -0.0116, -0.0944, -0.085, 0.0616, 0.0032, 0.0234, 0.0744, 0.0162, 0.0483, 0.0346,
        0.0339, 0.0465, -0.0521, -0.0569, 0.0305, 0.0515, -0.0163, -0.0257, -0.0303, 0.0305, 0.0029,
        -0.0301, 0.0551, 0.0654, 0.066, -0.0306, 0.0502, 0.0059, -0.0532, -0.085, -0.0853, 0.0733,
        -0.0633, 0.0665, 0.0234, -0.0355, -0.0546, 0.0127, -0.071, -0.0155, 0.0353, 0.0295, 0.1005,
        0.0476, 0.0524, -0.015, 0.0207,
      ],
      'ﬁne… ½ 今日は': [
        0.0466, -0.0176, -0.0342, -0.0669, 0.0451, -0.0153, -0.003, 0.0217, 0.0755, 0.0088, 0.0574,
        0.0396, 0.0388, -0.0515, -0.0684, 0.0505, 0.0515, 0.0076, -0.053, -0.0253, -0.0111, 0.0072,
        -0.0637, 0.0178, 0.0631, 0.0964, -0.0304, 0.0433, 0.0179, -0.0731, -0.072, -0.0397, 0.0524,
        -0.0515, 0.0391, 0.0523, -0.0363, -0.0541, 0.0777, -0.0619, -0.0268, 0.0449, 0.0149, 0.0805,
        0.0586, 0.045, -0.0854, 0.0247,
      ],
    };
    for (const [text, numbers] of Object.entries(published)) {
      const direction = numbersOf((await meaning.direction(text))!).slice(0, numbers.length);
      const likeness = cosine(directionFrom(direction), directionFrom(numbers));
      expect(likeness, text).toBeGreaterThan(0.98);
    }
    const [es, de, other] = await Promise.all(['Mi factura no es correcta.', 'Meine Rechnung stimmt nicht.', 'Mañana hace sol.'].map(async (text) => (await meaning.direction(text))!)); // prettier-ignore
    expect(cosine(es!, de!)).toBeGreaterThan(cosine(es!, other!) + 0.04);
  },
);
