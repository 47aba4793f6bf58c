import type { ByteSource } from './byte-source.ts';
import { MediaError } from './media-error.ts';
import type { PcmFormat } from './pcm.ts';
import type { FoundHeader } from './wav-header.ts';

const codings: Record<number, Pick<PcmFormat, 'coding' | 'bytesPerSample'>> = {
  1: { coding: 'mulaw', bytesPerSample: 1 },
  3: { coding: 'signed', bytesPerSample: 2 },
  27: { coding: 'alaw', bytesPerSample: 1 },
};

const fixedBytes = 24;
const maxHeaderBytes = 1_048_576;
const unknownLength = 0xffff_ffff;

/** Reads the header of Sun's AU format, which telephone systems use for G.711. */
export async function readAuHeader(source: ByteSource): Promise<FoundHeader> {
  const head = Buffer.from(await source.read(fixedBytes));
  if (head.length < fixedBytes) throw new MediaError(422, 'the header of the AU file is cut short');
  const dataAt = head.readUInt32BE(4);
  if (dataAt < fixedBytes || dataAt > maxHeaderBytes)
    throw new MediaError(422, 'the header of the AU file is broken');
  const coding = codings[head.readUInt32BE(12)];
  if (!coding) return 'foreign';
  await source.skip(dataAt - fixedBytes);
  const said = head.readUInt32BE(8);
  const remaining = source.remaining ?? 0;
  return {
    format: {
      ...coding,
      isBigEndian: coding.bytesPerSample > 1,
      rateHz: head.readUInt32BE(16),
      channels: head.readUInt32BE(20),
    },
    dataBytes: said === unknownLength ? remaining : Math.min(said, remaining),
  };
}
