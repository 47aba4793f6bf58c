import { spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { recoverJournal } from '../../../src/bridge/journal/journal-recovery.ts';
import type { LegSnapshot } from '../../../src/bridge/records/leg-snapshot.ts';
import { createLog } from '../../../src/lib/log.ts';
import { faultsOf, legRig, type Rig } from '../../support/bridge/leg-rig.ts';
import { numberedFrame } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { runChild, straceMissing } from '../../support/faults/strace.ts';
import { until } from '../../support/process/until.ts';
import { runKills } from '../../support/bridge/journal-kills.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

const deadlines = { finalsMs: 30_000, withinMs: 60_000 };

function folder(): string {
  const dir = mkdtempSync(join(tmpdir(), 'trunkline-journal-'));
  onTestFinished(() => rmSync(dir, { recursive: true, force: true }));
  return dir;
}

/** Leaves this much room on a small file system. */
function fillBut(dir: string, bytes: number): void {
  const { bavail, bsize } = statfsSync(dir);
  writeFileSync(join(dir, 'ballast'), Buffer.alloc(bavail * bsize - bytes));
}

/** As it is at one moment: a segment may go while it is copied, and then the copy is made anew. */
function copied(dir: string): Promise<string> {
  return until(() => {
    const copy = folder();
    try {
      cpSync(dir, copy, { recursive: true });
      return copy;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
      throw error;
    }
  });
}

const filesOf = (dir: string): string[] =>
  readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((name) => join(dir, name))
    .filter((path) => statSync(path).isFile());

test('killed at any moment, the next process resumes the same sessions and every journalled frame is heard once', async () => {
  const { problems, frames } = await runKills(3, 7);
  expect(problems).toEqual([]);
  expect(frames).toBeGreaterThan(0);
});

test('a leg that is left is found again: ledger, pause, session; segments of the old run go', async () => {
  const dir = folder();
  await using speech = await FakeSpeech.start({ words: 'frames' });
  {
    await using rig = await legRig({ url: speech.url, dir });
    const leg = rig.leg({ recording: true });
    leg.push(60);
    await until(() => leg.leg.ledger().acknowledged === 9_600);
    leg.leg.pause();
    leg.push(10);
    leg.leg.leave();
  }
  await using rig = await legRig({ url: speech.url, dir });
  const left = rig.journal.recovered.get('leg_1');
  expect(left).toMatchObject({ callId: 'call_1', paused: true, finishing: false, recording: true });
  expect(left?.ledger).toEqual({
    received: 11_200,
    acknowledged: 9_600,
    gaps: 0,
    paused: 1_600,
    filler: 1_600,
  });
  expect(left?.sessionId).toBe([...speech.sessions.keys()][0]);
  expect(readdirSync(join(dir, 'wal'))).toHaveLength(1);
  const leg = rig.leg({ recovered: left!, recording: true });
  leg.pushed = 70;
  leg.push(5);
  leg.leg.resume();
  leg.push(25);
  const outcome = await leg.leg.finish(deadlines);
  expect(outcome.ledger).toEqual({
    received: 16_000,
    acknowledged: 13_600,
    gaps: 0,
    paused: 2_400,
    filler: 2_400,
  });
  for (const [word, atS] of [
    ['f0', 0],
    ['f80', 1.6],
  ] as const)
    expect(leg.words.find((one) => one.word === word)?.atS).toBeCloseTo(atS, 5);
  expect((await rig.journal.recordingOf('leg_1'))?.bytes).toBe(16_000);
});

test('a leg that is over when the process stops is not found again', async () => {
  const dir = folder();
  await using speech = await FakeSpeech.start({ words: 'frames' });
  {
    await using rig = await legRig({ url: speech.url, dir });
    const [over, left] = [rig.leg(), rig.leg()];
    for (const leg of [over, left]) leg.push(10);
    await over.leg.finish(deadlines);
    for (const { leg } of [over, left]) leg.leave();
  }
  await using rig = await legRig({ url: speech.url, dir });
  expect([...rig.journal.recovered.keys()]).toEqual(['leg_2']);
});

test('the acknowledged position on disk is always one that an ack named, and follows within two seconds', async () => {
  const dir = folder();
  await using speech = await FakeSpeech.start({ words: 'frames' });
  const named = new Set([0]);
  speech.script.ack = (range) => {
    named.add(range[1]);
    return range;
  };
  // Time stands still but for the test: no slow machine makes two seconds of one.
  const clock = new TestClock(0);
  await using rig = await legRig({ url: speech.url, dir, clock });
  const leg = rig.leg();
  await until(() => leg.leg.state().at === 'live');
  let before = 0;
  for (let round = 1; round <= 8; round++) {
    leg.push(round * 3);
    await until(() => leg.leg.ledger().acknowledged === leg.pushed * 160);
    // As a kill would leave it at this moment: no newer than the last ack, no older than the last second.
    const now = await positionOnDisk(dir);
    expect(named).toContain(now);
    expect(now).toBeGreaterThanOrEqual(before);
    await clock.pass(2_000);
    await until(async () => (await positionOnDisk(dir)) === leg.pushed * 160);
    before = leg.pushed * 160;
  }
  const outcome = leg.leg.finish(deadlines);
  await until(async () => {
    await clock.pass(100);
    return leg.leg.state().at === 'ended';
  });
  await outcome;
  expect(faultsOf(leg)).toEqual([]);
});

/** The leg as the next process would find it, read from a copy of the files. */
async function positionOnDisk(dir: string): Promise<number> {
  const copy = await copied(dir);
  const { recovered } = await recoverJournal(copy, createLog({ level: 'silent' }));
  const leg = recovered.get('leg_1');
  return leg?.ledger.acknowledged ?? -1;
}

test.for([{ recording: true }, { recording: false }])(
  'killed at any second while the service hears and says nothing, every byte is found: %o',
  async ({ recording }) => {
    const dir = folder();
    const clock = new TestClock(0);
    await using speech = await FakeSpeech.start();
    speech.script.ack = () => undefined;
    await using rig = await legRig({ url: speech.url, dir, clock });
    const leg = rig.leg({ recording });
    await until(() => leg.leg.sessionId() !== undefined);
    const faults: string[] = [];
    // The leg changes no more, so it is not written down by itself, and segments come and go.
    for (let second = 1; second <= 35; second++) {
      leg.push(50);
      rig.journal.flush();
      await until(() => rig.journal.isWritten);
      await clock.pass(1_000);
      const copy = await copied(dir);
      const { recovered } = await recoverJournal(copy, createLog({ level: 'silent' }));
      const { ledger, file, gaps } = recovered.get('leg_1')!;
      const bytes = leg.pushed * 160;
      const whole = Buffer.concat(
        Array.from({ length: leg.pushed }, (_, index) => numberedFrame(index)),
      );
      const isWhole = ledger.received === bytes && (await file.read(0, bytes)).equals(whole);
      if (!isWhole || gaps.length > 0) faults.push(`after ${second} s: ${JSON.stringify(gaps)}`);
    }
    expect(faults).toEqual([]);
    expect(readdirSync(join(dir, 'wal'))).not.toContain('000000000001.wal');
    await leg.leg.abandon();
  },
);

test('a damaged journal costs what was damaged, and says so as a gap', async () => {
  const dir = folder();
  const killed = { segment: '', bytes: Buffer.alloc(0) };
  {
    await using rig = await legRig({ url: 'http://127.0.0.1:9', dir });
    const leg = rig.leg();
    for (let turn = 0; turn < 20; turn++) {
      leg.push(5);
      rig.journal.flush();
      await until(() => rig.journal.isWritten); // a disk that is slow for a moment takes it later
    }
    killed.segment = filesOf(join(dir, 'wal'))[0]!;
    killed.bytes = readFileSync(killed.segment);
    await leg.leg.abandon();
  }
  // As a kill would leave it, with one bad sector.
  const at = killed.bytes.indexOf(numberedFrame(42));
  killed.bytes[at + 80] = killed.bytes[at + 80]! ^ 4;
  writeFileSync(killed.segment, killed.bytes);
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using rig = await legRig({ url: speech.url, dir });
  const leg = rig.leg({ recovered: rig.journal.recovered.get('leg_1')! });
  const { ledger } = await leg.leg.finish(deadlines);
  expect(ledger).toMatchObject({ received: 16_000, acknowledged: 15_200, gaps: 800 });
  expect(leg.gaps).toEqual([{ startS: 0.8, durationS: 0.1, bytes: 800, cause: 'damaged' }]);
  expect(leg.words.find(({ word }) => word === 'f45')?.atS).toBeCloseTo(0.9, 5);
});

test('the disk is full: live audio goes on, the state says so, and all is journalled again afterwards', async (context) => {
  const dir = folder();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400k', 'tmpfs', dir]).status === 0;
  if (!mounted) return context.skip('a small file system needs root');
  onTestFinished(() => void spawnSync('umount', ['-l', dir]));
  await using speech = await FakeSpeech.start({ words: 'frames' });
  const rig = await legRig({ url: speech.url, dir, clock: new TestClock(4) });
  const leg = rig.leg();
  writeFileSync(join(dir, 'ballast'), Buffer.alloc(360_000));
  for (let turn = 0; turn < 200; turn++) {
    leg.push(5);
    await new Promise((resolve) => setImmediate(resolve));
  }
  await until(() => rig.journal.health().state === 'degraded');
  await until(() => leg.leg.ledger().acknowledged === 160_000);
  rmSync(join(dir, 'ballast'));
  await until(() => {
    leg.push(1);
    return (
      rig.journal.health().detail === undefined ||
      rig.journal.health().detail === 'the disk is slow'
    );
  });
  await leg.leg.finish(deadlines);
  expect(faultsOf(leg)).toEqual([]);
  expect(leg.gaps).toEqual([]);
  await rig[Symbol.asyncDispose]();
});

test('a disk too full to write the legs of the earlier run down: their old segments stay until it is done', async (context) => {
  const dir = folder();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=400k', 'tmpfs', dir]).status === 0;
  if (!mounted) return context.skip('a small file system needs root');
  onTestFinished(() => void spawnSync('umount', ['-l', dir]));
  const url = 'http://127.0.0.1:9';
  const legIds = Array.from({ length: 60 }, (_, at) => `leg_${at + 1}`);
  {
    await using rig = await legRig({ url, dir });
    for (const { leg } of legIds.map(() => rig.leg())) leg.leave();
  }
  const oldSegments = readdirSync(join(dir, 'wal'));
  fillBut(dir, 8_192); // room for a new segment's head, none for sixty legs
  /** The state that a process would find that starts after a kill at this moment. */
  const foundAfterKill = async (): Promise<string[]> => {
    const copy = folder();
    cpSync(join(dir, 'wal'), join(copy, 'wal'), { recursive: true });
    mkdirSync(join(copy, 'legs'));
    const { recovered } = await recoverJournal(copy, createLog({ level: 'silent' }));
    return [...recovered.keys()].toSorted();
  };

  await using rig = await legRig({ url, dir, clock: new TestClock(20) });
  expect(rig.journal.health().state).toBe('degraded');
  expect(await foundAfterKill()).toEqual(legIds.toSorted());
  expect(readdirSync(join(dir, 'wal'))).toEqual(expect.arrayContaining(oldSegments));
  rmSync(join(dir, 'ballast'));
  await until(() => !readdirSync(join(dir, 'wal')).some((name) => oldSegments.includes(name)));
  expect(await foundAfterKill()).toEqual(legIds.toSorted());
});

test('disk full while the service is away too: the oldest is given up, declared, and the rest is heard', async (context) => {
  const dir = folder();
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=200k', 'tmpfs', dir]).status === 0;
  if (!mounted) return context.skip('a small file system needs root');
  onTestFinished(() => void spawnSync('umount', ['-l', dir]));
  await using speech = await FakeSpeech.start({ words: 'frames' });
  let away = true;
  speech.script.create = () => (away ? { status: 503 } : undefined);
  const clock = new TestClock(10);
  const rig = await legRig({ url: speech.url, dir, clock });
  const leg = rig.leg();
  for (let turn = 0; turn < 600; turn++) {
    leg.push(5);
    // As long as the frames take to speak; the disk has its turn.
    await clock.pass(100);
    await new Promise((resolve) => setImmediate(resolve));
  }
  away = false;
  const { ledger } = await leg.leg.finish(deadlines);
  expect(ledger.received).toBe(480_000);
  expect(ledger.gaps).toBeGreaterThan(0);
  expect(ledger.acknowledged + ledger.gaps).toBe(480_000);
  expect(leg.gaps.every(({ cause }) => cause === 'journal')).toBe(true);
  const heard = new Set(leg.words.map(({ word }) => word));
  expect([...heard].filter((word) => word.startsWith('f'))).toHaveLength(ledger.acknowledged / 160);
  await rig[Symbol.asyncDispose]();
});

test('erased: nothing of a leg is left in any file, while others go on', async () => {
  const dir = folder();
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using rig = await legRig({ url: speech.url, dir, clock: new TestClock(20) });
  const erased = rig.leg({ recording: true });
  const other = rig.leg({ recording: true });
  const canary = Buffer.from('a secret that was spoken');
  for (let turn = 0; turn < 300; turn++) {
    erased.leg.push(Buffer.concat([canary, Buffer.alloc(160 - canary.length, 1)]));
    other.push(1);
    if (turn % 10 === 0) await rig.written();
  }
  const found = (): string[] => filesOf(dir).filter((path) => readFileSync(path).includes(canary));
  await until(() => found().length > 1);
  await erased.leg.abandon();
  await until(() => {
    other.push(1);
    return found().length === 0;
  });
  await other.leg.finish(deadlines);
  expect(faultsOf(other)).toEqual([]);
});

/** A recorded leg's place in the journal, with no session behind it. */
function openStore({ journal }: Rig, legId: string): ReturnType<Rig['journal']['openLeg']> {
  return journal.openLeg({
    legId,
    recording: true,
    silence: 0xff,
    bytesPerSecond: 8_000,
    position: { settled: 0, end: 0 },
    log: createLog({ level: 'silent' }),
    snapshot: () => ({ ledger: { end: 0 } }) as LegSnapshot,
    onWritten: () => undefined,
    onLost: () => undefined,
  });
}

test('audio read back while it moves to the disk is whole: the first message after a drop must hold all that is in doubt', async () => {
  const dir = folder();
  await using rig = await legRig({ url: 'http://127.0.0.1:9', dir });
  for (let round = 0; round < 60; round++) {
    const { store, entry } = openStore(rig, `leg_${round}`);
    const audio = Buffer.concat(Array.from({ length: 90 }, (_, at) => numberedFrame(at)));
    const say = (from: number, to: number): void => {
      for (let at = from; at < to; at += 160) store.audio(audio.subarray(at, at + 160));
    };
    say(0, 12_800);
    await until(() => store.spilled > 0);
    say(12_800, audio.length);
    // The rest goes to the file at any moment of the reading.
    const from = store.spilled - 160;
    const reading = store.read(from, audio.length);
    for (let turn = 0; turn < round % 10; turn++)
      await new Promise((resolve) => setImmediate(resolve));
    await Promise.all([reading, store.spillAll()]);
    expect((await reading).equals(audio.subarray(from))).toBe(true);
    await rig.journal.finish(entry);
  }
});

/** Files of a folder that this process has open, by what the system says. */
function openIn(dir: string): string[] {
  return readdirSync('/proc/self/fd').flatMap((fd) => {
    try {
      const path = readlinkSync(`/proc/self/fd/${fd}`);
      return path.startsWith(dir) ? [path] : [];
    } catch {
      return []; // closed while we looked
    }
  });
}

test('a journal that is closed leaves no file open, those of recovered legs that nobody took included', async () => {
  const dir = folder();
  {
    await using rig = await legRig({ url: 'http://127.0.0.1:9', dir });
    for (const recording of [true, false]) {
      const leg = rig.leg({ recording });
      leg.push(60);
      leg.leg.leave();
    }
    expect(openIn(dir)).not.toEqual([]);
  }
  expect(openIn(dir)).toEqual([]);
  {
    await using rig = await legRig({ url: 'http://127.0.0.1:9', dir });
    expect([...rig.journal.recovered.keys()]).toEqual(['leg_1', 'leg_2']);
    expect(filesOf(join(dir, 'legs'))).toHaveLength(2);
    await rig.journal.erase('leg_1');
    expect(openIn(join(dir, 'legs'))).toEqual([]);
  }
  expect(openIn(dir)).toEqual([]);
});

test('erased while its audio moves to the disk: nothing is put there afterwards', async () => {
  const dir = folder();
  await using rig = await legRig({ url: 'http://127.0.0.1:9', dir });
  for (let round = 0; round < 60; round++) {
    const { store } = openStore(rig, `leg_${round}`);
    for (let frame = 0; frame < 2_000; frame++) store.audio(numberedFrame(frame));
    const moving = store.spillAll();
    for (let turn = 0; turn < round % 10; turn++)
      await new Promise((resolve) => setImmediate(resolve));
    await rig.journal.erase(`leg_${round}`);
    await moving;
  }
  expect(filesOf(join(dir, 'legs'))).toEqual([]);
  expect(openIn(join(dir, 'legs'))).toEqual([]);
});

test('kept audio goes from the disk once it is acknowledged, unless it is recorded', async () => {
  const dir = folder();
  await using speech = await FakeSpeech.start({ words: 'frames' });
  let away = true;
  speech.script.create = () => (away ? { status: 503 } : undefined);
  await using rig = await legRig({ url: speech.url, dir, clock: new TestClock(10) });
  const leg = rig.leg();
  leg.push(2_000);
  await until(() => filesOf(join(dir, 'legs')).length === 1);
  away = false;
  await leg.leg.finish(deadlines);
  expect(filesOf(join(dir, 'legs'))).toEqual([]);
  expect(faultsOf(leg)).toEqual([]);
  expect(await rig.journal.recordingOf(leg.leg.legId)).toBeUndefined();
});

test('cut off at any byte, as a power cut may leave it, the journal gives back what was whole and takes no harm', async () => {
  const dir = folder();
  await using speech = await FakeSpeech.start({ words: 'frames' });
  {
    await using rig = await legRig({ url: speech.url, dir });
    speech.script.ack = () => undefined; // nothing is acknowledged: all of it must come from the disk
    const leg = rig.leg();
    for (let frame = 0; frame < 60; frame++) {
      leg.push(1);
      await new Promise((resolve) => setImmediate(resolve));
    }
    leg.leg.leave();
  }
  const [name = ''] = readdirSync(join(dir, 'wal'));
  const whole = readFileSync(join(dir, 'wal', name));
  const log = createLog({ level: 'silent' });
  const cuts = Array.from({ length: Math.ceil(whole.length / 397) }, (_, index) => index * 397);
  let before = 0;
  for (const cut of [...cuts, whole.length]) {
    for (const tail of [Buffer.alloc(0), Buffer.alloc(512)]) {
      const torn = folder();
      mkdirSync(join(torn, 'wal'));
      mkdirSync(join(torn, 'legs'));
      writeFileSync(join(torn, 'wal', name), Buffer.concat([whole.subarray(0, cut), tail]));
      const { recovered } = await recoverJournal(torn, log);
      const leg = recovered.get('leg_1');
      const received = leg?.ledger.received ?? 0;
      expect(received % 160).toBe(0);
      expect(received).toBeGreaterThanOrEqual(before);
      expect(leg?.gaps ?? []).toEqual([]);
      if (tail.length === 0) before = received;
      rmSync(torn, { recursive: true, force: true });
    }
  }
  expect(before).toBe(60 * 160);
});

const injections = [
  ['syncs that fail leave their file behind', 'fdatasync:error=EIO:when=1+1'],
  ['syncs of half a second hold nobody', 'fdatasync:delay_enter=500000'],
  ['writes of 50 ms go beside the event loop', 'pwrite64:delay_enter=50000:when=200+1'],
] as const;

test.skipIf(straceMissing).each(injections)(
  '%s, and every frame is heard once',
  async (_, inject) => {
    const dir = folder();
    await using speech = await FakeSpeech.start({ words: 'frames' });
    const child = runChild(
      'bridge/journal-child.ts',
      [dir, speech.url, '4', '4', '400'],
      ['-e', `trace=${inject.split(':')[0]}`, '-e', `inject=${inject}`],
    );
    await child.ended;
    const said = Number(child.lines.at(-1));
    await using rig = await legRig({ url: speech.url, dir });
    for (let index = 0; index < 4; index++) {
      const recovered = rig.journal.recovered.get(`leg_${index}`);
      const leg = rig.leg({
        legId: `leg_${index}`,
        recovered: recovered!,
        recording: index % 2 === 0,
      });
      leg.pushed = leg.leg.ledger().received / 160;
      // At most 200 ms of audio are only in memory, or on their way to a slow disk.
      expect(leg.pushed).toBeGreaterThan(said - 50);
      const { finals } = await leg.leg.finish(deadlines);
      expect(finals).toBe('complete');
      // While the disk is slow, frames go out before they are on it: heard, and not counted after a kill.
      leg.words = leg.words
        .filter(({ word }) => Number(word.slice(1)) < leg.pushed)
        .filter((one, at, all) => all.findIndex((other) => other.word === one.word) === at);
      expect(faultsOf(leg)).toEqual([]);
    }
  },
  120_000,
);

describe('silence is a number until it is sent', () => {
  test('hours of it cost neither memory nor time, a service that is away or not', async () => {
    await using rig = await legRig({ url: 'http://127.0.0.1:9' });
    const leg = rig.leg();
    leg.push(10);
    const before = process.memoryUsage().arrayBuffers;
    const beforeUs = process.threadCpuUsage();
    leg.leg.filler(200_000_000);
    leg.push(10);
    expect(process.threadCpuUsage(beforeUs).user).toBeLessThan(500_000);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(2_000_000);
    expect(leg.leg.heldBytes).toBe(20 * 160);
    expect(leg.leg.ledger()).toMatchObject({ received: 20 * 160, filler: 200_000_000 });
    await leg.leg.abandon();
  });

  test('a kill in the middle of it: the next process sends it, in its place', async () => {
    const dir = folder();
    await using speech = await FakeSpeech.start({ words: 'frames' });
    {
      await using rig = await legRig({ url: 'http://127.0.0.1:9', dir });
      const leg = rig.leg();
      leg.push(10);
      leg.leg.filler(1_000_000);
      leg.push(10);
      leg.leg.leave();
    }
    await using rig = await legRig({ url: speech.url, dir });
    const recovered = rig.journal.recovered.get('leg_1')!;
    expect(recovered.gaps).toEqual([]);
    const leg = rig.leg({ recovered });
    const { ledger } = await leg.leg.finish(deadlines);
    expect(ledger).toEqual({
      received: 3_200,
      acknowledged: 3_200,
      gaps: 0,
      paused: 0,
      filler: 1_000_000,
    });
    const [session] = speech.sessions.values();
    expect(session?.bytes.length).toBe(1_003_200);
    expect(session?.bytes.subarray(1_600, 1_001_600).every((byte) => byte === 0xff)).toBe(true);
  });

  test('while the disk refuses, a long silence drives no audio out of memory', async () => {
    const dir = folder();
    await using rig = await legRig({ url: 'http://127.0.0.1:9', dir });
    const leg = rig.leg();
    rmSync(join(dir, 'legs'), { recursive: true });
    leg.push(1_000); // 20 s: more than goes into memory with a disk, less than without
    await until(() => leg.leg.heldBytes === 160_000);
    leg.leg.filler(100 * 8_000);
    leg.push(50);
    expect(leg.gaps).toEqual([]);
    await leg.leg.abandon();
  });
});
