import { alawSilence, mulawSilence } from '../../audio/g711.ts';
import type { StreamingRequest } from '../../protocol/live-request.ts';

/** The request of a leg's session with its encoding, which the body of `POST /v2/live` must always contain. */
export type LegRequest = StreamingRequest & {
  encoding: 'wav/pcm' | 'wav/alaw' | 'wav/ulaw';
  bit_depth: 8 | 16;
  sample_rate: NonNullable<StreamingRequest['sample_rate']>;
  channels: 1 | 2;
};

/** Returns the byte that means silence in a leg's encoding. */
export function silenceCode(request: Pick<LegRequest, 'encoding' | 'bit_depth'>): number {
  switch (request.encoding) {
    case 'wav/ulaw':
      return mulawSilence;
    case 'wav/alaw':
      return alawSilence;
    case 'wav/pcm':
      return request.bit_depth === 8 ? 0x80 : 0;
  }
}
