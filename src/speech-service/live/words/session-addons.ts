import type { LanguageTasks } from '../../../language/tasks.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { AddonBlock, Utterance } from '../../../protocol/addons.ts';
import type { PostProcessing, RealtimeProcessing } from '../../../protocol/live-request.ts';
import {
  answerOf,
  failedBlock,
  noAnswer,
  type AddonAnswer,
  type AddonFailure,
  type AddonRunner,
} from '../../results/answer.ts';
import type { PostBlocks, ResultEntry } from './session-result.ts';

type AddonsOptions = {
  runner: AddonRunner;
  clock: Clock;
  realtimeMs: number;
  postMs: number;
  /** The session. Add-ons of different sessions are served in rotation. */
  owner?: string;
};

type AddonTask = keyof LanguageTasks;

/**
 * The add-ons of a session. The language runner promises an answer within its deadline, but nothing here
 * relies on that promise: an add-on that throws, hangs or is slow makes its own block an error and delays
 * nothing else.
 */
export class Addons {
  readonly #options: AddonsOptions;

  constructor(options: AddonsOptions) {
    this.#options = options;
  }

  /** The add-ons of one session. */
  of(owner: string): Addons {
    return new Addons({ ...this.#options, owner });
  }

  /** Applies vocabulary and spelling. If no answer comes in time, the recognised words stay. */
  async rewrite(utterance: Utterance, realtime: RealtimeProcessing): Promise<Utterance> {
    if (!realtime.custom_vocabulary && !realtime.custom_spelling) return utterance;
    const answer = await this.#answer('rewrite', { utterance, realtime }, this.#options.realtimeMs);
    return 'failure' in answer ? utterance : answer.output;
  }

  needsRewriting(realtime: RealtimeProcessing): boolean {
    return realtime.custom_vocabulary || realtime.custom_spelling;
  }

  /** Runs all requested add-ons of one final and passes on each answer as it arrives. Resolves after the last one. */
  async ofUtterance(
    utterance: Utterance,
    realtime: RealtimeProcessing,
    onEntry: (entry: ResultEntry, target?: string) => void,
  ): Promise<void> {
    const wanted: Promise<void>[] = [];
    if (realtime.named_entity_recognition)
      wanted.push(
        this.#block('entities', { utterance, day: this.#day }).then((block) =>
          onEntry({ add: 'entities', block }),
        ),
      );
    if (realtime.sentiment_analysis)
      wanted.push(
        this.#block('sentiment', { utterance }).then((block) =>
          onEntry({ add: 'sentiment', block }),
        ),
      );
    const config = realtime.translation ? realtime.translation_config : undefined;
    if (config)
      for (const target of config.target_languages)
        wanted.push(
          this.#translation(utterance, { ...config, target_languages: [target] }).then((block) =>
            onEntry({ add: 'translation', outcome: { targetLanguage: target, block } }),
          ),
        );
    await Promise.all(wanted);
  }

  async summarization(
    utterances: Utterance[],
    post: PostProcessing,
  ): Promise<NonNullable<PostBlocks['summarization']> | undefined> {
    if (!post.summarization) return undefined;
    const type = post.summarization_config?.type ?? 'general';
    return this.#block('summarization', { utterances, type }, this.#options.postMs);
  }

  async chapterization(
    utterances: Utterance[],
    post: PostProcessing,
  ): Promise<NonNullable<PostBlocks['chapterization']> | undefined> {
    if (!post.chapterization) return undefined;
    return this.#block('chapterization', { utterances }, this.#options.postMs);
  }

  async #translation(
    utterance: Utterance,
    config: LanguageTasks['translation']['input']['config'],
  ): Promise<AddonBlock<Utterance>> {
    const startedMs = this.#options.clock.monotonicMs();
    const answer = await this.#answer(
      'translation',
      { utterance, config },
      this.#options.realtimeMs,
    );
    const block = 'output' in answer ? answer.output[0] : undefined;
    if (!block) return this.#failed(startedMs, 'failure' in answer ? answer.failure : noAnswer);
    return { ...block, results: block.results?.translated_utterance ?? null };
  }

  get #day(): string {
    return new Date(this.#options.clock.now()).toISOString().slice(0, 10);
  }

  async #block<K extends AddonTask>(
    task: K,
    input: LanguageTasks[K]['input'],
    deadlineMs = this.#options.realtimeMs,
  ): Promise<LanguageTasks[K]['output']> {
    const startedMs = this.#options.clock.monotonicMs();
    const answer = await this.#answer(task, input, deadlineMs);
    if ('output' in answer) return answer.output;
    return this.#failed(startedMs, answer.failure);
  }

  async #answer<K extends AddonTask>(
    task: K,
    input: LanguageTasks[K]['input'],
    deadlineMs: number,
  ): Promise<AddonAnswer<K>> {
    const { owner = '' } = this.#options;
    return answerOf(this.#options, task, input, { deadlineMs, owner });
  }

  #failed(startedMs: number, failure: AddonFailure): AddonBlock<never> {
    const execMs = this.#options.clock.monotonicMs() - startedMs;
    return failedBlock(failure, Math.round(execMs) / 1e3);
  }
}
