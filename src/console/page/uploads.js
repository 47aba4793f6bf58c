import { post, upload } from './api.js';

/** Files and addresses that wait at once: a folder that slips in by mistake ends here. */
export const maxUploads = 100;

/**
 * What becomes jobs, one after the other: a file is sent and then named in the request, an address is named at once.
 * What failed stays with its reason until somebody tries again or removes it.
 */
export class Uploads {
  items = [];
  #onJob;
  #watchers = new Set();
  #current;

  constructor(onJob) {
    this.#onJob = onJob;
  }

  get isSending() {
    return this.items.some(({ state }) => state !== 'failed');
  }

  watch(watcher) {
    this.#watchers.add(watcher);
    return () => this.#watchers.delete(watcher);
  }

  /** Answers how many were not taken because too many wait. */
  addFiles(files, wanted) {
    const room = Math.max(0, maxUploads - this.items.length);
    for (const file of files.slice(0, room))
      this.items.push({ name: file.name, file, wanted, state: 'waiting', sent: 0 });
    this.#next();
    return Math.max(0, files.length - room);
  }

  /** Answers false when too many wait. */
  addAddress(address, wanted) {
    if (this.items.length >= maxUploads) return false;
    this.items.push({ name: address, address, wanted, state: 'waiting', sent: 0 });
    this.#next();
    return true;
  }

  retry(item) {
    item.state = 'waiting';
    this.#next();
  }

  remove(item) {
    this.items = this.items.filter((one) => one !== item);
    if (item === this.#current?.item) this.#current.stop.abort(new Error('removed'));
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

  async #send({ item, stop }) {
    try {
      const address = item.address ?? (await this.#sent(item, stop.signal));
      item.state = 'starting';
      this.#tell();
      const { id } = await post('/v2/pre-recorded', requestOf(address, item.wanted));
      this.remove(item);
      this.#onJob(id);
    } catch (error) {
      item.state = 'failed';
      item.problem = error.message;
    }
  }

  /** The address of the file at the service. A file that was sent is not sent again when only its job was refused. */
  async #sent(item, signal) {
    if (item.sentAs) return item.sentAs;
    item.state = 'sending';
    this.#tell();
    const onSent = (bytes) => {
      // The form around the file is sent too.
      item.sent = Math.min(bytes, item.file.size);
      this.#tell();
    };
    const { audio_url: address } = await upload('/v2/upload', item.file, { signal, onSent });
    item.sentAs = address;
    return address;
  }

  #tell() {
    for (const watcher of this.#watchers) watcher();
  }
}

/** What may be asked for beside the words, in the interface's names. */
export const extras = [
  ['diarization', 'Speakers'],
  ['summarization', 'Summary'],
  ['chapterization', 'Chapters'],
  ['named_entity_recognition', 'Entities'],
  ['sentiment_analysis', 'Sentiment'],
];

export function requestOf(address, wanted) {
  return {
    audio_url: address,
    subtitles: true,
    subtitles_config: { formats: ['srt', 'vtt'] },
    ...Object.fromEntries(extras.map(([flag]) => [flag, wanted.has(flag)])),
  };
}
