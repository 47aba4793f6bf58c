import { FaultProxy } from './fault-proxy.ts';
import { faultsOf, legRig, type Rig, type RigLeg } from '../bridge/leg-rig.ts';
import { FakeSpeech } from '../speech/fake-speech.ts';
import { until } from '../process/until.ts';
import { TestClock } from '../clock/test-clock.ts';

/** The faults of a live session's socket, chosen by seed, in each phase of its life. */
export const linkFaults = [
  'cut',
  'reset',
  'freeze',
  'deaf',
  'slow',
  'refuse',
  'slices',
  'jitter',
  'limit',
  '1001',
  '1011',
  '1012',
  '1013',
  '4000',
  '4400',
  '4401',
  '4404',
  '4408',
  '4409',
  '4429',
  '4500',
  '4504',
  'forget',
  'withhold',
  'bad acks',
] as const;
export type LinkFault = (typeof linkFaults)[number];
export const phases = ['before ready', 'speaking', 'after stop'] as const;
export type LinkPhase = (typeof phases)[number];

/** False if the fault cannot strike in the phase: before the first session there is no socket to cut. */
export function strikesIn(fault: LinkFault, phase: LinkPhase): boolean {
  switch (fault) {
    case 'freeze':
    case 'slow':
    case 'slices':
    case 'jitter':
      return true;
    case 'limit':
    case 'withhold':
    case 'bad acks':
      return phase !== 'after stop'; // no bytes are sent any more, and none are acknowledged
    default:
      return phase !== 'before ready';
  }
}

/** One fast clock for everything: deadlines of ten seconds pass in half a second. */
const factor = 20;

function randomOf(seed: number): () => number {
  let state = (seed * 2_654_435_761 + 97) >>> 0;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

const wait = async (ms: number): Promise<void> =>
  await new Promise((resolve) => setTimeout(resolve, ms));

/** Runs one leg with one fault and returns the errors. Equal seeds give equal runs. */
export async function runSeed(seed: number, fault: LinkFault, phase: LinkPhase): Promise<string[]> {
  const random = randomOf(seed);
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using proxy = await FaultProxy.start(speech.port);
  speech.publicPort = proxy.port;
  // The grace time of a real service, scaled. A machine that stops for seconds then costs a session, but no words.
  speech.script.graceMs = 60_000 / factor;
  await using rig: Rig = await legRig({ url: proxy.url, clock: new TestClock(factor) });
  const frames = 100 + Math.floor(random() * 150);
  let scriptStruck = 0;
  const struck = (): number => scriptStruck + proxy.struck;
  const strikeNow = async (): Promise<void> => {
    // Waits for the service to see a socket that the fault can strike.
    if (phase !== 'before ready') await until(() => speech.open.some(({ socket }) => socket));
    await strike(fault, {
      speech,
      proxy,
      random,
      struck,
      count: (times) => (scriptStruck += times),
    });
  };
  if (phase === 'before ready') await strikeNow();
  const leg = rig.leg({ recording: random() < 0.3 });
  const strikeAt = Math.floor(random() * frames);
  for (let frame = 0; frame < frames; frame++) {
    if (phase === 'speaking' && frame === strikeAt) await strikeNow();
    leg.push(1);
    if (random() < 0.5) await wait(random() * 4);
  }
  if (phase === 'after stop') speech.script.finalsDelayMs = 1_000;
  const outcome = leg.leg.finish({ finalsMs: 10_000 * factor, withinMs: 60_000 * factor });
  if (phase === 'after stop') {
    if (random() < 0.7) await until(() => [...speech.sessions.values()].some((one) => one.stopped));
    await strikeNow();
  }
  const result = await Promise.race([outcome, wait(50_000).then(() => undefined)]);
  if (!result) return [`did not finish: ${describe(leg, speech)}`];
  // If acks are nonsense, the service hears some audio twice, but it must still hear everything.
  const faults = faultsOf(leg, { repeats: fault === 'bad acks' });
  if (result.finals !== 'complete') faults.push('finals late');
  if (struck() === 0) faults.push('the fault struck nothing');
  return faults;
}

function describe(leg: RigLeg, speech: FakeSpeech): string {
  const sessions = [...speech.sessions.values()].map(({ state, stopped, bytes }) => ({
    state,
    stopped,
    bytes: bytes.length,
  }));
  return JSON.stringify({ state: leg.leg.state(), ledger: leg.leg.ledger(), sessions });
}

type Strike = {
  speech: FakeSpeech;
  proxy: FaultProxy;
  random: () => number;
  /** The number of times that the fault struck. */
  struck: () => number;
  /** Counts what a fault of the service, rather than of the wire, has met. */
  count: (times: number) => void;
};

async function strike(
  fault: LinkFault,
  { speech, proxy, random, struck, count }: Strike,
): Promise<void> {
  const spellMs = 20 + random() * 180;
  // A fault ends when its time is over and it has struck. On a busy machine that takes longer, at most 5 s.
  const lastMs = performance.now() + 5_000;
  const after = (run: () => void): void => {
    const end = (): void => {
      if (struck() > 0 || performance.now() > lastMs) run();
      else setTimeout(end, 20);
    };
    setTimeout(end, spellMs);
  };
  const socketsNow = speech.open.filter(({ socket }) => socket).length;
  switch (fault) {
    case 'cut': {
      proxy.cut();
      return;
    }
    case 'reset': {
      proxy.reset();
      return;
    }
    case 'freeze':
      proxy.freeze();
      {
        after(() => proxy.mend());
        return;
      }
    case 'deaf':
      count(socketsNow);
      speech.deaf(true);
      {
        after(() => speech.deaf(false));
        return;
      }
    case 'slow':
      proxy.wire.bytesPerSecond = 20_000;
      {
        after(() => proxy.mend());
        return;
      }
    case 'slices':
      proxy.wire.sliceBytes = 7;
      return;
    case 'jitter':
      proxy.wire.jitterMs = 5;
      return;
    case 'limit':
      proxy.wire.limitBytes = 3_000 + random() * 10_000;
      {
        after(() => proxy.mend());
        return;
      }
    case 'refuse':
      await proxy.refuse();
      {
        after(() => void proxy.accept());
        return;
      }
    case 'forget':
      // The results of the sessions stay readable, as after a session that was finalised elsewhere.
      count(speech.open.length);
      speech.expireAll();
      return;
    case 'withhold':
      speech.script.ack = () => {
        count(1);
        return undefined;
      };
      {
        after(() => delete speech.script.ack);
        return;
      }
    case 'bad acks': {
      const kind = Math.floor(random() * 3);
      speech.script.ack = ([start, end]) => {
        count(1);
        return kind === 0 ? [start, end + 1_000_000] : kind === 1 ? [0, 0] : [end, start];
      };
      after(() => delete speech.script.ack);
      return;
    }
    default: {
      const code = Number(fault);
      count(socketsNow);
      // 44xx and 1001 mean that the service has ended the session. Its result is readable.
      if (code === 1001 || (code >= 4400 && code < 4500)) {
        for (const session of speech.open) {
          session.socket?.close(code);
          session.socket = undefined;
        }
        speech.expireAll();
      } else speech.closeAll(code);
    }
  }
}
