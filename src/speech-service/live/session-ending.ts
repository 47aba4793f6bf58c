import type { Clock } from '../../lib/clock.ts';
import { round3 } from '../../lib/round.ts';
import type { PostFinalResult } from '../../protocol/job.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Addons } from './words/session-addons.ts';
import type { AudioFormat } from './incoming/audio-format.ts';
import type { Broadcast } from './outgoing/broadcast.ts';
import type { FrameCutter } from './incoming/frame-cutter.ts';
import { message } from './words/server-messages.ts';
import { transcriptionOf } from '../results/blocks.ts';
import {
  type PostBlocks,
  resultOf,
  type SessionResults,
  spokenOf,
  utterancesOf,
} from './words/session-result.ts';

/** The way in which a session ended, for the row and the log. */
export type SessionEnd =
  | { outcome: 'done'; result: string; audioS: number }
  | { outcome: 'error'; errorCode: number; reason: string; audioS: number };

export type EndingOptions = {
  id: string;
  request: LiveRequest;
  format: AudioFormat;
  clock: Clock;
  cutter: FrameCutter;
  record: SessionResults;
  addons: Addons;
  broadcast: Broadcast;
  transcriptionS: number;
  messages(): Promise<string[]>;
  onEnd(end: SessionEnd): Promise<void>;
};

/**
 * Released clients read at most 1 MiB per message. A longer transcript is sent without its words; GET always returns
 * the whole result.
 */
const longestMessageBytes = 1_000_000;

/**
 * Sends what follows the last final: end_recording, post_transcript, the add-ons over the whole session,
 * post_final_transcript and end_session. The result is stored before end_session is sent.
 */
export async function runEnding(options: EndingOptions): Promise<void> {
  const { id, request, clock, cutter, record, addons, broadcast } = options;
  const audioS = round3(cutter.durationS);
  const emit: Emit = (type, body) => broadcast.emit(message(id, clock.now(), type, body));
  const utterances = utterancesOf(record);

  emit('end_recording', { data: { recording_duration: audioS } });
  emit('post_transcript', { data: fitting(transcriptionOf(spokenOf(record))) });
  const post = await postProcess(options, utterances, addons, emit);
  const result = resultOf(request, record, post, {
    audioS,
    channels: options.format.channels,
    transcriptionS: options.transcriptionS,
  });
  emit('post_final_transcript', { data: fittingResult(result) });

  // The result is stored first, because a client may call GET as soon as it has end_session.
  const last = message(id, clock.now(), 'end_session', {});
  const lastText = JSON.stringify(last);
  const messages = await options.messages();
  if (broadcast.isForSocket(last)) messages.push(lastText);
  await options.onEnd({ outcome: 'done', result: JSON.stringify({ ...result, messages }), audioS });
  broadcast.emitText(last, lastText);
}

type Emit = <
  Type extends
    | 'end_recording'
    | 'post_transcript'
    | 'post_final_transcript'
    | 'post_summarization'
    | 'post_chapterization',
>(
  type: Type,
  body: Parameters<typeof message<Type>>[3],
) => void;

async function postProcess(
  options: EndingOptions,
  utterances: ReturnType<typeof utterancesOf>,
  addons: Addons,
  emit: Emit,
): Promise<PostBlocks> {
  const post = options.request.post_processing;
  const [summarization, chapterization] = await Promise.all([
    addons.summarization(utterances, post).then((block) => {
      if (!block) return undefined;
      const data = block.results === null ? null : { results: block.results };
      emit('post_summarization', { error: block.error, data });
      return block;
    }),
    addons.chapterization(utterances, post).then((block) => {
      if (!block) return undefined;
      const chapters = Array.isArray(block.results) ? block.results : block.results?.chapters;
      emit('post_chapterization', {
        error: block.error,
        data: chapters ? { results: chapters } : null,
      });
      return block;
    }),
  ]);
  return {
    ...(summarization ? { summarization } : {}),
    ...(chapterization ? { chapterization } : {}),
  };
}

type Transcript = ReturnType<typeof transcriptionOf>;

function fitting(transcription: Transcript): Transcript {
  if (Buffer.byteLength(JSON.stringify(transcription)) <= longestMessageBytes) return transcription;
  const utterances = transcription.utterances.map((utterance) => ({ ...utterance, words: [] }));
  return { ...transcription, utterances };
}

function fittingResult(result: PostFinalResult): PostFinalResult {
  if (Buffer.byteLength(JSON.stringify(result)) <= longestMessageBytes) return result;
  const { transcription, translation } = result;
  return {
    ...result,
    ...(transcription ? { transcription: wordless(transcription) } : {}),
    ...(translation?.results
      ? { translation: { ...translation, results: translation.results.map(wordless) } }
      : {}),
  };
}

function wordless<T extends Transcript>(transcription: T): T {
  const utterances = transcription.utterances.map((utterance) => ({ ...utterance, words: [] }));
  return { ...transcription, utterances };
}
