import { linearToMulaw } from '../../../src/audio/g711.ts';
import { cuttingProxy } from './cutting-proxy.ts';
import { tones } from '../recognition/fixture-model.ts';
import { resumingClient } from '../speech/resuming-client.ts';
import { telephony, type TestService } from '../speech/speech-service.ts';

export const faultWords = 'my card is lost thanks one two three four five please goodbye';

/** A small random generator, so that a seed gives the same faults everywhere. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Words with line noise under them. Digital silence looks the same everywhere and would prove less. */
export function noisyAudio(seed: number, words = faultWords): Buffer {
  const random = randomOf(seed * 7 + 1);
  return Buffer.from(
    Uint8Array.from(tones(words, { gapS: 0.3 }), (sample) =>
      linearToMulaw(Math.round(sample + (random() - 0.5) * 120)),
    ),
  );
}

export type FaultOutcome = {
  seed: number;
  faults: string[];
  reconnects: number;
  bytes: number;
  /** The differences from a run without faults. Empty if there are none. */
  wrong: string[];
};

type Fault = 'cut' | 'cut-in-frame' | 'freeze' | 'mute-cut' | 'double' | 'slow';
const kinds: Fault[] = ['cut', 'cut-in-frame', 'freeze', 'mute-cut', 'double', 'slow'];

/** Runs one session with the faults of its seed, and compares its bytes and words with a run without faults. */
export async function runFaults(service: TestService, seed: number): Promise<FaultOutcome> {
  const random = randomOf(seed);
  await using wire = await cuttingProxy(service.port);
  const { id, url } = await service.postWhenFree({ ...telephony, endpointing: 0.2 });
  const client = resumingClient(wire.through(url), {
    ackDeadlineMs: 400,
    pieceBytes: 1 + Math.floor(random() * 9_000),
  });
  const audio = noisyAudio(seed);
  const planned = new Map<number, Fault>();
  for (let count = 1 + Math.floor(random() * 3); count > 0; count--)
    planned.set(
      Math.floor(random() * audio.length),
      kinds[Math.floor(random() * kinds.length)] ?? 'cut',
    );
  const faults: string[] = [];
  let at = 0;
  while (at < audio.length) {
    // All kinds of lengths: frames of 20 ms, odd lengths, single bytes, half seconds.
    const length =
      [160, 800, 1 + Math.floor(random() * 50), 1 + Math.floor(random() * 4_000)][
        Math.floor(random() * 4)
      ] ?? 160;
    const next = Math.min(audio.length, at + length);
    client.send(audio.subarray(at, next));
    for (const [place, fault] of planned)
      if (place >= at && place < next) {
        faults.push(`${fault}@${place}`);
        await inflict(fault, wire, client, random);
      }
    at = next;
    await new Promise((resolve) => setTimeout(resolve, length / 100));
  }
  if (random() < 0.3) {
    wire.cut();
    faults.push('cut@end');
  }
  await client.acknowledged();
  const stopped = client.stop();
  if (random() < 0.3) {
    faults.push('cut@stop');
    wire.muteServer();
    await new Promise((resolve) => setTimeout(resolve, random() * 40));
    wire.cut();
  }
  await stopped;
  const job = await service.ended(id);
  const file = Buffer.from(await (await service.http(`/v2/live/${id}/file`)).arrayBuffer());
  const wrong = [
    job.status === 'done' ? '' : `status ${job.status}`,
    job.result?.transcription?.full_transcript === faultWords
      ? ''
      : `text: ${job.result?.transcription?.full_transcript}`,
    client.finals().trim() === faultWords ? '' : `said to the client: ${client.finals()}`,
    file.subarray(-audio.length).equals(audio) && file.length === audio.length + 58
      ? ''
      : `bytes: ${file.length - 58} of ${audio.length}`,
    client.counter() === audio.length ? '' : `counter ${client.counter()} of ${audio.length}`,
  ].filter((text) => text !== '');
  return { seed, faults, reconnects: client.reconnects(), bytes: audio.length, wrong };
}

async function inflict(
  fault: Fault,
  wire: Awaited<ReturnType<typeof cuttingProxy>>,
  client: ReturnType<typeof resumingClient>,
  random: () => number,
): Promise<void> {
  switch (fault) {
    case 'cut':
      wire.cut();
      return;
    case 'cut-in-frame':
      void wire.cutAfterBytes(1 + Math.floor(random() * 3_000));
      return;
    case 'freeze':
      wire.freeze();
      return;
    case 'mute-cut':
      wire.muteServer();
      await new Promise((resolve) => setTimeout(resolve, 1 + random() * 30));
      wire.cut();
      return;
    case 'double':
      client.doubleUp();
      return;
    case 'slow':
      wire.slow(20_000 + random() * 100_000);
  }
}
