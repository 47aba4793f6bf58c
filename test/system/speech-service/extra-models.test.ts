import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test, vi } from 'vitest';
import { modelsFolder } from '../../../src/hearing/models/supply.ts';
import { startApp } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { realModel } from '../../support/recognition/real-model.ts';

vi.setConfig({ testTimeout: 180_000 });
const voices = await realModel('voice-encoder');

type Listed = {
  items: { name: string; state: string; megabytes: number; detail: string | null }[];
};

const folders: string[] = [];
afterEach(async () => {
  for (const folder of folders.splice(0)) await rm(folder, { recursive: true, force: true });
});
async function emptyFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-extra-'));
  folders.push(folder);
  return folder;
}

test.skipIf(!voices)(
  'a model that recordings need is told missing at the start, and installed without a restart',
  async () => {
    const models = await emptyFolder();
    await using app = await startApp({
      env: { TRUNKLINE_MODELS: models, TRUNKLINE_MODELS_MIRROR: modelsFolder(voices!) },
    });
    const list = async () => ((await (await app.get('/api/models')).json()) as Listed).items;
    const voiceEncoder = async () => (await list()).find(({ name }) => name === 'voice-encoder');
    const line = app.lines.find((one) => one.includes('ready at'))!;
    expect((JSON.parse(line) as { notInstalled: string[] }).notInstalled).toEqual([
      'voice-encoder (28 MB, tells the speakers of a recording apart)',
      'whisper-tiny-en (76 MB, halves the wrong words of recordings)',
      'whisper-base (145 MB, hears Spanish, French, Italian, German, Russian and more, in calls and recordings)',
      'sentence-encoder-en (83 MB, lets rules understand what is meant, in other words too)',
      'sentence-encoder-multilingual (72 MB, hears moods in Spanish, French, German, Italian, Portuguese and Dutch)',
    ]);
    expect((await list()).map(({ state }) => state)).toEqual([
      'missing',
      'missing',
      'missing',
      'missing',
      'missing',
    ]);

    const wrong = await app.get('/api/models/moonshine-tiny-en/install', { method: 'POST' });
    expect(wrong.status).toBe(404);
    expect(await wrong.text()).toContain(
      'there are voice-encoder, whisper-tiny-en, whisper-base, sentence-encoder-en, sentence-encoder-multilingual',
    );
    const begun = await app.get('/api/models/voice-encoder/install', { method: 'POST' });
    expect(begun.status).toBe(202);
    await until(async () => (await voiceEncoder())?.state === 'installed');
    expect((await list()).map(({ state }) => state)).toEqual([
      'installed',
      'missing',
      'missing',
      'missing',
      'missing',
    ]);
  },
);

test('an installation that fails says why, and may be tried again', async () => {
  const file = join(await emptyFolder(), 'a-file');
  await writeFile(file, '');
  await using app = await startApp({ env: { TRUNKLINE_MODELS: join(file, 'models') } });
  for (const _attempt of [1, 2]) {
    await app.get('/api/models/voice-encoder/install', { method: 'POST' });
    await until(async () => {
      const { items } = (await (await app.get('/api/models')).json()) as Listed;
      return items[0]?.state === 'failed' && items[0].detail?.includes('ENOTDIR') === true;
    });
  }
});
