/**
 * Plays Twilio legs. Raw sockets and prepared messages: at 1,000 legs it must send 50,000 frames a second and
 * leave the cores to the process under test.
 */
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { connect, type Socket } from 'node:net';
import { frameBytes, writeFrame } from './frame.ts';

/** Legs are kept by the name of what they lead to, so that two processes can take turns. */
export type GeneratorCommand =
  | {
      do: 'open';
      set: string;
      port: number;
      path: string;
      legs: number;
      firstLeg: number;
      /** Opens another stream, of the agent, for each call that this set has. */
      callsOf?: string;
    }
  | { do: 'play'; set: string; seconds: number }
  | { do: 'flood'; set: string; seconds: number; sink: string }
  | { do: 'stop'; set: string };
export type GeneratorReport = {
  frames: number;
  /** The most that it fell behind its own clock, and the number of turns that were over 10 ms late. */
  lateMs: number;
  lateShare: number;
  cpuMicros: number;
  seconds: number;
  byLeg: [number, number][];
};

type Leg = {
  socket: Socket;
  leg: number;
  sent: number;
  streamSid: string;
  callSid: string;
  track: 'inbound' | 'outbound';
};

const sets = new Map<string, Leg[]>();
const payload = Buffer.alloc(frameBytes);

/** One masked text frame; the mask is zero, so the bytes stand as they are. */
function textFrame(text: string): Buffer {
  const long = text.length > 125;
  const frame = Buffer.alloc((long ? 8 : 6) + text.length);
  frame[0] = 0x81;
  if (long) {
    frame[1] = 0xfe;
    frame.writeUInt16BE(text.length, 2);
  } else frame[1] = 0x80 | text.length;
  frame.write(text, frame.length - text.length, 'latin1');
  return frame;
}

/** A process that is still busy with the last streams may say 503; a carrier would come back too. */
async function openPatiently(
  port: number,
  path: string,
  leg: number,
  ofCall?: string,
): Promise<Leg> {
  for (let attempt = 0; ; attempt++) {
    try {
      return await open(port, path, leg, ofCall);
    } catch (error) {
      if (attempt >= 20) throw error;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }
}

async function open(port: number, path: string, leg: number, ofCall?: string): Promise<Leg> {
  const socket = connect(port, '127.0.0.1');
  socket.setNoDelay(true);
  const streamSid = `MZ${randomBytes(16).toString('hex')}`;
  const callSid = ofCall ?? `CA${randomBytes(16).toString('hex')}`;
  const track = ofCall === undefined ? 'inbound' : 'outbound';
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.once('connect', () => {
      socket.write(
        `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n\r\n`,
      );
    });
    socket.once('data', (answer) => {
      if (answer.toString('latin1', 0, 12) === 'HTTP/1.1 101') resolve();
      else reject(new Error(`upgrade refused: ${answer.toString('latin1', 0, 60)}`));
    });
  });
  // Pings are answered, all else that comes is of no interest here.
  socket.on('data', (bytes) => {
    if (((bytes[0] ?? 0) & 15) === 9) socket.write(Buffer.from([0x8a, 0x80, 0, 0, 0, 0]));
  });
  socket.on('error', () => socket.destroy());
  const tell = (message: object): void => void socket.write(textFrame(JSON.stringify(message)));
  tell({ event: 'connected', protocol: 'Call', version: '1.0.0' });
  tell({
    event: 'start',
    sequenceNumber: '1',
    streamSid,
    start: {
      streamSid,
      accountSid: `AC${'0'.repeat(32)}`,
      callSid,
      tracks: [track],
      customParameters: {},
      mediaFormat: { encoding: 'audio/x-mulaw', sampleRate: 8000, channels: 1 },
    },
  });
  return { socket, leg, sent: 0, streamSid, callSid, track };
}

function send(leg: Leg): void {
  leg.socket.write(nextFrame(leg), 'latin1');
}

function nextFrame(leg: Leg): string {
  writeFrame(payload, leg.leg, leg.sent++);
  const text = `{"event":"media","sequenceNumber":"${leg.sent + 1}","streamSid":"${leg.streamSid}","media":{"track":"${leg.track}","chunk":"${leg.sent}","timestamp":"${leg.sent * 20}","payload":"${payload.toString('base64')}"}}`;
  return String.fromCharCode(0x81, 0xfe, text.length >>> 8, text.length & 255, 0, 0, 0, 0) + text;
}

