import { FLACDecoder } from '@wasm-audio-decoders/flac';
import type { ByteSource } from './byte-source.ts';
import { MediaError } from './media-error.ts';
import type { SampleBlock } from './pcm.ts';

/** The first block of a FLAC file. The number of frames is 0 if its writer did not know it. */
type FlacFacts = { rateHz: number; channels: number; bits: number; frames: number };

const factsBytes = 42;

/** Reads the first block: two marks of 4 bytes, then STREAMINFO, whose rate begins at byte 10. */
export async function readFlacFacts(source: ByteSource): Promise<FlacFacts> {
  const head = await source.read(factsBytes);
  if (head.length < factsBytes || ((head[4] ?? 0) & 0x7f) !== 0)
    throw new MediaError(422, 'the header of the FLAC file is cut short or broken');
  const packed = head.readBigUInt64BE(18);
  return {
    rateHz: Number(packed >> 44n),
    channels: Number((packed >> 41n) & 7n) + 1,
    bits: Number((packed >> 36n) & 31n) + 1,
    frames: Number(packed & 0xf_ffff_ffffn),
  };
}

/**
 * Three seconds of silence fit in a dozen bytes. The decoder gets at most this many bytes at once, so that the output
 * fits in memory.
 */
const bytesAtOnce = 2_048;

export async function* flacBlocks(
  source: ByteSource,
  facts: FlacFacts,
): AsyncGenerator<SampleBlock> {
  // The decoder maps the greatest sample to 1. Everything else here maps the value above it to 1.
  const scale = 1 - 2 ** (1 - facts.bits);
  const decoder = new FLACDecoder();
  await decoder.ready;
  let damaged = 0;
  let whole = 0;
  for (let atEnd = false; !atEnd;) {
    const bytes = await source.read(bytesAtOnce);
    atEnd = bytes.length === 0;
    const block = atEnd ? await decoder.flush() : await decoder.decode(Uint8Array.from(bytes));
    damaged += block.errors.length;
    if (block.samplesDecoded === 0) continue;
    if (block.channelData.length !== facts.channels || block.sampleRate !== facts.rateHz)
      throw new MediaError(422, 'the FLAC file changes its channels or its sample rate on the way');
    whole += 1;
    for (const channel of block.channelData)
      for (const [index, value] of channel.entries()) channel[index] = value * scale;
    yield { channels: block.channelData, frames: block.samplesDecoded };
  }
  if (damaged > whole)
    throw new MediaError(422, `the FLAC file is damaged: ${damaged} of its frames cannot be read`);
}
