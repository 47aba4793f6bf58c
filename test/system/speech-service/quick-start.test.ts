import { execFile } from 'node:child_process';
import { readFile, symlink, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { bytesOf, interleaved, wavFile } from '../../support/media/media-files.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import {
  fixtureRecogniser,
  startTestService,
  type TestService,
} from '../../support/speech/speech-service.ts';
import { temporaryFolder } from '../../support/store/store.ts';

const root = resolve(import.meta.dirname, '../../..');
let recogniser: Recogniser;
let service: TestService;
beforeAll(async () => {
  recogniser = await fixtureRecogniser();
  service = await startTestService({ recogniser, keys: ['key-of-the-quick-start'] });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await recogniser[Symbol.asyncDispose]();
});

test.each([
  ['file', ['0.5 channel 0 my card is lost', '2.0 channel 1 refund']],
  ['live', ['0 my card is lost', '1 refund']],
])(
  'the program for %s of the quick start prints the words, as it stands in the page',
  async (name, expected) => {
    const page = await readFile(join(root, 'config/docs/speech-api.md'), 'utf8');
    const [, fenced = ''] = page.split(`<!-- ${name} -->`);
    const [, program = ''] = /```js\n([^]*?)```/.exec(fenced) ?? [];
    await using folder = await temporaryFolder();
    await symlink(join(root, 'node_modules'), join(folder.path, 'node_modules'));
    await writeFile(join(folder.path, `${name}.mjs`), program);
    const first = tones('my card is lost', { sampleRate: 8_000, leadS: 0.5, tailS: 2 });
    const second = new Int16Array(first.length);
    second.set(
      tones('refund', { sampleRate: 8_000, leadS: 2, tailS: 0 }).subarray(0, first.length),
    );
    const file = wavFile(bytesOf(interleaved([first, second])), { rateHz: 8_000, channels: 2 });
    await writeFile(join(folder.path, 'call.wav'), file);
    const { stdout } = await promisify(execFile)(process.execPath, [`${name}.mjs`], {
      cwd: folder.path,
      env: {
        TRUNKLINE_URL: `http://127.0.0.1:${service.port}`,
        API_KEY: 'key-of-the-quick-start',
      },
    });
    expect(stdout.trim().split('\n').toSorted()).toEqual(expected);
  },
);
