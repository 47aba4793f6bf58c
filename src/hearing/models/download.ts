import { open, rm, stat } from 'node:fs/promises';

/** If nothing arrives for this long, the next source is tried. */
const stallMs = 30_000;

export type Download = {
  url: string;
  /** The file that collects the bytes. If it exists, the download continues it. */
  part: string;
  /** The longest valid length. A source that sends more must not fill the disk. */
  mostBytes: number;
  signal: AbortSignal;
  onBytes: (received: number, total: number | undefined) => void;
};

/** Downloads over HTTP into a part file and continues where an earlier attempt stopped. */
export async function download(options: Download): Promise<void> {
  const { url, part, mostBytes, signal, onBytes } = options;
  const have = await stat(part).then(
    (found) => found.size,
    () => 0,
  );
  if (have > 0 && have === mostBytes) return; // the part is complete; its checksum decides
  const stall = new AbortController();
  let timer = setTimeout(() => stall.abort(), stallMs);
  try {
    const response = await fetch(url, {
      headers: have > 0 ? { range: `bytes=${String(have)}-` } : {},
      signal: AbortSignal.any([signal, stall.signal]),
    });
    if (response.status === 416) {
      await rm(part, { force: true }); // the part is longer than the file, so it belongs to another file
      throw new Error(
        'the server has fewer bytes than were fetched before; the next attempt starts over',
      );
    }
    if (!response.ok || !response.body) throw new Error(`answered ${String(response.status)}`);
    let received = response.status === 206 ? have : 0;
    const length = Number(response.headers.get('content-length'));
    const total = length > 0 ? received + length : undefined;
    await using file = await open(part, received > 0 ? 'a' : 'w');
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      clearTimeout(timer);
      timer = setTimeout(() => stall.abort(), stallMs);
      received += chunk.length;
      if (received > mostBytes)
        throw new Error('the source sent more bytes than the file should have');
      await file.write(chunk);
      onBytes(received, total);
    }
    if (total !== undefined && received < total)
      throw new Error('the connection broke before the end of the file');
    await file.sync();
  } catch (error) {
    if (stall.signal.aborted)
      throw new Error(`nothing arrived for ${String(stallMs / 1000)} s`, { cause: error });
    throw error;
  } finally {
    clearTimeout(timer);
  }
}
