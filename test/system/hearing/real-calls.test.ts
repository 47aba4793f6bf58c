import { randomBytes } from 'node:crypto';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { afterAll, describe, expect, test, vi } from 'vitest';
import { linearToMulaw } from '../../../src/audio/g711.ts';
import { findCall, getCall } from '../../../src/player/api-client.ts';
import { playCall } from '../../../src/player/play-call.ts';
import { startApp } from '../../support/process/app.ts';
import { cuttingProxy } from '../../support/faults/cutting-proxy.ts';
import { promptsAreThere, telephonePrompts } from '../../support/recognition/prompts.ts';
import { realModel } from '../../support/recognition/real-model.ts';
import { resumingClient } from '../../support/speech/resuming-client.ts';
import { connect, speechApi, telephony } from '../../support/speech/speech-service.ts';
import { until } from '../../support/process/until.ts';
import { expectNearly } from '../../support/recognition/expect-nearly.ts';

vi.setConfig({ testTimeout: 120_000 }); // a busy machine may take its time
const model = await realModel();
const prompts = promptsAreThere() ? telephonePrompts() : [];
const spoken = {
  one: 'vm-enter-num-to-call',
  other: 'conf-onlyperson',
};

/** A prompt with quiet around it, and what it says. */
function prompt(name: string, leadS = 0.4): { text: string; audio: Int16Array } {
  const { text, samples } = prompts.find((one) => one.name === name)!;
  const audio = new Int16Array(samples.length + (leadS + 1) * 8000);
  audio.set(samples, leadS * 8000);
  return { text, audio };
}

const mulaw = (audio: Int16Array) => Buffer.from(Uint8Array.from(audio, linearToMulaw));
const linear = (audio: Int16Array) => Buffer.from(audio.buffer, audio.byteOffset, audio.byteLength);

describe.skipIf(!model || prompts.length === 0)(
  'the whole program with the default model',
  async () => {
    const app = model
      ? await startApp({ env: { TRUNKLINE_MODEL: model.model, TRUNKLINE_MODELS: model.models } })
      : undefined!;
    afterAll(() => app?.[Symbol.asyncDispose]());
    const service = app ? speechApi(app.url) : undefined!;

    test('a Twilio call comes out as what its two parties said', async () => {
      const customer = prompt(spoken.one);
      const agent = prompt(spoken.other, 1.5);
      const callId = `CA${randomBytes(16).toString('hex')}`;
      await playCall({
        player: twilioPlayer,
        to: app.url.replace('http', 'ws'),
        api: { url: app.url },
        legs: [
          { leg: 'customer', samples: customer.audio, rateHz: 8000 },
          { leg: 'agent', samples: agent.audio, rateHz: 8000 },
        ],
        callId,
      });
      const api = { url: app.url };
      const call = await until(async () => {
        const found = await findCall(api, callId);
        const whole = found && (await getCall(api, found.id));
        return whole?.state === 'ended' && Boolean(whole.summary) && whole;
      }, 90_000);
      const said = (role: string) =>
        call.transcript
          .filter((turn) => turn.role === role)
          .map((turn) => turn.text)
          .join(' ');
      expectNearly(said('customer'), customer.text);
      expectNearly(said('agent'), agent.text);
    });

    test.each([
      ['wav/ulaw', 8, mulaw],
      ['wav/pcm', 16, linear],
    ] as const)('a bare session in %s says the prompt', async (encoding, bitDepth, bytesOf) => {
      const { text, audio } = prompt(spoken.one);
      const { url } = await service.postWhenFree({ ...telephony, encoding, bit_depth: bitDepth });
      const client = await connect(url);
      client.send(bytesOf(audio));
      client.stop();
      expect((await client.closed).code).toBe(1000);
      expectNearly(client.finals(), text);
    });

    test('two speakers of a stereo session who talk at once are kept apart', async () => {
      const sides = [prompt(spoken.one), prompt(spoken.other)];
      const frames = Math.max(...sides.map(({ audio }) => audio.length));
      const both = new Int16Array(2 * frames);
      for (const [side, { audio }] of sides.entries())
        for (const [frame, sample] of audio.entries()) both[2 * frame + side] = sample;
      const { url } = await service.postWhenFree({
        ...telephony,
        encoding: 'wav/pcm',
        bit_depth: 16,
        channels: 2,
      });
      const client = await connect(url);
      client.send(linear(both));
      client.stop();
      await client.closed;
      for (const [side, { text }] of sides.entries()) {
        const finals = client
          .of('transcript')
          .filter(({ data }) => data.is_final && data.utterance.channel === side);
        expectNearly(finals.map(({ data }) => data.utterance.text).join(' '), text);
      }
    });

    test('a session that drops twice and resumes says what it says without', async () => {
      const { audio } = prompt(spoken.one);
      const coded = mulaw(audio);
      const undisturbed = await connect((await service.postWhenFree()).url);
      undisturbed.send(coded);
      undisturbed.stop();
      await undisturbed.closed;
      await using wire = await cuttingProxy(Number(new URL(app.url).port));
      const { url } = await service.postWhenFree();
      const client = resumingClient(wire.through(url), { ackDeadlineMs: 30_000 });
      for (const share of [0.3, 0.6]) {
        const cut = wire.cutAfterBytes(coded.length * 0.3);
        client.send(coded.subarray((share - 0.3) * coded.length, share * coded.length));
        await cut;
        await client.acknowledged();
      }
      client.send(coded.subarray(0.6 * coded.length));
      await client.acknowledged();
      expect(await client.stop()).toBe(1000);
      expect(client.reconnects()).toBeGreaterThanOrEqual(2);
      expect(client.finals()).toBe(undisturbed.finals());
    });
  },
);
