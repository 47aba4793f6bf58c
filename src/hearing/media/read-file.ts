import { open, type FileHandle } from 'node:fs/promises';
import type { Readable } from 'node:stream';
import { readAuHeader } from './au-header.ts';
import { fileSource, streamSource, type ByteSource } from './byte-source.ts';
import { DistinctChannels, tooLong } from './distinct-channels.ts';
import { decodeAll, failureOf, listPackets } from './ffmpeg.ts';
import { readPacketList } from './packet-list.ts';
import { MediaError } from './media-error.ts';
import {
  grantedBytes,
  type DecodedMedia,
  type MediaFacts,
  type MediaOrder,
} from './media-messages.ts';
import { flacBlocks, readFlacFacts } from './flac.ts';
import { checkLayout, engineRateHz, splitter, type PcmFormat, type SampleBlock } from './pcm.ts';
import { Resampler } from '../../audio/resampler.ts';
import { signatureBytes, signatureOf } from './signature.ts';
import { readWavHeader, type FoundHeader, type PcmHeader } from './wav-header.ts';

/** The number of frames converted at once. */
const blockFrames = 8_192;

type Layout = { channels: number; rateHz: number };

/** An opened file, read by our own code or by ffmpeg, with its format if the first bytes tell it. */
type Opened =
  | { by: 'us'; layout: Layout; codec: string; durationS: number; blocks: () => Blocks }
  | { by: 'ffmpeg'; name: string | undefined };

type Blocks = AsyncIterable<SampleBlock>;

/** Asks the parent for room on the disk: the files hold `writtenBytes` and will reach `reachBytes`. Resolves if there is. */
type AskForRoom = (writtenBytes: number, reachBytes: number) => Promise<void>;

export async function probeFile(order: MediaOrder): Promise<MediaFacts> {
  await using file = await openFile(order.path);
  const opened = await openMediaFile(file.handle, file.size);
  if (opened.by === 'ffmpeg') return await probeForeign(order, opened.name);
  const { codec, layout, durationS } = opened;
  return { durationS, channels: layout.channels, codec };
}

export async function decodeFile(order: MediaOrder, ask?: AskForRoom): Promise<DecodedMedia> {
  await using file = await openFile(order.path);
  const opened = await openMediaFile(file.handle, file.size);
  if (opened.by === 'ffmpeg') return await decodeForeign(order, opened.name, ask);
  if (opened.durationS > order.maxSeconds) throw new MediaError(413, tooLong(order.maxSeconds));
  const decoded = await writeDistinct(opened.blocks(), opened.layout, order, ask);
  if (decoded.durationS === 0) throw noAudio();
  return decoded;
}

function noAudio(): MediaError {
  return new MediaError(
    422,
    'the file has no audio: nothing follows its header, or nothing that can be read',
  );
}

async function openFile(
  path: string,
): Promise<AsyncDisposable & { handle: FileHandle; size: number }> {
  const handle = await open(path, 'r');
  const stats = await handle.stat();
  return {
    handle,
    size: stats.isFile() ? stats.size : 0,
    [Symbol.asyncDispose]: () => handle.close(),
  };
}

async function openMediaFile(handle: FileHandle, size: number): Promise<Opened> {
  if (size === 0) throw new MediaError(422, 'the file is empty');
  const start = Buffer.alloc(Math.min(size, signatureBytes));
  await handle.read(start, 0, start.length, 0);
  const signature = signatureOf(start);
  if (signature.kind === 'not-media')
    throw new MediaError(
      415,
      `the file is neither audio nor video: it is a ${signature.name} file`,
    );
  if (signature.kind === 'unknown') return { by: 'ffmpeg', name: undefined };
  const source = fileSource(handle, size);
  if (signature.container === 'flac') return openFlac(handle, size);
  const header = await headerOf(signature.container, source);
  if (header === 'foreign') return { by: 'ffmpeg', name: signature.name };
  const { format, dataBytes = 0 } = header;
  checkLayout(format);
  const frames = Math.floor(dataBytes / (format.channels * format.bytesPerSample));
  if (frames === 0) throw noAudio();
  return {
    by: 'us',
    layout: format,
    codec: codecOf(format),
    durationS: frames / format.rateHz,
    blocks: () => pcmBlocks(source, format, frames),
  };
}

async function headerOf(container: string, source: ByteSource): Promise<FoundHeader> {
  if (container === 'wav') return readWavHeader(source);
  if (container === 'au') return readAuHeader(source);
  return 'foreign';
}

async function openFlac(handle: FileHandle, size: number): Promise<Opened> {
  const facts = await readFlacFacts(fileSource(handle, size));
  checkLayout(facts);
  return {
    by: 'us',
    layout: facts,
    codec: 'flac',
    durationS: facts.frames / facts.rateHz,
    blocks: () => flacBlocks(fileSource(handle, size), facts),
  };
}

