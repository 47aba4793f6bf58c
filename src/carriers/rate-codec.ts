import { Resampler } from '../audio/resampler.ts';
import type { CarrierCommand, CarrierEvent, CarrierStart, Codec } from './carrier.ts';
import { isForwardableRate, resampledRateHz } from './encodings.ts';
import type { StreamEvent } from '../bridge/streams.ts';

/**
 * Resamples a stream whose rate the speech interface does not take. It stands between the codec and its socket. The
 * start still names the rate of the carrier.
 */
export class RateCodec implements Codec {
  readonly encode?: (command: CarrierCommand) => string[];
  readonly #inner: Codec;
  /** Each track of a resampled stream has a resampler of its own. */
  #resamplers: Map<string, Resampler> | undefined;

  constructor(inner: Codec) {
    this.#inner = inner;
    if (inner.encode) this.encode = (command) => inner.encode?.(command) ?? [];
  }

  decode(data: Buffer, isBinary: boolean): CarrierEvent[] {
    return this.converted(this.#inner.decode(data, isBinary));
  }

  converted(events: readonly CarrierEvent[]): CarrierEvent[] {
    return events.flatMap((event) => this.#converted(event));
  }

  flush(): StreamEvent[] {
    const left = this.#inner.flush?.() ?? [];
    if (this.#resamplers === undefined) return left;
    return [...left.flatMap((event) => this.#heard(event)), ...this.#rest()];
  }

  #converted(event: CarrierEvent): CarrierEvent[] {
    switch (event.type) {
      case 'start':
        return [{ type: 'start', start: this.#begin(event.start) }];
      case 'audio':
        return this.#heard(event);
      case 'stop':
        return [...this.#rest(), event];
      default:
        return [event];
    }
  }

  #begin(start: CarrierStart): CarrierStart {
    const { sampleRate: fromHz } = start;
    if (isForwardableRate(fromHz)) return start;
    this.#resamplers = new Map(
      start.tracks.map(({ name }) => [name, new Resampler(fromHz, resampledRateHz)]),
    );
    return { ...start, sampleRate: resampledRateHz, resampledFromHz: fromHz };
  }

  #heard(event: StreamEvent): StreamEvent[] {
    if (event.type !== 'audio') return [event];
    const resampler = this.#resamplers?.get(event.track);
    if (resampler === undefined) return [event];
    return audio(event.track, resampler.push(floatsOf(event.payload)));
  }

  /** Returns the last 3 ms of each track, which the resamplers still hold. */
  #rest(): StreamEvent[] {
    const rest = [...(this.#resamplers ?? [])].flatMap(([track, resampler]) =>
      audio(track, resampler.flush()),
    );
    this.#resamplers?.clear();
    return rest;
  }
}

function audio(track: string, samples: Float32Array): StreamEvent[] {
  return samples.length === 0 ? [] : [{ type: 'audio', track, payload: bytesOf(samples) }];
}

function floatsOf(payload: Buffer): Float32Array {
  const samples = new Float32Array(payload.length >> 1);
  for (let at = 0; at < samples.length; at++) samples[at] = payload.readInt16LE(2 * at);
  return samples;
}

function bytesOf(samples: Float32Array): Buffer {
  const payload = Buffer.allocUnsafe(2 * samples.length);
  for (const [at, sample] of samples.entries())
    payload.writeInt16LE(Math.max(-32_768, Math.min(32_767, Math.round(sample))), 2 * at);
  return payload;
}