/** Every leg once in 20 ms, spread over the 20 ms. */
async function play(
  legs: readonly Leg[],
  seconds: number,
): Promise<{ frames: number; lateMs: number; lateShare: number }> {
  const total = Math.round(seconds * 50 * legs.length);
  const perMs = (50 * legs.length) / 1_000;
  const started = performance.now();
  let sent = 0;
  let lateMs = 0;
  let late = 0;
  let turns = 0;
  let lastMs = started;
  while (sent < total) {
    const now = performance.now();
    turns++;
    if (now - lastMs > 10) late++;
    lateMs = Math.max(lateMs, now - lastMs);
    lastMs = now;
    const due = Math.min(total, Math.floor((now - started) * perMs));
    for (; sent < due; sent++) {
      const leg = legs[sent % legs.length];
      if (leg) send(leg);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  return { frames: sent, lateMs, lateShare: late / turns };
}

const floodFrames = 4;
/** Frames under way, of all legs: enough to keep the other side busy, and no pile that it catches up with later. */
const floodWindow = 32;

/** As fast as the sink gets them: so many frames are under way, and never more. */
async function flood(
  legs: readonly Leg[],
  seconds: number,
  sink: string,
): Promise<{ frames: number; lateMs: number; lateShare: number }> {
  const arrived = await openProgress(sink);
  const before = arrived.frames;
  const end = performance.now() + seconds * 1_000;
  const window = legs.length * floodWindow;
  let frames = 0;
  let next = 0;
  while (performance.now() < end) {
    while (frames - (arrived.frames - before) < window) {
      const leg = legs[next++ % legs.length];
      if (!leg) break;
      // One write for some frames: it is the other side that is to be at its limit.
      let text = '';
      for (let count = 0; count < floodFrames; count++) text += nextFrame(leg);
      leg.socket.write(text, 'latin1');
      frames += floodFrames;
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  arrived.close();
  return { frames, lateMs: 0, lateShare: 0 };
}

/** The number of frames that the sink has got. The sink tells it every few milliseconds. */
async function openProgress(sink: string): Promise<{ frames: number; close(): void }> {
  const [response] = (await once(get(`${sink}/progress`), 'response')) as [IncomingMessage];
  const progress = { frames: 0, close: () => void response.destroy() };
  response.setEncoding('latin1');
  response.on('data', (lines: string) => {
    progress.frames = Number(lines.trimEnd().split('\n').at(-1));
  });
  response.on('error', () => undefined); // destroyed by us
  await once(response, 'data');
  return progress;
}

async function stop(legs: readonly Leg[]): Promise<void> {
  for (const { socket, streamSid } of legs) {
    socket.write(
      textFrame(JSON.stringify({ event: 'stop', sequenceNumber: '999999', streamSid, stop: {} })),
    );
    socket.end(Buffer.from([0x88, 0x82, 0, 0, 0, 0, 3, 0xe8]));
  }
  const closed = legs.map(({ socket }) => new Promise((resolve) => socket.once('close', resolve)));
  await Promise.race([Promise.all(closed), new Promise((resolve) => setTimeout(resolve, 5_000))]);
  for (const { socket } of legs) socket.destroy();
}

async function act(command: GeneratorCommand): Promise<GeneratorReport> {
  const before = process.cpuUsage();
  const started = performance.now();
  let played = { frames: 0, lateMs: 0, lateShare: 0 };
  const legs = sets.get(command.set) ?? [];
  sets.set(command.set, legs);
  switch (command.do) {
    case 'open':
      for (let index = 0; index < command.legs; index += 25) {
        const some = Array.from({ length: Math.min(25, command.legs - index) }, (_, offset) =>
          openPatiently(
            command.port,
            command.path,
            command.firstLeg + index + offset,
            command.callsOf === undefined
              ? undefined
              : sets.get(command.callsOf)?.[index + offset]?.callSid,
          ),
        );
        legs.push(...(await Promise.all(some)));
      }
      break;
    case 'play':
      played = await play(legs, command.seconds);
      break;
    case 'flood':
      played = await flood(legs, command.seconds, command.sink);
      break;
    case 'stop':
      await stop(legs);
      sets.delete(command.set);
      break;
  }
  const { user, system } = process.cpuUsage(before);
  return {
    ...played,
    cpuMicros: user + system,
    seconds: (performance.now() - started) / 1_000,
    byLeg: legs.map(({ leg, sent }) => [leg, sent]),
  };
}

process.on('message', (command: GeneratorCommand) => {
  void act(command).then(
    (report) => process.send?.(report),
    (error: unknown) => process.send?.({ error: String(error) }),
  );
});