async function probeForeign(
  { path, cpuSeconds }: MediaOrder,
  name: string | undefined,
): Promise<MediaFacts> {
  const program = listPackets(path, cpuSeconds);
  const [list, header] = await Promise.all([
    readPacketList(program.output as AsyncIterable<Buffer>),
    headerOfOutput(program.aside),
  ]);
  const end = await program.ended;
  if (!list || !header || list.durationS <= 0) throw failureOf(end, name, cpuSeconds);
  checkLayout(header.format);
  return { durationS: list.durationS, channels: header.format.channels, codec: list.codec };
}

/** The header of ffmpeg's output. There is none if ffmpeg cannot decode the file. */
async function headerOfOutput(output: Readable): Promise<PcmHeader | undefined> {
  const source = streamSource(output as AsyncIterable<Buffer>);
  try {
    const header = await readWavHeader(source);
    // The program ends only when all its output is read.
    await source.skip(Infinity);
    return header === 'foreign' ? undefined : header;
  } catch (error) {
    if (error instanceof MediaError) return undefined; // no header; the end of ffmpeg tells why
    throw error;
  }
}

async function decodeForeign(
  order: MediaOrder,
  name: string | undefined,
  ask: AskForRoom | undefined,
): Promise<DecodedMedia> {
  const program = decodeAll(order.path, order.maxSeconds, order.cpuSeconds);
  program.aside.resume();
  try {
    const source = streamSource(program.output as AsyncIterable<Buffer>);
    const header = await readWavHeader(source).catch(() => undefined);
    const decoded =
      header === undefined || header === 'foreign'
        ? undefined
        : await writeDistinct(pcmBlocks(source, header.format), header.format, order, ask);
    const end = await program.ended;
    if (!decoded || decoded.durationS === 0 || end.code !== 0)
      throw failureOf(end, name, order.cpuSeconds);
    return decoded;
  } finally {
    program.kill();
  }
}

/** Interleaved samples, block by block, up to the given number of frames. */
async function* pcmBlocks(
  source: ByteSource,
  format: PcmFormat,
  frames = Infinity,
): AsyncGenerator<SampleBlock> {
  const frameBytes = format.channels * format.bytesPerSample;
  const split = splitter(format, blockFrames);
  for (let left = frames; left > 0;) {
    const block = split(await source.read(Math.min(left, blockFrames) * frameBytes));
    if (block.frames === 0) return;
    left -= block.frames;
    yield block;
  }
}

/** Writes samples to the files of distinct channels. */
async function writeDistinct(
  blocks: Blocks,
  layout: Layout,
  { folder, maxSeconds }: MediaOrder,
  ask: AskForRoom | undefined,
): Promise<DecodedMedia> {
  checkLayout(layout);
  const { channels: count, rateHz } = layout;
  const resamplers =
    rateHz === engineRateHz
      ? undefined
      : Array.from({ length: count }, () => new Resampler(rateHz, engineRateHz));
  const distinct = new DistinctChannels(folder, count, maxSeconds * engineRateHz);
  let grantedSamples = 0;
  for await (const block of blocks) {
    const reach =
      distinct.samples + Math.ceil((block.frames / rateHz) * engineRateHz) + slackSamples;
    if (ask && reach > grantedSamples) {
      grantedSamples = reach + grantedBytes / 2;
      // Computed as if all channels were distinct: a channel that begins to differ gets a copy of all shared audio.
      await ask(distinct.writtenBytes, grantedSamples * 2 * count);
    }
    const channels = block.channels.map((samples) => samples.subarray(0, block.frames));
    writeTo(
      distinct,
      resamplers ? resamplers.map((one, at) => one.push(channels[at] ?? samplesNone)) : channels,
    );
  }
  if (resamplers)
    writeTo(
      distinct,
      resamplers.map((one) => one.flush()),
    );
  const durationS = distinct.samples / engineRateHz;
  return { durationS, channels: count, distinct: distinct.finish() };
}

const samplesNone = new Float32Array(0);
/** A resampler holds back fewer samples than this and returns them with a later block. */
const slackSamples = 4_096;

function writeTo(distinct: DistinctChannels, channels: Float32Array[]): void {
  distinct.write(channels, channels[0]?.length ?? 0);
}

/** ffprobe's name for samples of this format. */
function codecOf({ coding, bytesPerSample, isBigEndian }: PcmFormat): string {
  if (coding === 'alaw' || coding === 'mulaw') return `pcm_${coding}`;
  if (bytesPerSample === 1) return 'pcm_u8';
  const letter = coding === 'float' ? 'f' : 's';
  return `pcm_${letter}${bytesPerSample * 8}${isBigEndian ? 'be' : 'le'}`;
}
