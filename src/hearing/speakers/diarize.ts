import { open, type FileHandle } from 'node:fs/promises';
import { windowSamples } from '../recogniser.ts';
import { VoiceDetector } from '../offline/voice-activity.ts';
import { VoiceEncoder } from './voice-encoder.ts';
import type { SpeakersOrder, SpokenChannel } from './speakers-messages.ts';
import { sampleRate, Segments, type SpeechSegment } from './segments.ts';
import { turnsOf, type VoiceTurn } from './speaker-turns.ts';
import { hintsOfChannel, voicesOf, type SpeakerHints } from './voice-groups.ts';
import { voiceWindows, type VoiceWindow } from './voice-windows.ts';

/** The sessions' default, which is the detector's best threshold. */
const speechThreshold = 0.6;
const blockSamples = 8_192;
/** The detector reports the start of a voice this much late. */
const lateSamples = windowSamples;
const hopS = 0.4;
/**
 * In files with more speech than this, windows lie twice as far apart, which takes half the time for an equally good
 * answer.
 */
const muchSpeechS = 1_800;

/** Finds who speaks when, separately in each channel. */
export async function diarize(order: SpeakersOrder): Promise<VoiceTurn[][]> {
  const encoder = await VoiceEncoder.open(order.weights);
  const spoken: SpeechSegment[][] = [];
  const detector = new VoiceDetector(order.voiceActivityModel);
  for (const channel of order.channels) spoken.push(await speechOf(channel, detector));
  // Only channels with speech share the expected number of speakers, not a silent second line of a recorder.
  const hints = hintsOfChannel(order.hints, spoken.filter(({ length }) => length > 0).length);
  const turns: VoiceTurn[][] = [];
  for (const [index, channel] of order.channels.entries())
    turns.push(await turnsOfChannel(channel, spoken[index] ?? [], encoder, hints));
  return turns;
}

async function turnsOfChannel(
  { path }: SpokenChannel,
  segments: readonly SpeechSegment[],
  encoder: VoiceEncoder,
  hints: SpeakerHints,
): Promise<VoiceTurn[]> {
  await using file = await open(path, 'r');
  const speech = segments.reduce((sum, { from, to }) => sum + to - from, 0);
  const isLong = speech > muchSpeechS * sampleRate;
  const how = { encoder, hopS: isLong ? 2 * hopS : hopS };
  const windows: VoiceWindow[] = [];
  for (const segment of segments) {
    const samples = await read(file, segment.from, segment.to - segment.from);
    if (samples.length > 0) windows.push(...voiceWindows(segment, samples, how));
  }
  const voices = voicesOf(
    windows.map(({ embedding, seconds, from, to }) => ({
      embedding,
      seconds,
      spanS: (to - from) / sampleRate,
    })),
    hints,
  );
  return turnsOf(
    windows.map(({ from, to }, index) => ({
      start: from / sampleRate,
      end: to / sampleRate,
      voice: voices[index] ?? 0,
    })),
  );
}

async function speechOf(
  { path, samples }: SpokenChannel,
  detector: VoiceDetector,
): Promise<SpeechSegment[]> {
  await using file = await open(path, 'r');
  const activity = detector.open(speechThreshold);
  const segments = new Segments();
  for (let at = 0; at < samples; at += blockSamples)
    activity.accept(await read(file, at, Math.min(blockSamples, samples - at)), (voiced, end) =>
      segments.window(voiced, Math.max(0, end - windowSamples - lateSamples), end),
    );
  return segments.finish(samples);
}

/** Reads samples with a full scale of 1. A file that ends early gives fewer. */
async function read(file: FileHandle, from: number, count: number): Promise<Float32Array> {
  const bytes = Buffer.alloc(2 * count);
  const { bytesRead } = await file.read(bytes, 0, bytes.length, 2 * from);
  const whole = new Int16Array(bytes.buffer, bytes.byteOffset, bytesRead >> 1);
  return Float32Array.from(whole, (sample) => sample / 0x8000);
}
