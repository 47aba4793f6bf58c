import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { startApp } from '../../support/process/app.ts';
import { childrenOf } from '../../support/process/proc.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';

const recorder = new URL('../../support/process/record-modules.mjs', import.meta.url).href;
const native = /onnxruntime|sherpa/;

function mapped(pid: number): string[] {
  return readFileSync(`/proc/${pid}/maps`, 'utf8')
    .split('\n')
    .filter((line) => native.test(line));
}

test('a process without the role speech loads no native runtime, and starts no process that does', async () => {
  await using speech = await FakeSpeech.start();
  await using app = await startApp({
    env: {
      TRUNKLINE_ROLES: 'bridge,console',
      TRUNKLINE_SPEECH_URL: speech.url,
      NODE_OPTIONS: `--import ${recorder}`,
    },
  });
  const resolved = app.lines.filter((line) => line.startsWith('resolved '));
  expect(resolved.length).toBeGreaterThan(100); // the recorder hears what the program loads
  expect(resolved.filter((line) => native.test(line))).toEqual([]);
  const pid = app.process.pid ?? 0;
  expect(mapped(pid)).toEqual([]);
  expect(childrenOf(pid)).toEqual([]);
});

test('a process with the role speech has the runtimes in its recognisers, and not in itself', async () => {
  await using app = await startApp({ env: { TRUNKLINE_ROLES: 'speech' } });
  const pid = app.process.pid ?? 0;
  await until(() => childrenOf(pid).some((child) => mapped(child).length > 0));
  expect(mapped(pid)).toEqual([]);
});
