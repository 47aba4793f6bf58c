import { expect, test } from 'vitest';
import { AudioTrack } from '../../../../src/hearing/offline/audio-track.ts';

test('audio that is dropped up to a part of a sample leaves views as long as they are asked for', () => {
  const track = new AudioTrack();
  track.push(Float32Array.from({ length: 100 }, (_, index) => index));
  for (const position of [10.4, 10.6, 20.999_999_9, 21.000_000_1]) {
    track.dropBefore(position);
    const whole = Math.floor(position);
    expect([...track.view(whole, whole + 3)]).toEqual([whole, whole + 1, whole + 2]);
    expect(track.view(30, 60)).toHaveLength(30);
    expect(track.end).toBe(100);
  }
});
