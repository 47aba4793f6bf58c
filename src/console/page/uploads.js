import { post, upload } from './api.js';
import { messageOf } from './failures.js';

/**
 * A file or an address that will become a job.
 * @typedef {object} Upload
 * @property {string} name
 * @property {File} [file]
 * @property {string} [address]
 * @property {string} [sentAs] The address of a file that was sent.
 * @property {ReadonlySet<string>} wanted
 * @property {'waiting' | 'sending' | 'starting' | 'failed'} state
 * @property {number} sent
 * @property {string} [problem]
 */

/** At most this many files and addresses wait. The limit catches a folder that was chosen by mistake. */
export const maxUploads = 100;

/**
 * Creates jobs one after the other. A file is sent and then named in the request; an address is named at once. A failed
 * upload stays with its reason until somebody retries or removes it.
 */
export class Uploads {
  /** @type {Upload[]} */
  items = [];
  #onJob;
  /** @type {Set<() => void>} */
  #watchers = new Set();
  /** @type {{ item: Upload, stop: AbortController } | undefined} */
  #current;

  /** @param {(id: string) => unknown} onJob */
  constructor(onJob) {
    this.#onJob = onJob;
  }

  get isSending() {
    return this.items.some(({ state }) => state !== 'failed');
  }

  /** @param {() => void} watcher */
  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /**
   * Returns the number of files that were not accepted because too many wait.
   * @param {readonly File[]} files
   * @param {ReadonlySet<string>} wanted
   */
  addFiles(files, wanted) {
    const room = Math.max(0, maxUploads - this.items.length);
    for (const file of files.slice(0, room))
      this.items.push({ name: file.name, file, wanted, state: 'waiting', sent: 0 });
    this.#next();
    return Math.max(0, files.length - room);
  }

  /**
   * Returns false if too many wait.
   * @param {string} address
   * @param {ReadonlySet<string>} wanted
   */
  addAddress(address, wanted) {
    if (this.items.length >= maxUploads) return false;
    this.items.push({ name: address, address, wanted, state: 'waiting', sent: 0 });
    this.#next();
    return true;
  }

  /** @param {Upload} item */
  retry(item) {
    item.state = 'waiting';
    this.#next();
  }

  /** @param {Upload} item */
  remove(item) {
    this.items = this.items.filter((one) => one !== item);
    if (item === this.#current?.item) this.#current?.stop.abort(new Error('removed'));
    this.#tell();
  }

  #next() {
    this.#tell();
    if (this.#current) return;
    const item = this.items.find(({ state }) => state === 'waiting');
    if (!item) return;
    this.#current = { item, stop: new AbortController() };
    void this.#send(this.#current).finally(() => {
      this.#current = undefined;
      this.#next();
    });
  }

  /** @param {{ item: Upload, stop: AbortController }} current */
  async #send({ item, stop }) {
    try {
      const { file } = item;
      const address = file ? await this.#sent(item, file, stop.signal) : (item.address ?? '');
      item.state = 'starting';
      this.#tell();
      const { id } = await post('/v2/pre-recorded', requestOf(address, item.wanted));
      this.remove(item);
      this.#onJob(id);
    } catch (error) {
      item.state = 'failed';
      item.problem = messageOf(error);
    }
  }

  /**
   * The address of the file at the service. If only the job was refused, the file is not sent again.
   * @param {Upload} item
   * @param {File} file
   * @param {AbortSignal} signal
   */
  async #sent(item, file, signal) {
    if (item.sentAs) return item.sentAs;
    item.state = 'sending';
    this.#tell();
    /** @param {number} bytes */
    const onSent = (bytes) => {
      // The form around the file is counted too.
      item.sent = Math.min(bytes, file.size);
      this.#tell();
    };
    const { audio_url: address } = await upload('/v2/upload', file, { signal, onSent });
    item.sentAs = address;
    return address;
  }

  #tell() {
    for (const watcher of this.#watchers) watcher();
  }
}

/**
 * Add-ons that a job can be asked for beside the words, under the API's names.
 * @type {[string, string][]}
 */
export const extras = [
  ['diarization', 'Speakers'],
  ['summarization', 'Summary'],
  ['chapterization', 'Chapters'],
  ['named_entity_recognition', 'Entities'],
  ['sentiment_analysis', 'Sentiment'],
];

/**
 * @param {string} address
 * @param {ReadonlySet<string>} wanted
 */
export function requestOf(address, wanted) {
  return {
    audio_url: address,
    subtitles: true,
    subtitles_config: { formats: ['srt', 'vtt'] },
    ...Object.fromEntries(extras.map(([flag]) => [flag, wanted.has(flag)])),
  };
}
