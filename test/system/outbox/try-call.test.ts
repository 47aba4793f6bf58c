import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { speak, testBridge } from '../../support/bridge/test-bridge.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

const file = (path: string): string => fileURLToPath(new URL(`../../../${path}`, import.meta.url));

test('webhooks try shows what a real call would become, in every step that an example answer leads to', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(16_000, 1));
  stream.end('stop');
  await app.ended(stream.callId);
  const completed = (await app.events(stream.callId)).at(-1);
  const args = ['webhooks', 'try', 'crm', '--call', stream.callId, '--url', app.url];
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', file('src/cli.ts'), ...args], {
    env: { PATH: process.env['PATH'], TRUNKLINE_CONFIG: file('config/example.yaml') },
    stdio: ['ignore', 'pipe', 'inherit'],
  }); // prettier-ignore
  const [shown] = await Promise.all([text(child.stdout), once(child, 'close')]);
  expect(shown).toContain('GET http://127.0.0.1:9100/api/cases?phone=%2B15550100123');
  const note = shown.slice(shown.indexOf('POST http://127.0.0.1:9100/api/cases/7/notes'));
  const body = JSON.parse(note.slice(note.indexOf('{'))) as unknown;
  expect(body).toEqual({
    text: completed.data.summary.text,
    seconds: completed.call.duration,
    mood: completed.data.sentiment_by_role.customer,
    link: completed.data.page_url,
  });
  expect(shown).not.toMatch(/webhook-signature|warns/);
}, 60_000);
