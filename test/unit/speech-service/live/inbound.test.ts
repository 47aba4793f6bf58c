import { expect, test } from 'vitest';
import { Inbound, type Ack } from '../../../../src/speech-service/live/incoming/inbound.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';
import { FrameCutter } from '../../../../src/speech-service/live/incoming/frame-cutter.ts';
import {
  audioInMemory,
  type SessionAudio,
} from '../../../../src/speech-service/live/disk/session-audio.ts';

const audio = Buffer.from(Array.from({ length: 2_400 }, (_, index) => (index * 7_919) % 251));

/** An Inbound whose disk answers when it is told to. */
function rig() {
  const audio = audioInMemory();
  let held: (() => void)[] | undefined;
  const waits = (): Promise<void> =>
    held ? new Promise((resolve) => held?.push(resolve)) : Promise.resolve();
  const slow: SessionAudio = {
    get bytes() {
      return audio.bytes;
    },
    waitingBytes: 0,
    append: (bytes) => audio.append(bytes),
    flushed: waits,
    read: (from, to) => audio.read(from, to),
    release: () => undefined,
    close: () => Promise.resolve(),
    end: () => Promise.resolve(),
  };
  const cutter = new FrameCutter({
    encoding: 'wav/ulaw',
    bitDepth: 8,
    sampleRate: 8_000,
    channels: 1,
  });
  const acks: Ack[] = [];
  const inbound = new Inbound({
    cutter,
    audio: slow,
    clock: new TestClock(0),
    mayTake: () => true,
    onFrames: () => undefined,
    onAck: (ack) => acks.push(ack),
    onStop: () => undefined,
    onHint: () => undefined,
    onUnknown: () => undefined,
    onContradiction: () => undefined,
    onDiskFailure: (error) => {
      throw error;
    },
  });
  const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  return {
    inbound,
    cutter,
    acks,
    turn,
    hold: () => {
      held = [];
    },
    letGo: () => {
      const waiting = held ?? [];
      held = undefined;
      for (const resolve of waiting) resolve();
    },
  };
}

test('a socket that opens while the one before it is still being placed is placed, too', async () => {
  const { inbound, cutter, acks, turn, hold, letGo } = rig();
  inbound.socketOpened();
  inbound.message(audio.subarray(0, 800), true);
  inbound.socketClosed(); // the ack is lost: the client stands at 0
  hold();
  inbound.socketOpened();
  inbound.message(audio.subarray(0, 1_600), true);
  inbound.socketClosed();
  const settled = inbound.settled();
  inbound.socketOpened();
  letGo();
  await settled;
  await turn();
  expect(cutter.bytes).toBe(1_600);
  inbound.message(audio, true);
  await turn();
  expect(cutter.bytes).toBe(2_400);
  // Bytes of dead sockets are acknowledged to nobody; this socket is told from where it stood.
  expect(acks).toMatchObject([{ accepted: true, byteRange: [0, 2_400] }]);
});

test('cut again and again before an ack is out, for however long, a client is found where it stood', async () => {
  const { inbound, cutter, turn } = rig();
  for (let sent = 400; sent <= 2_400; sent += 400) {
    inbound.socketOpened();
    inbound.message(audio.subarray(0, sent), true);
    inbound.socketClosed();
    await turn();
    expect(cutter.bytes).toBe(sent);
  }
});

test('a message of a dead socket, which came while its first bytes were looked up, repeats further', async () => {
  const { inbound, cutter, turn, hold, letGo } = rig();
  inbound.socketOpened();
  inbound.message(audio.subarray(0, 1_600), true);
  inbound.socketClosed();
  hold();
  inbound.socketOpened();
  inbound.message(audio.subarray(0, 600), true);
  const settled = inbound.settled(); // the first bytes are looked up before the rest is there
  inbound.message(audio.subarray(600, 1_200), true);
  inbound.message(audio.subarray(1_200, 2_000), true);
  inbound.socketClosed();
  inbound.socketOpened();
  letGo();
  await settled;
  await turn();
  expect(cutter.bytes).toBe(2_000);
  inbound.message(audio, true);
  await turn();
  expect(cutter.bytes).toBe(2_400);
});

test('a client that says where it stands is believed at once, in silence too, and whatever sockets came before', async () => {
  const { inbound, cutter, acks, turn, hold, letGo } = rig();
  const silence = Buffer.alloc(2_400, 0xff);
  inbound.socketOpened(0);
  inbound.message(silence.subarray(0, 800), true);
  inbound.message(silence.subarray(800, 1_600), true);
  inbound.socketClosed();
  // The ack of the first 800 arrived. What it sends again comes in pieces, and each is acknowledged as itself.
  inbound.socketOpened(800);
  for (const [from, to] of [
    [800, 1_200],
    [1_200, 2_000],
  ] as const)
    inbound.message(silence.subarray(from, to), true);
  await turn();
  expect(cutter.bytes).toBe(2_000);
  expect(acks).toMatchObject([{ byteRange: [800, 1_200] }, { byteRange: [1_200, 2_000] }]);
  inbound.socketClosed();
  // One that does not say it is still being matched when others open.
  hold();
  inbound.socketOpened();
  inbound.message(audio.subarray(0, 200), true);
  inbound.socketClosed();
  const settled = inbound.settled();
  inbound.socketOpened(2_000);
  inbound.message(audio.subarray(0, 300), true);
  inbound.socketClosed();
  inbound.socketOpened(2_100);
  inbound.message(audio.subarray(100, 400), true);
  letGo();
  await settled;
  await turn();
  expect(cutter.bytes).toBe(2_400);
  expect(acks.at(-1)).toMatchObject({ byteRange: [2_100, 2_400] });
  inbound.socketClosed();
  // Ahead of what is here: nothing is repeated, and the ack says from where it was taken.
  inbound.socketOpened(9_000);
  inbound.message(audio.subarray(0, 160), true);
  await turn();
  expect(acks.at(-1)).toMatchObject({ byteRange: [2_400, 2_560] });
});
