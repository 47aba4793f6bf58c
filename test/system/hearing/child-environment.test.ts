import { expect, test } from 'vitest';
import { readModelFolder } from '../../../src/hearing/models/model-folder.ts';
import { RecogniserProcess } from '../../../src/hearing/pool/process.ts';
import { fixtureModel } from '../../support/recognition/fixture-model.ts';

test('a recogniser process takes no name from a polluted prototype', async () => {
  const prototype = Object.prototype as unknown as Record<string, unknown>;
  const model = await readModelFolder(await fixtureModel(), 'fixture');
  let child: RecogniserProcess | undefined;
  const started = new Promise<string>((resolve) => {
    prototype['NODE_OPTIONS'] = '--no-such-option-of-node';
    try {
      child = new RecogniserProcess({
        model,
        vadModel: '',
        loadDeadlineMs: 60_000,
        hangDeadlineMs: 60_000,
        inBackground: false,
        onReady: () => resolve('ready'),
        onEnd: resolve,
      });
    } finally {
      delete prototype['NODE_OPTIONS'];
    }
  });
  expect(await started).toBe('ready');
  await child?.[Symbol.asyncDispose]();
});
